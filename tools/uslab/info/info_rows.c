/* SPDX-License-Identifier: MIT */
/*
 * uslab/info/info_rows.c - which caches are listed, under which name, in which order (spec 8.2,
 * 8.3)
 *
 * Flow:       called by cmd_info.c, info_change.c, info_json.c, info_library.c, info_metrics.c,
 *             info_totals.c, fs/fs_names.c and fs/fs_slabinfo.c; calls distinct.c, inspect/text.c
 *             and util.c. In: a snapshot and the options; out: rows, which point into the snapshot.
 *
 * A mergeable cache has a directory named by its id in the kernel's sysfs and a link to it for each
 * name; any other has one directory of its own name. Links and other directories are filtered by
 * the regular expression, ids never are: hence the rules below.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "info/info.h"
#include "inspect/text.h"
#include "util.h"

const char *info_name(const struct snapshot *s, const struct snapshot_cache *c, unsigned int i)
{
	/* aliases are kept newest first */
	return i ? s->alias[c->first_alias + c->nr_aliases - i] : c->name;
}

static bool matches(const struct info_options *options, const char *name)
{
	return !options->pattern || regexec(options->pattern, name, 0, NULL, 0) == 0;
}

/*
 * What to call a mergeable cache: its id when several of its names match; its one matching name,
 * or with -f the longest, except that one that begins with "kmall" wins. NULL: none matches.
 */
static const char *rename_cache(const struct snapshot *s, const struct snapshot_cache *c,
				const struct info_options *options)
{
	const char *best = NULL;
	unsigned int refs = 0;
	bool is_kmalloc = false;

	for (unsigned int i = 0; i <= c->nr_aliases; i++) {
		const char *name = info_name(s, c, i);

		if (!name[0] || !matches(options, name))
			continue;
		refs++;
		if (is_kmalloc)
			continue;
		is_kmalloc = !strncmp(name, "kmall", 5);
		if (!best || is_kmalloc || strlen(name) > strlen(best))
			best = name;
	}
	return refs > 1 && !options->first_alias ? c->unique_id : best;
}

static bool has_kind(const struct snapshot_cache *c, const struct info_options *options)
{
	return !options->unreclaimable || !(c->flags & SLAB_RECLAIM_ACCOUNT);
}

static bool passes(const struct snapshot_cache *c, const struct info_options *options)
{
	bool empty = !c->slabs && !c->objects; /* objects without slabs lie in a heap */

	if (options->only_empty ? !empty : empty && !options->with_empty)
		return false;
	return has_kind(c, options);
}

static unsigned long activity(const struct snapshot_cache *c)
{
	return c->stat[ALLOC_FASTPATH] + c->stat[ALLOC_SLOWPATH] + c->stat[FREE_FASTPATH] +
	       c->stat[FREE_SLOWPATH];
}

static unsigned long sort_key(const struct snapshot_cache *c, enum info_order order)
{
	switch (order) {
	case INFO_BY_SIZE:
		return c->slab_bytes;
	case INFO_BY_ACTIVITY:
		return activity(c);
	case INFO_BY_LOSS:
		return text_loss(c);
	case INFO_BY_PARTIAL:
		return c->partial;
	case INFO_BY_NAME:
		break;
	}
	return 0;
}

/* Largest first, equal ones by name; all of it the other way round when inverted. */
static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct info_options *options = arg;
	const struct info_row *x = a;
	const struct info_row *y = b;
	unsigned long key_x = sort_key(x->cache, options->order);
	unsigned long key_y = sort_key(y->cache, options->order);
	int result = key_x == key_y ? strcasecmp(x->name, y->name) : key_x > key_y ? -1 : 1;

	if (!result)
		result = x->cache < y->cache ? -1 : 1; /* by number: the same each time */
	return options->inverted ? -result : result;
}

bool info_is_cache(const struct snapshot_cache *c)
{
	return c->id || c->engine[0];
}

/* What the pattern and the rules for names say; NULL: not listed. */
static const char *row_name(const struct snapshot *s, const struct snapshot_cache *c,
			    const struct info_options *options)
{
	if (options->only_caches && !info_is_cache(c) &&
	    !(options->with_blocks && c->whole_pages && c == &s->cache[s->blocks_row]))
		return NULL;
	if (c->unique_id[0])
		return rename_cache(s, c, options);
	return matches(options, c->name) ? c->name : NULL;
}

void info_distinct(const struct snapshot *s, const struct info_options *options,
		   struct distinct *names)
{
	names->count = 0;
	for (unsigned int i = 0; i < s->nr_caches; i++) {
		const char *name = row_name(s, &s->cache[i], options);

		if (name)
			distinct_add(names, name, i, false);
	}
	distinct_make(names, s);
}

unsigned int info_rows(const struct snapshot *s, const struct info_options *options,
		       struct info_row *rows)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < s->nr_caches; i++) {
		const struct snapshot_cache *c = &s->cache[i];
		const char *name = row_name(s, c, options);

		if (name && passes(c, options))
			rows[count++] = (struct info_row){ .cache = c, .name = name };
	}
	qsort_r(rows, count, sizeof(*rows), compare_rows, (void *)options);
	return options->lines < count ? (unsigned int)options->lines : count;
}

bool info_warn_unmatched(const struct info *info, const struct info_subject *subject)
{
	if (subject->nr_rows || !info->pattern_text)
		return false;
	util_warn(INFO_COMMAND, "no cache in use matches '%s'%s", info->pattern_text,
		  info->options.with_empty ? "" : " (-z lists empty ones too)");
	return true;
}

bool info_only_row(const struct snapshot *s, const struct info_options *options,
		   struct info_row *row)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < s->nr_caches && count < 2; i++) {
		const struct snapshot_cache *c = &s->cache[i];
		const char *name = row_name(s, c, options);

		if (name) {
			*row = (struct info_row){ .cache = c, .name = name };
			count++;
		}
	}
	return count == 1 && info_is_cache(row->cache) && has_kind(row->cache, options);
}

/*
 * Name number i when it matches and stands for something else: an id, or the
 * cache's own name. NULL: no.
 */
static const char *alias_name(const struct snapshot *s, const struct snapshot_cache *c,
			      unsigned int i, const struct info_options *options)
{
	const char *name = info_name(s, c, i);

	if (!i && !c->unique_id[0])
		return NULL;
	return name[0] && matches(options, name) ? name : NULL;
}

unsigned int info_count_aliases(const struct snapshot *s, const struct snapshot_cache *c,
				const struct info_options *options)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i <= c->nr_aliases; i++)
		count += alias_name(s, c, i, options) != NULL;
	return count;
}

static int compare_aliases(const void *a, const void *b, void *arg)
{
	const struct info_options *options = arg;
	const struct info_alias *x = a;
	const struct info_alias *y = b;
	int by_target = strcasecmp(x->target, y->target);
	int by_name = strcasecmp(x->name, y->name);

	if (options->inverted)
		return by_name ? by_name : by_target;
	return by_target ? by_target : by_name;
}

unsigned int info_aliases(const struct snapshot *s, const struct info_options *options,
			  struct info_alias *aliases)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < s->nr_caches; i++) {
		const struct snapshot_cache *c = &s->cache[i];
		const char *target = c->unique_id[0] ? c->unique_id : c->name;
		unsigned int first = count;

		for (unsigned int j = 0; j <= c->nr_aliases; j++) {
			const char *name = alias_name(s, c, j, options);

			if (name)
				aliases[count++] =
					(struct info_alias){ .name = name, .target = target };
		}
		if (count == first + 1 && !options->single_refs)
			count = first;
	}
	qsort_r(aliases, count, sizeof(*aliases), compare_aliases, (void *)options);
	return count;
}
