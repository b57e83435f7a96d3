/* SPDX-License-Identifier: MIT */
/*
 * uslab/pattern.h - caches by name, id or alias as the library takes patterns
 * (cache/control/control.h)
 */
#ifndef TOOLS_PATTERN_H
#define TOOLS_PATTERN_H

#include <stdbool.h>

#include "inspect/snapshot.h"

/*
 * Does a cache have a name, or with a leading ':' an id, of that pattern? '*' stands for
 * anything, '?' for one character. Of the rows that are no caches whole pages match, too, by the
 * name that `uslab info` lists them by ("malloc-large"); to the library that name letter by letter
 * has to be given.
 */
bool pattern_matches(const struct snapshot *s, const struct snapshot_cache *c, const char *pattern);

#define PATTERN_WHY (2 * SNAPSHOT_NAME_MAX + 80) /* bytes of the text */

/*
 * Why no command is for a row that is no cache, though `uslab info` lists it. "": it is a cache, or
 * whole pages by the name that commands take. Returns buf.
 */
const char *pattern_why_not(char buf[PATTERN_WHY], const struct snapshot *s,
			    const struct snapshot_cache *c);
/* Of the rows that are no caches the first one of that name or pattern; NULL: none. */
const struct snapshot_cache *pattern_no_cache(const struct snapshot *s, const char *pattern);

/* The cache of that number and name in another snapshot of the same process; NULL: gone. */
const struct snapshot_cache *pattern_same(const struct snapshot *s, const struct snapshot_cache *c);

#endif /* TOOLS_PATTERN_H */
