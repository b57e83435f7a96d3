/* SPDX-License-Identifier: MIT */
/*
 * uslab/fs/fs_names.c - what folders and links of the tree are called (spec 5.4), and caches in
 * slabinfo (spec 9.1)
 *
 * Invariants: names are sorted, and none is there twice.
 * Flow:       called by fs_snapshot.c for each snapshot, by fs_slabinfo.c and fs_store.c; calls
 *             distinct.c and info/info_rows.c. In: a snapshot; out: struct distinct.
 *
 * As in sysfs: a mergeable cache has a folder named by its id and a link for each name; any other a
 * folder of its own name, and links for further names. '/' in a name becomes '!'. The kernel never
 * has one name twice; here two caches may (the same id with another engine, say), so they are made
 * distinct. A line of slabinfo is split at blanks: there they become '?', which also stands for any
 * character in a pattern. What `uslab info` lists and is neither cache nor heap is left out.
 */
#include <stdlib.h>
#include <string.h>

#include "fs/fs.h"
#include "info/info.h"

static void replace(char *text, char from, char to)
{
	for (char *p = text; (p = strchr(p, from)); p++)
		*p = to;
}

static void add_file(struct distinct *names, const char *name, unsigned int cache, bool is_link)
{
	distinct_add(names, name, cache, is_link);
	replace(names->name[names->count - 1].text, '/', '!');
}

static void add_cache(struct distinct *names, const struct snapshot *s, unsigned int cache)
{
	const struct snapshot_cache *c = &s->cache[cache];

	add_file(names, c->unique_id[0] ? c->unique_id : c->name, cache, false);
	if (c->unique_id[0])
		add_file(names, c->name, cache, true);
	for (unsigned int i = c->nr_aliases; i-- > 0;) /* oldest first */
		add_file(names, s->alias[c->first_alias + i], cache, true);
}

void fs_names_make(struct distinct *names, const struct snapshot *s)
{
	names->count = 0;
	for (unsigned int i = 0; i < s->nr_caches; i++)
		if (info_is_cache(&s->cache[i]))
			add_cache(names, s, i);
	distinct_make(names, s);
}

void fs_names_words(struct distinct *names, const struct snapshot *s)
{
	names->count = 0;
	for (unsigned int i = 0; i < s->nr_caches; i++) {
		if (!info_is_cache(&s->cache[i]))
			continue;
		distinct_add(names, s->cache[i].name, i, false);
		replace(names->name[names->count - 1].text, ' ', '?');
	}
	distinct_make(names, s);
}
