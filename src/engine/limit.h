/* SPDX-License-Identifier: MIT */
/*
 * engine/limit.h - how many pages a cache may have
 *
 * Why:        docs/adr/0063.
 * Data:       engine_limits[number of the cache].
 * Invariants: pages counts those of the cache's slabs, from before they are taken until they are
 *             given back (debug slabs included; not guarded pages, nor what heaps share); it is at
 *             most the limit, but for what there was when a lower one was set, and for a call that
 *             is about to be refused.
 * Locks:      none: one atomic count, which every maker of a slab adds to before it looks.
 * Flow:       called by nodes.c, placement.c, typesafe.h, slab/grow.c, slobseg/, and cache/; tools
 *             read the table from outside.
 */
#ifndef ENGINE_LIMIT_H
#define ENGINE_LIMIT_H

#include "base/atomic.h"
#include "engine/engine.h"

struct engine_limit {
	unsigned long pages;   /* atomic */
	unsigned long most;    /* pages; 0: any number; atomic */
	unsigned long refused; /* allocations that failed for that; atomic */
};

extern struct engine_limit engine_limits[USLAB_NR_HANDLES];

/* Counts so many pages more, if the cache may have them. */
static inline bool engine_limit_take(const struct engine *e, unsigned long nr_pages)
{
	struct engine_limit *l = &engine_limits[e->id];
	unsigned long pages = fetch_add(&l->pages, nr_pages) + nr_pages;
	unsigned long most = load_relaxed(&l->most);

	if (likely(!most || pages <= most))
		return true;
	fetch_sub(&l->pages, nr_pages);
	return false;
}

/* Might it have so many now? */
static inline bool engine_limit_has_room(const struct engine *e, unsigned long nr_pages)
{
	const struct engine_limit *l = &engine_limits[e->id];
	unsigned long most = load_relaxed(&l->most);

	return likely(!most) || load_relaxed(&l->pages) + nr_pages <= most;
}

/* They are not the cache's any more, or were not to be had. */
static inline void engine_limit_give(const struct engine *e, unsigned long nr_pages)
{
	fetch_sub(&engine_limits[e->id].pages, nr_pages);
}

/* Did a new slab fail for the limit? As a hint: others may have given pages back meanwhile. */
bool engine_limit_is_met(const struct engine *e);

#endif /* ENGINE_LIMIT_H */
