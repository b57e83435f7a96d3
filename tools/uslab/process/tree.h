/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/tree.h - a tree like the kernel's /sys/kernel/slab (spec 6.3), read and written
 *
 * A folder for each cache, named by its name or its id, with a file for each attribute, and a link
 * for each further name.
 */
#ifndef TOOLS_TREE_H
#define TOOLS_TREE_H

#include <stdbool.h>
#include <stdio.h>

#include "inspect/snapshot.h"

#define TREE_KERNEL "/sys/kernel/slab"

/*
 * EXIT_OK, or EXIT_FAILED after saying why not. Files that are not there count as 0, but for
 * object_size. A cache with a size or count that cannot be read, or is no number, is left out with
 * a warning; a flag or event counts as 0 with one.
 */
int tree_snapshot(const char *command, const char *tree, struct snapshot *s);

/* What the folder of a cache is called. */
const char *tree_folder(const struct snapshot_cache *c);

/* Writes to a file of a cache's folder. 0 or -errno. */
int tree_write(const char *tree, const struct snapshot_cache *c, const char *file,
	       const char *text);

/* Copies a file of a cache's folder to out; false: there is none, or nothing in it. */
bool tree_copy(FILE *out, const char *tree, const struct snapshot_cache *c, const char *file);

#endif /* TOOLS_TREE_H */
