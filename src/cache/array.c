/* SPDX-License-Identifier: MIT */
/*
 * cache/array.c - fills an array with objects from where its caller wants them (spec 13.2)
 *
 * Why:        docs/adr/0046.
 * Data:       none.
 * Invariants: see object.h.
 * Locks:      none held here.
 * Flow:       called by api/cache_api.c; calls alloc.c, the engine's take_partial and take_new, the
 *             front's take_local; watch.c for a cache with watch bits. Polls the mailbox.
 *
 * The stages, in this order, each for what the ones before it have left:
 *
 *     PARTIAL  the engine's partial slabs of this node, those that are wanted with all they have
 *     NEW      new slabs, as long as all objects of one are wanted
 *     LOCAL    what this CPU holds
 *     FULL     single allocations; alone these make room where memory is short
 */
#include "cache/object.h"

/* Objects that are free still, see cache_take_bulk(). Returns how many. */
static unsigned int take(struct cache *c, gfp_t gfp, unsigned int nr, void **p, unsigned int mode)
{
	const struct engine_ops *ops = c->engine.ops;
	unsigned int n = 0;

	if (!ops->take_new) /* the last line of spec 13.2 */
		return cache_take_bulk(c, gfp, nr, p);
	if (mode & SLAB_ARRAY_PARTIAL)
		n = ops->take_partial(&c->engine, p, nr);
	if (mode & SLAB_ARRAY_NEW && n < nr)
		n += ops->take_new(&c->engine, p + n, nr - n, gfp);
	if (mode & SLAB_ARRAY_LOCAL && n < nr && c->front.ops->take_local)
		n += c->front.ops->take_local(&c->front, nr - n, p + n);
	if (mode & SLAB_ARRAY_FULL && n < nr)
		n += cache_take_bulk(c, gfp, nr - n, p + n);
	return n;
}

unsigned int cache_alloc_array_for(struct cache *c, gfp_t gfp, unsigned int nr, void **p,
				   unsigned int mode, const void *caller)
{
	unsigned int n;

	if (!nr || nested_call())
		return 0;
	if (cache_is_watched(c, WATCH_ALLOC)) {
		cache_poll_now();
		if (load_acquire(&c->watch) & WATCH_ALLOC) /* pairs with cache_watch_locked() */
			return cache_alloc_array_watched(c, gfp, nr, p, caller);
	}
	n = take(c, gfp, nr, p, mode);
	cache_hand_out_bulk(c, gfp, n, p);
	return n;
}
