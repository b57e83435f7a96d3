/* SPDX-License-Identifier: MIT */
/*
 * uslab/fs/fs_tree.c - paths of the tree: what is there, what is in it
 *
 * Flow:       called by fs_serve.c and fs_copy.c; calls distinct.c, fs_attr.c, fs_store.c,
 *             fs_slabinfo.c, fs_groups.c, fs_snapshot.c, info/allocinfo.c, info/traces.c and
 *             info/memory_text.c. In: a path; out: struct fs_node, and what is in that file.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/fs.h"
#include "info/allocinfo.h"
#include "info/memory_text.h"
#include "util.h"

/* The folders that are always there. */
enum level {
	LEVEL_TOP,
	LEVEL_KERNEL,
	LEVEL_SLAB,
	LEVEL_DEBUG,
	LEVEL_DEBUG_SLAB,
	LEVEL_PROC,
	LEVEL_SYS,
	LEVEL_VM,
	LEVEL_GROUPS,
};

static const struct {
	unsigned int parent;
	const char *name;
} levels[] = {
	[LEVEL_TOP] = { LEVEL_TOP, "" },
	[LEVEL_KERNEL] = { LEVEL_TOP, "kernel" },
	[LEVEL_SLAB] = { LEVEL_KERNEL, "slab" },
	[LEVEL_DEBUG] = { LEVEL_KERNEL, "debug" },
	[LEVEL_DEBUG_SLAB] = { LEVEL_DEBUG, "slab" },
	[LEVEL_PROC] = { LEVEL_TOP, "proc" },
	[LEVEL_SYS] = { LEVEL_PROC, "sys" },
	[LEVEL_VM] = { LEVEL_SYS, "vm" },
	[LEVEL_GROUPS] = { LEVEL_TOP, "groups" },
};

#define NR_LEVELS (sizeof(levels) / sizeof(levels[0]))

static const char *const trace_names[] = {
	[TRACK_ALLOC] = "alloc_traces",
	[TRACK_FREE] = "free_traces",
};

/* Files that are there once. */
static const struct {
	unsigned int level;
	const char *name;
	enum fs_kind kind;
} single_files[] = {
	{ LEVEL_PROC, "slabinfo", FS_SLABINFO },     { LEVEL_PROC, "allocinfo", FS_ALLOCINFO },
	{ LEVEL_PROC, "memory", FS_MEMORY },	     { LEVEL_PROC, "numastat", FS_NUMASTAT },
	{ LEVEL_VM, "mem_profiling", FS_PROFILING },
};

#define NR_SINGLE_FILES (sizeof(single_files) / sizeof(single_files[0]))

#define NR_TRACES (sizeof(trace_names) / sizeof(trace_names[0]))

/* Has some of its objects' users stored? Only these have a folder below kernel/debug. */
static bool has_traces(const struct snapshot_cache *c)
{
	return (c->flags & SLAB_STORE_USER) || c->sampled || c->tracked;
}

/* ---- lookup ---------------------------------------------------------------------------------- */

static struct fs_node find_level(unsigned int parent, const char *name)
{
	for (unsigned int i = 0; i < NR_SINGLE_FILES; i++)
		if (single_files[i].level == parent && !strcmp(single_files[i].name, name))
			return (struct fs_node){ .kind = single_files[i].kind };
	for (unsigned int i = LEVEL_KERNEL; i < NR_LEVELS; i++)
		if (levels[i].parent == parent && !strcmp(levels[i].name, name))
			return (struct fs_node){ .kind = FS_FOLDER, .level = i };
	return (struct fs_node){ .kind = FS_NOTHING };
}

static struct fs_node find_cache(const struct fs *fs, const char *name, bool debug)
{
	const struct distinct_name *entry = distinct_find(fs->names, name);
	struct fs_node node = { .kind = FS_NOTHING };

	if (!entry || (debug && (entry->is_link || !has_traces(&fs->s->cache[entry->cache]))))
		return node;
	node.kind = entry->is_link ? FS_LINK : FS_CACHE;
	node.cache = entry->cache;
	node.debug = debug;
	return node;
}

static struct fs_node find_file(const struct fs_node *folder, const char *name)
{
	struct fs_node node = { .kind = FS_NOTHING, .cache = folder->cache };

	if (folder->debug) {
		for (unsigned int i = 0; i < NR_TRACES; i++)
			if (!strcmp(trace_names[i], name)) {
				node.kind = FS_TRACES;
				node.item = (enum track_item)i;
			}
		return node;
	}
	node.attribute = fs_attribute_find(name);
	if (node.attribute)
		node.kind = FS_ATTRIBUTE;
	return node;
}

struct group_search {
	const char *name;
	struct fs_node found;
};

static bool is_that_group(const char *name, unsigned int id, void *arg)
{
	struct group_search *search = arg;

	if (strcmp(name, search->name))
		return false;
	search->found = (struct fs_node){ .kind = FS_GROUP, .group = id };
	return true;
}

static struct fs_node find_group(const struct fs *fs, const char *name)
{
	struct group_search search = { .name = name, .found = { .kind = FS_NOTHING } };

	fs_groups_each(fs, is_that_group, &search);
	return search.found;
}

static struct fs_node find_group_file(const struct fs_node *folder, const char *name)
{
	for (unsigned int i = 0; fs_group_file(i); i++)
		if (!strcmp(fs_group_file(i), name))
			return (struct fs_node){ .kind = FS_GROUP_FILE,
						 .group = folder->group,
						 .file = i };
	return (struct fs_node){ .kind = FS_NOTHING };
}

static struct fs_node find_in(const struct fs *fs, const struct fs_node *parent, const char *name)
{
	if (parent->kind == FS_CACHE)
		return find_file(parent, name);
	if (parent->kind == FS_GROUP)
		return find_group_file(parent, name);
	if (parent->kind != FS_FOLDER)
		return (struct fs_node){ .kind = FS_NOTHING };
	switch (parent->level) {
	case LEVEL_SLAB:
		return find_cache(fs, name, false);
	case LEVEL_DEBUG_SLAB:
		return find_cache(fs, name, true);
	case LEVEL_GROUPS:
		return find_group(fs, name);
	default:
		return find_level(parent->level, name);
	}
}

struct fs_node fs_tree_find(const struct fs *fs, const char *path)
{
	struct fs_node node = { .kind = FS_FOLDER, .level = LEVEL_TOP };

	while (*path && node.kind != FS_NOTHING) {
		char name[FS_NAME_MAX];
		size_t len;

		path += strspn(path, "/");
		len = strcspn(path, "/");
		if (!len)
			break;
		if (len >= sizeof(name))
			return (struct fs_node){ .kind = FS_NOTHING };
		memcpy(name, path, len);
		name[len] = '\0';
		path += len;
		node = find_in(fs, &node, name);
	}
	return node;
}

void fs_tree_stat(const struct fs *fs, const struct fs_node *node, struct stat *st)
{
	memset(st, 0, sizeof(*st));
	st->st_nlink = 1;
	st->st_uid = fs->uid;
	st->st_gid = fs->gid;
	st->st_atime = st->st_mtime = st->st_ctime = fs->mounted;
	switch (node->kind) {
	case FS_NOTHING:
		break;
	case FS_FOLDER:
	case FS_CACHE:
	case FS_GROUP:
		st->st_mode = S_IFDIR | 0755;
		st->st_nlink = 2;
		break;
	case FS_LINK:
		st->st_mode = S_IFLNK | 0777;
		st->st_size = (off_t)strlen(fs_tree_target(fs, node));
		break;
	case FS_ATTRIBUTE:
		st->st_mode = S_IFREG | fs_attribute_mode(fs, node->cache, node->attribute);
		st->st_size = FS_FILE_SIZE;
		break;
	case FS_TRACES:
		st->st_mode = S_IFREG | 0400;
		break;
	case FS_ALLOCINFO:
	case FS_MEMORY:
	case FS_NUMASTAT:
		st->st_mode = S_IFREG | 0400;
		break;
	case FS_GROUP_FILE:
		st->st_mode = S_IFREG | 0444;
		st->st_size = FS_FILE_SIZE;
		break;
	case FS_PROFILING:
		st->st_mode = S_IFREG | (fs->read_only ? 0444 : 0644);
		st->st_size = FS_FILE_SIZE;
		break;
	case FS_SLABINFO:
		st->st_mode = S_IFREG |
			      (!fs->read_only && fs_slabinfo_tunable(fs->s) ? 0600 : 0400);
		break;
	}
}

/* ---- what is in folders ---------------------------------------------------------------------- */

struct listing {
	struct fs *fs;
	bool (*visit)(const char *name, const struct fs_node *node, void *arg);
	void *arg;
};

/* The kernel's slabinfo ends when there is more than it has room for. */
static bool is_cut(struct fs *fs, const struct distinct_name *entry, unsigned int *folders,
		   unsigned int *links)
{
	unsigned int *count = entry->is_link ? links : folders;

	if ((*count)++ < (entry->is_link ? FS_MAX_LINKS : FS_MAX_LISTED))
		return false;
	if (!fs->warned_cut)
		util_warn(FS_COMMAND,
			  "%s has more caches or names than the kernel's slabinfo takes: %u and %u "
			  "are listed, the others can be opened by their names",
			  fs->source.title, FS_MAX_LISTED, FS_MAX_LINKS);
	fs->warned_cut = true;
	return true;
}

static void list_caches(const struct listing *l, bool debug)
{
	const struct distinct *names = l->fs->names;
	unsigned int folders = 0;
	unsigned int links = 0;

	for (unsigned int i = 0; i < names->count; i++) {
		const struct distinct_name *entry = &names->name[i];
		struct fs_node node = find_cache(l->fs, entry->text, debug);

		if (node.kind == FS_NOTHING || is_cut(l->fs, entry, &folders, &links))
			continue;
		if (l->visit(entry->text, &node, l->arg))
			return;
	}
}

static void list_files(const struct listing *l, const struct fs_node *folder)
{
	for (unsigned int i = 0;; i++) {
		const char *name = NULL;
		struct fs_node node;

		if (folder->debug)
			name = i < NR_TRACES ? trace_names[i] : NULL;
		else if (fs_attribute(i))
			name = fs_attribute(i)->name;
		if (!name)
			return;
		node = find_file(folder, name);
		if (l->visit(name, &node, l->arg))
			return;
	}
}

static void list_levels(const struct listing *l, unsigned int parent)
{
	for (unsigned int i = LEVEL_KERNEL; i < NR_LEVELS; i++) {
		struct fs_node node = { .kind = FS_FOLDER, .level = i };

		if (levels[i].parent == parent && l->visit(levels[i].name, &node, l->arg))
			return;
	}
	for (unsigned int i = 0; i < NR_SINGLE_FILES; i++) {
		struct fs_node node = { .kind = single_files[i].kind };

		if (single_files[i].level == parent &&
		    l->visit(single_files[i].name, &node, l->arg))
			return;
	}
}

static bool list_group(const char *name, unsigned int id, void *arg)
{
	const struct listing *l = arg;
	struct fs_node node = { .kind = FS_GROUP, .group = id };

	return l->visit(name, &node, l->arg);
}

static void list_group_files(const struct listing *l, const struct fs_node *folder)
{
	for (unsigned int i = 0; fs_group_file(i); i++) {
		struct fs_node node = find_group_file(folder, fs_group_file(i));

		if (l->visit(fs_group_file(i), &node, l->arg))
			return;
	}
}

void fs_tree_list(struct fs *fs, const struct fs_node *node,
		  bool (*visit)(const char *name, const struct fs_node *node, void *arg), void *arg)
{
	const struct listing l = { .fs = fs, .visit = visit, .arg = arg };

	if (node->kind == FS_CACHE)
		list_files(&l, node);
	else if (node->kind == FS_GROUP)
		list_group_files(&l, node);
	else if (node->level == LEVEL_GROUPS)
		fs_groups_each(fs, list_group, (void *)&l);
	else if (node->level == LEVEL_SLAB || node->level == LEVEL_DEBUG_SLAB)
		list_caches(&l, node->level == LEVEL_DEBUG_SLAB);
	else
		list_levels(&l, node->level);
}

const char *fs_tree_target(const struct fs *fs, const struct fs_node *node)
{
	return distinct_own(fs->names, node->cache);
}

/* ---- what is in files ------------------------------------------------------------------------ */

static int profiling_text(FILE *out, struct snapshot *s)
{
	struct allocinfo info;

	if (!allocinfo_read(s, &info))
		return s->error;
	fprintf(out, "%d\n", info.on);
	return 0;
}

/* In KiB, all kinds. */
static int memory_file(FILE *out, struct fs *fs)
{
	const struct memory_text_options options = { .empty = true };
	struct resident *r = malloc(sizeof(*r));
	int ret = r ? resident_take(r, &fs->source, fs->s) : -ENOMEM;

	if (!ret)
		memory_text(out, r, &options);
	free(r);
	return ret;
}

static int make_content(struct fs *fs, const struct fs_node *node, FILE *out)
{
	const struct traces_options traces = { .item = node->item, .max_size = FS_FILE_MAX };
	struct resolve *resolve;

	switch (node->kind) {
	case FS_ATTRIBUTE:
		return node->attribute->show(out, fs, node->cache, node->attribute);
	case FS_SLABINFO:
		return fs_slabinfo(out, fs->s);
	case FS_NUMASTAT:
		return fs_numastat(out, fs->s);
	case FS_ALLOCINFO:
		return allocinfo_file(out, fs->s);
	case FS_MEMORY:
		return memory_file(out, fs);
	case FS_PROFILING:
		return profiling_text(out, fs->s);
	case FS_GROUP_FILE:
		return fs_group_content(out, fs, node->group, node->file);
	case FS_TRACES:
		resolve = fs_resolve(fs);
		return resolve ? traces_text(out, fs->s, node->cache, resolve, &traces) : -ENOMEM;
	default:
		return -EISDIR;
	}
}

/* A line too long ends behind its last whole word. */
static size_t cut(char *text, size_t size)
{
	if (size <= FS_FILE_MAX)
		return size;
	size = FS_FILE_MAX - 1;
	while (size && text[size] != ' ' && text[size] != '\n')
		size--;
	text[size] = '\n';
	return size + 1;
}

int fs_tree_content(struct fs *fs, const struct fs_node *node, char **text, size_t *size)
{
	FILE *out;
	int ret;

	*text = NULL;
	out = open_memstream(text, size);
	if (!out)
		return -ENOMEM;
	ret = make_content(fs, node, out);
	if (fclose(out) && !ret)
		ret = -ENOMEM;
	if (ret) {
		free(*text);
		*text = NULL;
	} else if (node->kind != FS_SLABINFO && node->kind != FS_ALLOCINFO &&
		   node->kind != FS_NUMASTAT) {
		*size = cut(*text, *size);
	}
	return ret == -ESRCH || ret == -EFAULT ? -EIO : ret;
}

int fs_tree_write(struct fs *fs, const struct fs_node *node, const char *text, size_t size)
{
	struct fs_request request;
	int ret = -EACCES;

	if (fs->read_only)
		return -EROFS;
	if (node->kind == FS_PROFILING)
		ret = fs_profiling_parse(text, size, &request);
	else if (node->kind == FS_SLABINFO)
		ret = fs_tune_parse(fs->s, text, size, &request);
	else if (node->kind == FS_ATTRIBUTE && fs->s->cache[node->cache].id)
		ret = fs_store_parse(node->attribute, &fs->s->cache[node->cache], text, size,
				     &request);
	if (!ret && node->kind == FS_ATTRIBUTE && !fs_store_fits(fs, node->cache, &request))
		ret = -ENOMEM;
	if (!ret)
		ret = fs_store_send(fs, &request);
	return ret > 0 ? 0 : ret;
}
