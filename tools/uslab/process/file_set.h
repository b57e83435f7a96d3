/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/file_set.h - a set of files: which ones have been searched already
 *
 * For who looks at many processes, which have the same libraries mapped.
 */
#ifndef TOOLS_FILE_SET_H
#define TOOLS_FILE_SET_H

#include <stdbool.h>

/* All 0: empty. */
struct file_set {
	void *tree; /* of tsearch(3) */
};

/*
 * The file of a descriptor, whatever it is called; one that was written to since it was added is
 * another one.
 */
bool file_set_has(const struct file_set *set, int fd);
/* Where memory is short, or the file says nothing of itself, nothing is added. */
void file_set_add(struct file_set *set, int fd);
void file_set_free(struct file_set *set);

#endif /* TOOLS_FILE_SET_H */
