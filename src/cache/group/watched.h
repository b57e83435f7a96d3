/* SPDX-License-Identifier: MIT */
/*
 * cache/group/watched.h - is nothing else wanted of a cache than that its objects are charged
 *
 * Data:       none.
 * Invariants: then all its objects lie in plain slabs, and cache/charged.c may serve it.
 * Locks:      none.
 * Flow:       included by alloc.c, free.c and watch.c, and by malloc/group.c.
 */
#ifndef CACHE_WATCHED_H
#define CACHE_WATCHED_H

#include "cache/group/group.h"
#include "cache/instrument/instrument.h"

static always_inline bool group_is_all(const struct cache *c)
{
	/* pairs with cache_watch_locked() */
	return load_acquire(&c->watch) == WATCH_GROUPS && !c->engine.ops->heap &&
	       likely(!instrument_pending());
}

#endif /* CACHE_WATCHED_H */
