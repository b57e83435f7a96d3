/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/sysroot.h - a folder in which the files lie that a core names: of a container, say
 *
 * A path is looked for as a program would find it that has the folder as its root: links and ".."
 * lead nowhere else.
 */
#ifndef TOOLS_SYSROOT_H
#define TOOLS_SYSROOT_H

/* A descriptor of the folder, to look for files in, or -errno. */
int sysroot_open(const char *folder);

/* As mapped_file_open_regular(), in that folder. A descriptor or -errno. */
int sysroot_open_regular(int root, const char *path);

#endif /* TOOLS_SYSROOT_H */
