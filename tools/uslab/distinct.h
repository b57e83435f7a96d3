/* SPDX-License-Identifier: MIT */
/*
 * uslab/distinct.h - names of caches, each made the only one
 *
 * Two caches may have one name, and names that differ in bytes that cannot be printed look the
 * same. Where a name has to be the only one (a folder, a label of metrics, a line of slabinfo), all
 * but the first get "~" and the number of the cache behind it.
 */
#ifndef TOOLS_DISTINCT_H
#define TOOLS_DISTINCT_H

#include "inspect/snapshot.h"

#define DISTINCT_NAME_MAX (SNAPSHOT_NAME_MAX + 16)
#define DISTINCT_MAX (2 * SNAPSHOT_MAX_CACHES + SNAPSHOT_MAX_ALIASES)

struct distinct_name {
	char text[DISTINCT_NAME_MAX];
	uint16_t cache; /* index in snapshot.cache[] */
	bool is_link;	/* a further name of that cache */
};

/* Large: not for a stack. count: 0 before the first name is added. */
struct distinct {
	unsigned int count;
	struct distinct_name name[DISTINCT_MAX]; /* sorted by text, no text twice */
	uint16_t own[SNAPSHOT_MAX_CACHES];	 /* index in name[] of the one that is no link */
};

/* At most one of each cache that is no link, and at most DISTINCT_MAX of all. */
void distinct_add(struct distinct *d, const char *text, unsigned int cache, bool is_link);
/*
 * Once all are added. A name that cannot be one of a file ("", "." and "..") gets the number, too.
 */
void distinct_make(struct distinct *d, const struct snapshot *s);
/* NULL: there is no such name. */
const struct distinct_name *distinct_find(const struct distinct *d, const char *text);

/* What a cache of which a name was added is called; cache: index in snapshot.cache[]. */
static inline const char *distinct_own(const struct distinct *d, unsigned int cache)
{
	return d->name[d->own[cache]].text;
}

#endif /* TOOLS_DISTINCT_H */
