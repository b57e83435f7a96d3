/* SPDX-License-Identifier: MIT */
/*
 * uslab/fs/fs_groups.c - accounting groups: a folder for each, with its numbers as files
 *
 * Flow:       called by fs_tree.c; calls info/groups.c. In: a group's number; out: names, and what
 *             is in a file.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "fs/fs.h"
#include "info/groups.h"

/* ---- its files ---- */

static void show_bytes(FILE *out, uint64_t bytes)
{
	if (bytes == UINT64_MAX)
		fputs("max\n", out);
	else
		fprintf(out, "%" PRIu64 "\n", bytes);
}

static void show_usage(FILE *out, const struct groups_list *list, const struct groups_group *group)
{
	(void)list;
	show_bytes(out, group->usage);
}

static void show_limit(FILE *out, const struct groups_list *list, const struct groups_group *group)
{
	(void)list;
	show_bytes(out, group->limit);
}

static void show_peak(FILE *out, const struct groups_list *list, const struct groups_group *group)
{
	(void)list;
	show_bytes(out, group->peak);
}

static void show_events(FILE *out, const struct groups_list *list, const struct groups_group *group)
{
	(void)list;
	fprintf(out, "met %" PRIu64 "\nfailed %" PRIu64 "\n", group->met, group->failed);
}

static void show_threads(FILE *out, const struct groups_list *list,
			 const struct groups_group *group)
{
	(void)list;
	fprintf(out, "%u\n", group->threads);
}

/* The folder of the one above it. */
static void show_parent(FILE *out, const struct groups_list *list, const struct groups_group *group)
{
	const struct groups_group *parent = groups_list_find(list, group->parent);
	char name[GROUPS_NAME] = "";

	if (parent)
		groups_name(parent, name);
	fprintf(out, "%s\n", name);
}

static const struct {
	const char *name;
	void (*show)(FILE *out, const struct groups_list *list, const struct groups_group *group);
} files[] = {
	{ "usage", show_usage },   { "limit", show_limit },	{ "peak", show_peak },
	{ "events", show_events }, { "threads", show_threads }, { "parent", show_parent },
};

#define NR_FILES (sizeof(files) / sizeof(files[0]))

const char *fs_group_file(unsigned int i)
{
	return i < NR_FILES ? files[i].name : NULL;
}

int fs_group_content(FILE *out, const struct fs *fs, unsigned int id, unsigned int file)
{
	const struct groups_group *group;
	struct groups_list list;
	int ret = groups_list_take(fs->s, &list);

	if (ret)
		return ret;
	group = groups_list_find(&list, id);
	if (group)
		files[file].show(out, &list, group);
	groups_list_free(&list);
	return group ? 0 : -ENOENT;
}

/* ---- their folders ---- */

void fs_groups_each(const struct fs *fs,
		    bool (*visit)(const char *name, unsigned int id, void *arg), void *arg)
{
	struct groups_list list;

	if (groups_list_take(fs->s, &list))
		return;
	for (size_t i = 0; i < list.nr; i++) {
		char name[GROUPS_NAME];

		groups_name(&list.group[i], name);
		if (visit(name, list.group[i].id, arg))
			break;
	}
	groups_list_free(&list);
}
