/* SPDX-License-Identifier: MIT */
/*
 * uslab/pattern.c - caches by name, id or alias
 *
 * Flow:       called by cmd_debug.c, command/cmd_defrag.c, command/debug_capacity.c,
 *             info/info_change.c, top/top_keys.c, track_choose.c and track_switch.c. In: a
 *             snapshot and a pattern; out: which of its caches the library will take for it, or
 *             why it takes none.
 */
#include "pattern.h"

#include <stdio.h>
#include <string.h>

/*
 * On a mismatch the last star takes one character more: no recursion, at most length times length.
 */
static bool text_matches(const char *pattern, const char *text)
{
	const char *star = NULL, *resume = NULL;

	while (*text) {
		if (*pattern == '*') {
			star = pattern++;
			resume = text;
		} else if (*pattern == '?' || *pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++resume;
		} else {
			return false;
		}
	}
	return pattern[strspn(pattern, "*")] == '\0';
}

bool pattern_matches(const struct snapshot *s, const struct snapshot_cache *c, const char *pattern)
{
	if (c == &s->cache[s->blocks_row] && c->whole_pages)
		return text_matches(pattern, c->name);
	if (!c->id || !c->refcount)
		return false;
	if (text_matches(pattern, c->name) ||
	    (*pattern == ':' && text_matches(pattern, c->unique_id)))
		return true;
	for (unsigned int i = 0; i < c->nr_aliases; i++)
		if (text_matches(pattern, s->alias[c->first_alias + i]))
			return true;
	return false;
}

const char *pattern_why_not(char buf[PATTERN_WHY], const struct snapshot *s,
			    const struct snapshot_cache *c)
{
	const struct snapshot_cache *blocks = &s->cache[s->blocks_row];

	buf[0] = '\0';
	if (c->whole_pages && c != blocks)
		snprintf(buf, PATTERN_WHY, "%s are blocks of whole pages, which go by the name %s",
			 c->name, blocks->name);
	else if (!c->whole_pages && c->engine[0] && !c->id)
		snprintf(buf, PATTERN_WHY, "%s is no cache, but the heap that caches of %s share",
			 c->name, c->engine);
	else if (!c->whole_pages && !c->id)
		snprintf(buf, PATTERN_WHY, "%s is no cache", c->name);
	return buf;
}

const struct snapshot_cache *pattern_no_cache(const struct snapshot *s, const char *pattern)
{
	char why[PATTERN_WHY];

	for (unsigned int i = 0; i < s->nr_caches; i++)
		if (*pattern_why_not(why, s, &s->cache[i]) &&
		    text_matches(pattern, s->cache[i].name))
			return &s->cache[i];
	return NULL;
}

const struct snapshot_cache *pattern_same(const struct snapshot *s, const struct snapshot_cache *c)
{
	for (unsigned int i = 0; i < s->nr_caches; i++)
		if (s->cache[i].id == c->id && !strcmp(s->cache[i].name, c->name))
			return &s->cache[i];
	return NULL;
}
