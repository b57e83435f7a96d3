/* SPDX-License-Identifier: MIT */
/*
 * cache/alloc.c - one object or many, out of line: the front, then zeroing, then one retry
 *
 * Data:       none.
 * Invariants: __GFP_ZERO clears object_size bytes, the largest of all merged users (spec 5.9).
 * Locks:      none held here.
 * Flow:       called by api/ and malloc/ on a miss; calls the front's alloc and cache/shrink.c; of a
 *             cache that is watched, watch.c. Looks into the mailbox now and then.
 *
 * Memory pressure is a return value: when nothing is to be had every cache is shrunk once and the
 * call repeated; then NULL.
 */
#include <string.h>

#include "base/atomic.h"
#include "cache/control.h"
#include "cache/friends.h"
#include "cache/internal.h"

static void *finish(struct cache *c, void *obj, gfp_t gfp)
{
	if (gfp & __GFP_ZERO)
		memset(obj, 0, load_relaxed(&c->engine.object_size));
	return obj;
}

static cold void *alloc_again(struct cache *c, gfp_t gfp, int node)
{
	cache_shrink_all();
	return c->front.ops->alloc(&c->front, gfp, node);
}

static always_inline void *alloc_one(struct cache *c, gfp_t gfp, int node, size_t size,
				     const void *caller)
{
	void *obj;

	if (unlikely(load_acquire(&c->watch) & WATCH_ALLOC)) /* pairs with set_watch() */
		return cache_alloc_watched(c, gfp, node, size, caller);
	/* quiet at first: only the second failure is one */
	obj = c->front.ops->alloc(&c->front, gfp | __GFP_NOWARN, node);
	if (unlikely(!obj))
		obj = alloc_again(c, gfp, node);
	return likely(obj) ? finish(c, obj, gfp) : NULL;
}

/* Out of line, and called at the end, so that the others need save no argument. */
static noinline void *poll_and_alloc(struct cache *c, gfp_t gfp, int node, size_t size,
				     const void *caller)
{
	cache_poll_now();
	return alloc_one(c, gfp, node, size, caller);
}

void *cache_alloc_for(struct cache *c, gfp_t gfp, int node, size_t size, const void *caller)
{
	if (cache_poll_is_due(c))
		return poll_and_alloc(c, gfp, node, size, caller);
	return alloc_one(c, gfp, node, size, caller);
}

unsigned int cache_alloc_bulk_for(struct cache *c, gfp_t gfp, unsigned int nr, void **p,
				  const void *caller)
{
	unsigned int n;

	control_poll();
	friends_poll();
	if (unlikely(load_acquire(&c->watch) & WATCH_ALLOC)) /* pairs with set_watch() */
		return cache_alloc_bulk_watched(c, gfp, nr, p, caller);
	n = c->front.ops->alloc_bulk(&c->front, gfp | __GFP_NOWARN, nr, p);
	if (unlikely(n < nr)) {
		cache_shrink_all();
		n += c->front.ops->alloc_bulk(&c->front, gfp, nr - n, p + n);
	}
	if (unlikely(n < nr)) { /* all or none */
		c->front.ops->free_bulk(&c->front, n, p);
		return 0;
	}
	for (unsigned int i = 0; (gfp & __GFP_ZERO) && i < n; i++)
		finish(c, p[i], gfp);
	return n;
}
