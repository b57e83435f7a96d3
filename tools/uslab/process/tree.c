/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/tree.c - /sys/kernel/slab and its likes as a snapshot: what spec 6.3 says, read
 * backwards
 *
 * Flow:       called by source.c, info_change.c and info_report.c. In: the files of one folder per
 *             cache; out: a struct snapshot in which all that a tree does not have is 0, without
 *             caches of which a file cannot be read.
 */
#define _GNU_SOURCE
#include "process/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util.h"

#define TREE_OLD "/sys/slab" /* of early kernels */
#define FILE_MAX 4096	     /* no attribute is longer */
#define BAD_MAX 160	     /* bytes that say what is wrong with a file */

struct link {
	unsigned int cache; /* index */
	char name[SNAPSHOT_NAME_MAX];
};

struct reading {
	const char *command;
	const char *tree;
	int dir;
	struct snapshot *s;
	struct link *links;
	unsigned int nr_links;
	unsigned long files;   /* that could be read */
	int error;	       /* of one that could not */
	unsigned int left_out; /* caches of which a number cannot be read */
	char bad[BAD_MAX];     /* why not, of the folder that is being read; "": all is well */
	bool denied;	       /* that is a matter of permission */
	char first_denied[BAD_MAX + NAME_MAX + 1];
	char text[FILE_MAX];
};

/* ---- attributes ------------------------------------------------------------------------------ */

/* Remembers what is wrong with a file, of each folder the first time. */
static void set_bad(struct reading *r, const char *file, const char *reason)
{
	if (!r->bad[0])
		snprintf(r->bad, sizeof(r->bad), "%s: %s", file, reason);
}

/* The file's text in r->text, which is empty when it cannot be read. false: it is not there. */
static bool read_text(struct reading *r, int folder, const char *file)
{
	int fd = openat(folder, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, r->text, sizeof(r->text) - 1);
	int error = n < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	r->text[n > 0 ? n : 0] = '\0';
	r->files += n >= 0;
	if (error && error != ENOENT) {
		r->error = error;
		r->denied |= !r->bad[0] && (error == EACCES || error == EPERM);
		set_bad(r, file, strerror(error));
	}
	return error != ENOENT;
}

/* A number, alone or with others behind it: "78910 N0=78910", "160(5)". */
static bool is_number(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits && digits <= 20 && (!text[digits] || strchr(" \n(", text[digits]));
}

/* 0 if the file is not there: kernels differ in what they have. */
static unsigned long read_number(struct reading *r, int folder, const char *file)
{
	if (read_text(r, folder, file) && !is_number(r->text))
		set_bad(r, file, r->text[0] ? "no number" : "empty");
	return strtoul(r->text, NULL, 10);
}

/* The same of a file that all kernels have. */
static unsigned long need_number(struct reading *r, int folder, const char *file)
{
	unsigned long number = read_number(r, folder, file);

	if (!r->text[0])
		set_bad(r, file, "it is missing");
	return number;
}

/* "78910 N0=78000 N1=910": the total is returned, the rest is stored by node. */
static unsigned long read_by_node(struct reading *r, int folder, const char *file,
				  struct snapshot_node *nodes, size_t offset)
{
	unsigned long total = read_number(r, folder, file);

	for (const char *p = strchr(r->text, 'N'); p; p = strchr(p + 1, 'N')) {
		unsigned int node;
		unsigned long value;

		if (sscanf(p, "N%u=%lu", &node, &value) != 2 || node >= SNAPSHOT_MAX_NODES)
			continue;
		*(uint32_t *)((char *)&nodes[node] + offset) = (uint32_t)value;
		if (node >= r->s->totals.nodes)
			r->s->totals.nodes = node + 1;
	}
	return total;
}

#define BY_NODE(file, member) \
	read_by_node(r, folder, file, c->node, offsetof(struct snapshot_node, member))

/* "160(5) C0=128(4)": the number in brackets */
static unsigned long read_cpu_partial(struct reading *r, int folder)
{
	const char *bracket;

	read_number(r, folder, "slabs_cpu_partial");
	bracket = strchr(r->text, '(');
	return bracket ? strtoul(bracket + 1, NULL, 10) : 0;
}

static void read_flags(struct reading *r, int folder, struct snapshot_cache *c)
{
#define CACHE_FLAG(letter, bit, key, help) c->flags |= read_number(r, folder, key) ? (bit) : 0;
#define CACHE_BIT(bit, key, help) c->flags |= read_number(r, folder, key) ? (bit) : 0;
#include "inspect/fields.def"
}

/* Kernels that do not count have none of the files. */
static void read_stats(struct reading *r, int folder, struct snapshot_cache *c)
{
	c->no_stats = !read_text(r, folder, "alloc_fastpath");
	if (c->no_stats)
		return;
#define CACHE_STAT(item, key, help) c->stat[item] = read_number(r, folder, key);
#include "inspect/fields.def"
}

static void read_sizes(struct reading *r, int folder, struct snapshot_cache *c)
{
	c->refcount = (unsigned int)read_number(r, folder, "aliases") + 1;
	c->object_size = (unsigned int)need_number(r, folder, "object_size");
	c->usersize = (unsigned int)read_number(r, folder, "usersize");
	c->slab_size = (unsigned int)read_number(r, folder, "slab_size");
	c->align = (unsigned int)read_number(r, folder, "align");
	c->order = (unsigned int)read_number(r, folder, "order");
	c->objs_per_slab = (unsigned int)read_number(r, folder, "objs_per_slab");
	c->min_partial = read_number(r, folder, "min_partial");
	c->cpu_partial = (unsigned int)read_number(r, folder, "cpu_partial");
	c->remote_node_defrag_ratio =
		(unsigned int)read_number(r, folder, "remote_node_defrag_ratio") * 10;
	read_text(r, folder, "ctor");
	c->ctor = r->text[0] != '\0' && r->text[0] != '\n';
}

static void read_counts(struct reading *r, int folder, struct snapshot_cache *c)
{
	c->objects = BY_NODE("objects", inuse);
	c->total_objects = BY_NODE("total_objects", total_objects);
	c->objects_partial = BY_NODE("objects_partial", objects_partial);
	c->slabs = BY_NODE("slabs", slabs);
	c->partial = BY_NODE("partial", partial);
	c->cpu_slabs = BY_NODE("cpu_slabs", cpu_slabs);
	c->slabs_cpu_partial = read_cpu_partial(r, folder);
	c->object_bytes = c->objects * c->object_size;
	if (c->order > 30) { /* no kernel's */
		r->s->totals.inconsistent++;
		c->order = 0;
	}
	c->slab_bytes = c->slabs * (PAGE_SIZE << c->order);
}

/* ---- folders and links ----------------------------------------------------------------------- */

static void copy_name(char *to, const char *name)
{
	size_t i;

	for (i = 0; i < SNAPSHOT_NAME_MAX - 1 && name[i]; i++)
		to[i] = name[i] < ' ' || name[i] > '~' ? '?' : name[i];
	to[i] = '\0';
}

static bool is_folder(const struct reading *r, const char *name)
{
	struct stat st;

	return !fstatat(r->dir, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISDIR(st.st_mode);
}

/* Zeros in place of what cannot be read would be wrong: the cache is not shown. */
static void leave_out(struct reading *r, const char *name)
{
	if (!is_folder(r, name))
		return; /* gone since, and its files with it */
	r->left_out++;
	if (!r->denied)
		util_warn(r->command, "%s/%s/%s; this cache is left out", r->tree, name, r->bad);
	else if (!r->first_denied[0])
		snprintf(r->first_denied, sizeof(r->first_denied), "%s/%s", name, r->bad);
}

/* Sizes and counts, or the cache is left out; then flags and events. */
static void read_folder(struct reading *r, const char *name, int folder, struct snapshot_cache *c)
{
	r->bad[0] = '\0';
	r->denied = false;
	read_sizes(r, folder, c);
	read_counts(r, folder, c);
	if (r->bad[0]) {
		leave_out(r, name);
		return;
	}
	read_flags(r, folder, c);
	read_stats(r, folder, c);
	if (r->bad[0] && is_folder(r, name))
		util_warn(r->command, "%s/%s/%s; it counts as 0", r->tree, name, r->bad);
	c->id = ++r->s->nr_caches;
	r->s->totals.slab_bytes += c->slab_bytes;
}

static int add_folder(struct reading *r, const char *name)
{
	struct snapshot *s = r->s;
	struct snapshot_cache *c = &s->cache[s->nr_caches];
	int folder;

	if (s->nr_caches == SNAPSHOT_MAX_CACHES)
		return util_fail(r->command, "%s: too many caches", r->tree);
	folder = openat(r->dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0) {
		r->error = errno != ENOENT ? errno : r->error;
		return EXIT_OK; /* gone since, most often */
	}
	memset(c, 0, sizeof(*c));
	copy_name(name[0] == ':' ? c->unique_id : c->name, name);
	c->unique_id[sizeof(c->unique_id) - 1] = '\0';
	read_folder(r, name, folder, c);
	close(folder);
	return EXIT_OK;
}

static int find_folder(const struct snapshot *s, const char *name)
{
	for (unsigned int i = 0; i < s->nr_caches; i++)
		if (!strcmp(tree_folder(&s->cache[i]), name))
			return (int)i;
	return -1;
}

static int add_link(struct reading *r, const char *name)
{
	struct link *link = &r->links[r->nr_links];
	char target[PATH_MAX];
	ssize_t n = readlinkat(r->dir, name, target, sizeof(target) - 1);
	int cache;

	if (n < 0)
		return EXIT_OK; /* gone since */
	target[n] = '\0';
	cache = find_folder(r->s, basename(target));
	if (cache < 0 && is_folder(r, basename(target)))
		return EXIT_OK; /* left out */
	if (cache < 0)
		return util_fail(r->command, "%s: unresolved alias '%s'", r->tree, name);
	if (r->nr_links == SNAPSHOT_MAX_ALIASES)
		return util_fail(r->command, "%s: too many aliases", r->tree);
	link->cache = (unsigned int)cache;
	copy_name(link->name, name);
	r->nr_links++;
	return EXIT_OK;
}

/* Calls visit for all entries of the tree that are of that type. */
static int each_entry(struct reading *r, DIR *entries, unsigned char type,
		      int (*visit)(struct reading *r, const char *name))
{
	int status = EXIT_OK;
	struct dirent *entry;

	rewinddir(entries);
	while (status == EXIT_OK && (entry = readdir(entries)) != NULL) {
		struct stat st;

		if (entry->d_name[0] == '.')
			continue;
		if (entry->d_type == DT_UNKNOWN &&
		    !fstatat(r->dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
			entry->d_type = IFTODT(st.st_mode);
		if (entry->d_type == type)
			status = visit(r, entry->d_name);
	}
	return status;
}

/* By cache, last name first: names[] of a snapshot are kept newest first. */
static int compare_links(const void *a, const void *b)
{
	const struct link *x = a;
	const struct link *y = b;

	return x->cache != y->cache ? x->cache < y->cache ? -1 : 1 : strcmp(y->name, x->name);
}

/* The first name of a cache with an id is its name; all others are aliases. */
static void add_names(struct reading *r)
{
	struct snapshot *s = r->s;

	qsort(r->links, r->nr_links, sizeof(r->links[0]), compare_links);
	for (unsigned int i = 0; i < r->nr_links; i++) {
		const struct link *link = &r->links[i];
		struct snapshot_cache *c = &s->cache[link->cache];
		bool last = i + 1 == r->nr_links || r->links[i + 1].cache != link->cache;

		if (!c->nr_aliases)
			c->first_alias = s->nr_aliases;
		if (last && c->unique_id[0]) {
			memcpy(c->name, link->name, SNAPSHOT_NAME_MAX);
			continue;
		}
		memcpy(s->alias[s->nr_aliases++], link->name, SNAPSHOT_NAME_MAX);
		c->nr_aliases++;
	}
}

static int fail_unread(const struct reading *r)
{
	if (r->error == EACCES || r->error == EPERM)
		return util_fail(r->command, "cannot read the files in %s: %s; it needs root",
				 r->tree, strerror(r->error));
	return util_fail(r->command, "%s has no caches: there is nothing to read in it", r->tree);
}

/* After all folders. EXIT_OK if there are caches to show. */
static int check_read(const struct reading *r)
{
	if (!r->files)
		return fail_unread(r);
	if (r->first_denied[0])
		util_warn(r->command, "%s/%s; it needs root, and such caches are left out", r->tree,
			  r->first_denied);
	if (r->left_out && !r->s->nr_caches)
		return util_fail(r->command, "%s: no cache can be read", r->tree);
	return EXIT_OK;
}

static int read_tree(struct reading *r)
{
	DIR *entries = fdopendir(r->dir);
	int status;

	if (!entries) {
		close(r->dir);
		return util_fail(r->command, "out of memory");
	}
	status = each_entry(r, entries, DT_DIR, add_folder);
	if (status == EXIT_OK)
		status = check_read(r);
	if (status == EXIT_OK)
		status = each_entry(r, entries, DT_LNK, add_link);
	if (status == EXIT_OK)
		add_names(r);
	closedir(entries);
	return status;
}

static int open_tree(struct reading *r)
{
	r->dir = open(r->tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->dir < 0 && errno == ENOENT && !strcmp(r->tree, TREE_KERNEL))
		r->dir = open(TREE_OLD, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->dir >= 0)
		return EXIT_OK;
	if (errno == ENOENT && !strcmp(r->tree, TREE_KERNEL))
		return util_fail(r->command,
				 "%s is not there: this kernel has no SLUB, or sysfs is not "
				 "mounted",
				 r->tree);
	return util_fail(r->command, "%s: %s", r->tree, strerror(errno));
}

int tree_snapshot(const char *command, const char *tree, struct snapshot *s)
{
	struct reading *r = calloc(1, sizeof(*r));
	int status;

	if (r)
		r->links = calloc(SNAPSHOT_MAX_ALIASES, sizeof(*r->links));
	if (!r || !r->links) {
		free(r);
		return util_fail(command, "out of memory");
	}
	r->command = command;
	r->tree = tree;
	r->s = s;
	memset(&s->totals, 0, sizeof(s->totals));
	s->totals.nodes = 1;
	s->nr_caches = s->nr_aliases = 0;
	s->reader = NULL;
	status = open_tree(r);
	if (status == EXIT_OK)
		status = read_tree(r);
	free(r->links);
	free(r);
	return status;
}

/* ---- single files ---------------------------------------------------------------------------- */

const char *tree_folder(const struct snapshot_cache *c)
{
	return c->unique_id[0] ? c->unique_id : c->name;
}

static int open_file(const char *tree, const struct snapshot_cache *c, const char *file, int flags)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s/%s", tree, tree_folder(c), file) >=
	    sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open(path, flags | O_CLOEXEC);
}

int tree_write(const char *tree, const struct snapshot_cache *c, const char *file, const char *text)
{
	int fd = open_file(tree, c, file, O_WRONLY);
	int error;

	if (fd < 0)
		return -errno;
	error = write(fd, text, strlen(text)) < 0 ? errno : 0;
	if (close(fd) && !error)
		error = errno;
	return -error;
}

bool tree_copy(FILE *out, const char *tree, const struct snapshot_cache *c, const char *file)
{
	int fd = open_file(tree, c, file, O_RDONLY);
	bool any = false;
	char buf[FILE_MAX];
	ssize_t n;

	if (fd < 0)
		return false;
	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		fwrite(buf, 1, (size_t)n, out);
		any = true;
	}
	close(fd);
	return any;
}
