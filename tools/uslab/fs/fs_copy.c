/* SPDX-License-Identifier: MIT */
/*
 * uslab/fs/fs_copy.c - the whole tree at one time, as plain files
 *
 * Flow:       called by fs_namespace.c where /dev/fuse may not be opened; calls fs_tree.c and
 *             fs_snapshot.c. In: the tree; out: a list of files, and those files in a folder.
 *
 * For machines on which /dev/fuse may not be opened: taken while the process can be read, and
 * written into a tmpfs of a namespace from which it cannot.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/fs.h"

struct taking {
	struct fs *fs;
	struct fs_copy **end; /* where the next one goes */
	const char *folder;   /* path */
	int error;
};

static int take_content(struct taking *t, const struct fs_node *node, struct fs_copy *copy)
{
	const char *target;

	if (S_ISREG(copy->mode))
		return fs_tree_content(t->fs, node, &copy->text, &copy->size);
	if (!S_ISLNK(copy->mode))
		return 0;
	target = fs_tree_target(t->fs, node);
	copy->text = strdup(target);
	copy->size = strlen(target);
	return copy->text ? 0 : -ENOMEM;
}

static struct fs_copy *new_copy(const char *folder, const char *name)
{
	struct fs_copy *copy = calloc(1, sizeof(*copy));

	if (copy && asprintf(&copy->path, "%s/%s", folder, name) < 0) {
		free(copy);
		copy = NULL;
	}
	return copy;
}

static void take_folder(struct taking *t, const char *path, const struct fs_node *node);

static bool take_one(const char *name, const struct fs_node *node, void *arg)
{
	struct taking *t = arg;
	struct fs_copy *copy = new_copy(t->folder, name);
	struct stat st;

	if (!copy) {
		t->error = -ENOMEM;
		return true;
	}
	*t->end = copy;
	t->end = &copy->next;
	fs_tree_stat(t->fs, node, &st);
	copy->mode = st.st_mode;
	t->error = take_content(t, node, copy);
	if (!t->error && S_ISDIR(copy->mode))
		take_folder(t, copy->path, node);
	return t->error != 0;
}

static void take_folder(struct taking *t, const char *path, const struct fs_node *node)
{
	const char *outer = t->folder;

	t->folder = path;
	fs_tree_list(t->fs, node, take_one, t);
	t->folder = outer;
}

struct fs_copy *fs_copy_take(struct fs *fs, int *error)
{
	struct fs_copy *copy = NULL;
	struct taking t = { .fs = fs, .end = &copy };
	struct fs_node top;

	fs->taken_ns = 0;
	t.error = fs_refresh(fs);
	if (!t.error) {
		top = fs_tree_find(fs, "/");
		take_folder(&t, "", &top);
	}
	*error = t.error;
	if (t.error) {
		fs_copy_free(copy);
		copy = NULL;
	}
	return copy;
}

static int fill_file(const struct fs_copy *copy, const char *path)
{
	/* nobody reads what is written to it */
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
	size_t done = 0;

	if (fd < 0)
		return -errno;
	while (done < copy->size) {
		ssize_t n = write(fd, copy->text + done, copy->size - done);

		if (n < 0) {
			int ret = -errno;

			close(fd);
			return ret;
		}
		done += (size_t)n;
	}
	return close(fd) ? -errno : 0;
}

static int fill_one(const struct fs_copy *copy, const char *path)
{
	if (S_ISREG(copy->mode))
		return fill_file(copy, path);
	if (S_ISLNK(copy->mode))
		return symlink(copy->text, path) ? -errno : 0;
	return mkdir(path, 0755) ? -errno : 0;
}

int fs_copy_fill(const struct fs_copy *copy, const char *folder)
{
	char path[PATH_MAX];
	int ret = 0;

	for (; copy && !ret; copy = copy->next) {
		if ((size_t)snprintf(path, sizeof(path), "%s%s", folder, copy->path) >=
		    sizeof(path))
			return -ENAMETOOLONG;
		ret = fill_one(copy, path);
	}
	return ret;
}

void fs_copy_free(struct fs_copy *copy)
{
	while (copy) {
		struct fs_copy *next = copy->next;

		free(copy->path);
		free(copy->text);
		free(copy);
		copy = next;
	}
}
