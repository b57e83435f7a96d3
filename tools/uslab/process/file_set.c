/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/file_set.c - files by device, number, size and time of the last change
 *
 * Data:       struct file_set, a tree of such keys.
 * Flow:       called by target.c, and by ps/ps_rows.c to free it. In: a descriptor; out: was that
 *             file added.
 */
#define _GNU_SOURCE
#include "process/file_set.h"

#include <search.h>
#include <stdlib.h>
#include <sys/stat.h>

struct key {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec changed;
};

static bool key_of(struct key *key, int fd)
{
	struct stat status;

	if (fstat(fd, &status))
		return false;
	*key = (struct key){ .device = status.st_dev,
			     .inode = status.st_ino,
			     .size = status.st_size,
			     .changed = status.st_mtim };
	return true;
}

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static int compare(const void *a, const void *b)
{
	const struct key *left = a, *right = b;
	int order = ORDER(left->device, right->device);

	if (!order)
		order = ORDER(left->inode, right->inode);
	if (!order)
		order = ORDER(left->size, right->size);
	if (!order)
		order = ORDER(left->changed.tv_sec, right->changed.tv_sec);
	return order ? order : ORDER(left->changed.tv_nsec, right->changed.tv_nsec);
}

bool file_set_has(const struct file_set *set, int fd)
{
	struct key key;

	return key_of(&key, fd) && tfind(&key, &set->tree, compare);
}

void file_set_add(struct file_set *set, int fd)
{
	struct key *key = malloc(sizeof(*key));
	struct key **at;

	if (!key)
		return;
	at = key_of(key, fd) ? tsearch(key, &set->tree, compare) : NULL;
	if (!at || *at != key) /* not known, no memory, or there is one */
		free(key);
}

void file_set_free(struct file_set *set)
{
	tdestroy(set->tree, free);
	set->tree = NULL;
}
