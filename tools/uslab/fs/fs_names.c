/* SPDX-License-Identifier: MIT */
/*
 * uslab/fs/fs_names.c - what folders and links of the tree are called (spec 5.4)
 *
 * Invariants: names are sorted, and none is there twice.
 * Flow:       called by fs_snapshot.c for each snapshot and by fs_tree.c to look one up; calls
 *             info/info_rows.c. In: a snapshot; out: struct fs_names.
 *
 * As in sysfs: a mergeable cache has a folder named by its id and a link for each name; any other a
 * folder of its own name, and links for further names. '/' in a name becomes '!'. The kernel never
 * has one name twice; here two caches may (the same id with another engine, say): all but the first
 * get "~" and a number behind it. What `uslab info` lists and is neither cache nor heap is left
 * out.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/fs.h"
#include "info/info.h"

static void add(struct fs_names *names, const char *name, unsigned int cache, bool is_link)
{
	struct fs_entry *entry = &names->entry[names->count++];

	snprintf(entry->name, sizeof(entry->name), "%s", name);
	entry->cache = (uint16_t)cache;
	entry->is_link = is_link;
	for (char *p = entry->name; (p = strchr(p, '/')); p++)
		*p = '!';
}

static void add_cache(struct fs_names *names, const struct snapshot *s, unsigned int cache)
{
	const struct snapshot_cache *c = &s->cache[cache];

	add(names, c->unique_id[0] ? c->unique_id : c->name, cache, false);
	if (c->unique_id[0])
		add(names, c->name, cache, true);
	for (unsigned int i = c->nr_aliases; i-- > 0;) /* oldest first */
		add(names, s->alias[c->first_alias + i], cache, true);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct fs_entry *)a)->name, ((const struct fs_entry *)b)->name);
}

/* By name; of equal ones folders first, then by number of the cache. */
static int compare_entries(const void *a, const void *b)
{
	const struct fs_entry *x = a;
	const struct fs_entry *y = b;
	int by_name = compare_names(a, b);

	if (by_name)
		return by_name;
	return x->is_link != y->is_link ? x->is_link - y->is_link : x->cache - y->cache;
}

static bool is_usable(const char *name)
{
	return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* true: a name was changed. */
static bool make_distinct(struct fs_names *names, const struct snapshot *s)
{
	const char *last = "";
	bool changed = false;

	for (unsigned int i = 0; i < names->count; i++) {
		struct fs_entry *entry = &names->entry[i];
		const struct snapshot_cache *c = &s->cache[entry->cache];
		size_t len = strnlen(entry->name, SNAPSHOT_NAME_MAX - 1);

		if (is_usable(entry->name) && (!i || strcmp(entry->name, last) != 0)) {
			last = entry->name;
			continue;
		}
		snprintf(entry->name + len, sizeof(entry->name) - len, "~%u",
			 c->id ? c->id : entry->cache);
		changed = true;
	}
	return changed;
}

void fs_names_make(struct fs_names *names, const struct snapshot *s)
{
	names->count = 0;
	for (unsigned int i = 0; i < s->nr_caches; i++)
		if (info_is_cache(&s->cache[i]))
			add_cache(names, s, i);
	qsort(names->entry, names->count, sizeof(names->entry[0]), compare_entries);
	if (make_distinct(names, s))
		qsort(names->entry, names->count, sizeof(names->entry[0]), compare_entries);
	for (unsigned int i = 0; i < names->count; i++)
		if (!names->entry[i].is_link)
			names->folder[names->entry[i].cache] = (uint16_t)i;
}

const struct fs_entry *fs_names_find(const struct fs_names *names, const char *name)
{
	struct fs_entry key;

	if (strlen(name) >= sizeof(key.name))
		return NULL;
	strcpy(key.name, name);
	return bsearch(&key, names->entry, names->count, sizeof(key), compare_names);
}
