/* SPDX-License-Identifier: MIT */
/*
 * engine/limit.h - how many pages a cache may have, and which group its slabs are charged to
 *
 * Why:        docs/adr/0063, docs/adr/0069.
 * Data:       engine_limits[number of the cache].
 * Invariants: pages counts those of the cache's slabs, from before they are taken until they are
 *             given back (debug slabs included; not guarded pages, nor what heaps share); it is at
 *             most the limit, but for what there was when a lower one was set, and for a call that
 *             is about to be refused. Where there is a group, the objects that fit into these
 *             pages are charged to it, as long as they are counted.
 * Locks:      none: one atomic count, which every maker of a slab adds to before it looks; what
 *             charges takes the lock of a CPU's stock.
 * Flow:       called by nodes.c, placement.c, typesafe.h, slab/grow.c, slobseg/, and cache/; tools
 *             read the table from outside.
 */
#ifndef ENGINE_LIMIT_H
#define ENGINE_LIMIT_H

#include "base/atomic.h"
#include "engine/engine.h"

#include <limits.h>

struct engine_limit {
	unsigned long pages;   /* atomic */
	unsigned long most;    /* pages; 0: any number; atomic */
	unsigned long refused; /* allocations that failed for that; atomic */
	/*
	 * Number of the accounting group that the slabs are charged to; 0: none;
	 * ENGINE_GROUP_CHANGES. Atomic.
	 */
	unsigned long group;
	unsigned long charged; /* bytes; atomic */
	unsigned long freed;   /* objects that came back to slabs, of caches with a group; atomic */
};

extern struct engine_limit engine_limits[USLAB_NR_HANDLES];

/* Delays for tests, where others may come between: tests/race/slab_group_test.c. */
#ifndef LIMIT_INJECT
#define LIMIT_INJECT(step)
#endif

/* No slab is made meanwhile. */
#define ENGINE_GROUP_CHANGES ULONG_MAX

/* Set by the floor above before there is a cache with a group. */
struct engine_charges {
	/* false: a limit of the group, or of one above it, does not leave so many bytes. */
	bool (*charge)(unsigned long group, size_t bytes);
	void (*uncharge)(unsigned long group, size_t bytes);
};

extern const struct engine_charges *engine_charges;

/* The number of the group that slabs of this engine are charged to, or 0. */
static inline unsigned long engine_group(const struct engine *e)
{
	return load_relaxed(&engine_limits[e->id].group);
}

/*
 * What so many pages are charged with: the objects that fit. What is left at the end is not
 * charged, as with objects that are charged one by one.
 */
static inline size_t engine_charge_of(const struct engine *e, unsigned long nr_pages)
{
	size_t bytes = nr_pages << PAGE_SHIFT;

	return bytes - bytes % e->size;
}

/*
 * Sets the group of a cache, if it has no slabs; false: it has some. One caller at a time. Who
 * makes a slab counts its pages first and then looks at the group; here it is the other way round:
 * one of both sees the other, and the slab is refused, or the change is.
 */
bool engine_set_group(struct engine *e, unsigned long group);

/* So many objects come back to their slabs. */
static inline void engine_note_frees(const struct engine *e, unsigned int n)
{
	if (unlikely(engine_group(e)))
		fetch_add(&engine_limits[e->id].freed, n);
}

bool engine_charge_slow(const struct engine *e, unsigned long nr_pages);
void engine_uncharge_slow(const struct engine *e, unsigned long nr_pages);

/* Counts so many pages more, if the cache and its group may have them. */
static inline bool engine_limit_take(const struct engine *e, unsigned long nr_pages)
{
	struct engine_limit *l = &engine_limits[e->id];
	/* both in this order for all, see engine_set_group() */
	unsigned long pages = __atomic_add_fetch(&l->pages, nr_pages, __ATOMIC_SEQ_CST);
	unsigned long most = load_relaxed(&l->most);
	unsigned long group;

	LIMIT_INJECT(1);
	group = __atomic_load_n(&l->group, __ATOMIC_SEQ_CST);
	if (likely(!most || pages <= most) && (likely(!group) || engine_charge_slow(e, nr_pages)))
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
	if (unlikely(engine_group(e)))
		engine_uncharge_slow(e, nr_pages);
	fetch_sub(&engine_limits[e->id].pages, nr_pages);
}

/* Did a new slab fail for the limit? As a hint: others may have given pages back meanwhile. */
bool engine_limit_is_met(const struct engine *e);

#endif /* ENGINE_LIMIT_H */
