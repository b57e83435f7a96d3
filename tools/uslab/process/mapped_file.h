/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/mapped_file.h - opens the files that a process has mapped
 *
 * Programs are replaced under running processes, by upgrades of packages; then another file, or
 * none, has the path that /proc/PID/maps gives, and behind the path that is said: " (deleted)".
 */
#ifndef TOOLS_MAPPED_FILE_H
#define TOOLS_MAPPED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Length of a path as maps gives it, without what is said behind it. */
size_t mapped_file_length(const char *path, bool *deleted);

/* Opens only regular files: opening a device can do things. A descriptor or -errno. */
int mapped_file_open_regular(const char *path);

/*
 * Opens the file that is mapped from start to end by process pid; path is of so many bytes, deleted
 * as above. By its path as the process sees it (/proc/PID/root, which also crosses mount
 * namespaces), by /proc/PID/exe, or by map_files. A descriptor or -errno: -EPERM and -EACCES: it
 * exists, but this takes a capability; -EMFILE and -ENFILE: it may exist.
 */
int mapped_file_open(pid_t pid, const char *path, size_t length, bool deleted, uint64_t start,
		     uint64_t end);

#endif /* TOOLS_MAPPED_FILE_H */
