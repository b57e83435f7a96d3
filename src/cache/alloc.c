/* SPDX-License-Identifier: MIT */
/*
 * cache/alloc.c - allocates one object or many, out of line: the front, zeroing, one retry
 *
 * Why:        docs/adr/0006.
 * Data:       none.
 * Invariants: see object.h.
 * Locks:      none held here.
 * Flow:       called by object.h, api/buckets_api.c, api/cache_api.c, api/mempool_kinds.c, array.c,
 *             direct.c, kmalloc.c, lent.c, malloc/group.c and malloc/slow.c; calls the front's
 *             alloc and pressure.c; charged.c and watch.c for a cache with watch bits. Polls the
 *             mailbox.
 *
 * Memory pressure is a return value: when the front fails, pressure.c makes room and the call is
 * repeated, as long as that finds something to do; then NULL.
 */
#include "cache/group/watched.h"
#include "cache/object.h"
#include "cache/pressure.h"
#include "cache/reclaim/ahead.h"

void *cache_alloc_again(struct cache *c, gfp_t gfp, int node)
{
	struct pressure p = { .wanted = gfp,
			      .size = load_relaxed(&c->engine.object_size),
			      .cache = c };
	void *obj = NULL;

	while (!obj && pressure_again(&p))
		obj = c->front.ops->alloc(&c->front, p.gfp, node);
	return obj ? cache_zero(c, cache_unmark(c, obj), gfp) : NULL;
}

void *cache_alloc_polled(struct cache *c, gfp_t gfp, int node, size_t size, const void *caller)
{
	if (group_is_all(c))
		return group_cache_alloc(c, gfp, node);
	cache_poll_now();
	if (load_acquire(&c->watch) & WATCH_ALLOC) /* pairs with cache_watch_locked() */
		return cache_alloc_watched(c, gfp, node, size, caller);
	return cache_take_plain(c, gfp, node);
}

void *cache_alloc_inside(struct cache *c, gfp_t gfp, int node, size_t size, const void *caller)
{
	return reclaim_nested_look(gfp) ? NULL : cache_take_outside(c, gfp, node, size, caller);
}

void *cache_alloc_for(struct cache *c, gfp_t gfp, int node, size_t size, const void *caller)
{
	return cache_take(c, gfp, node, size, caller);
}

static always_inline void unmark(unsigned int mark, unsigned int nr, void **p)
{
	for (void **end = p + nr; p < end; p++)
		mark_clear(*p, mark);
}

static cold unsigned int take_rest(struct cache *c, gfp_t gfp, unsigned int nr, void **p)
{
	struct pressure t = { .wanted = gfp,
			      .size = load_relaxed(&c->engine.object_size),
			      .cache = c };
	unsigned int n = 0;

	while (n < nr && pressure_again(&t))
		n += c->front.ops->alloc_bulk(&c->front, t.gfp, nr - n, p + n);
	return n;
}

unsigned int cache_take_bulk(struct cache *c, gfp_t gfp, unsigned int nr, void **p)
{
	const struct front_ops *ops = c->front.ops;
	unsigned int n = ops->alloc_bulk(&c->front, gfp | __GFP_NOWARN, nr, p);

	return likely(n == nr) ? n : n + take_rest(c, gfp, nr - n, p + n);
}

void cache_hand_out_bulk(struct cache *c, gfp_t gfp, unsigned int nr, void **p)
{
	if (likely(c->engine.mark))
		unmark(c->engine.mark, nr, p);
	for (unsigned int i = 0; unlikely(used_are_kept()) && i < nr; i++)
		cache_hand_out(c, p[i]);
	for (unsigned int i = 0; gfp & __GFP_ZERO && i < nr; i++)
		cache_zero(c, p[i], gfp);
}

unsigned int cache_alloc_bulk_for(struct cache *c, gfp_t gfp, unsigned int nr, void **p,
				  unsigned int done, const void *caller)
{
	unsigned int n = done;

	if (reclaim_nested_call(gfp)) {
		cache_free_bulk_for(c, done, p, caller); /* deferred */
		return 0;
	}
	if (cache_is_watched(c, WATCH_ALLOC)) {
		cache_poll_now();
		if (load_acquire(&c->watch) & WATCH_ALLOC) /* pairs with cache_watch_locked() */
			return cache_alloc_bulk_watched(c, gfp, nr, p, done, caller);
	}
	n += cache_take_bulk(c, gfp, nr - n, p + n);
	if (unlikely(n < nr)) { /* all or none */
		c->front.ops->free_bulk(&c->front, n - done, p + done);
		cache_free_bulk_for(c, done, p, caller); /* they have lost their marks */
		return 0;
	}
	cache_hand_out_bulk(c, gfp, n - done, p + done);
	return n;
}
