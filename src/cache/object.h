/* SPDX-License-Identifier: MIT */
/*
 * cache/object.h - one object out of line, for those who do it often:
 * kmem_cache_alloc(), kmalloc(), kfree()
 *
 * Data:       none.
 * Invariants: what goes to a front or an engine bears its mark, what comes from there loses it;
 *             with USLAB_CONF=hardened the bits of page/used.h stand in for marks.
 *             __GFP_ZERO clears object_size bytes, the largest of all merged users (spec 5.9).
 * Locks:      none held here.
 * Flow:       included by cache/; called by watch.c, kfree_bulk.c and kmalloc.c; calls the front.
 *             Whatever is rare is in these. Of a signal handler that interrupted this library:
 *             page/nested.h.
 *
 * Fronts other than arrays serve every call from here. So what is asked each time is three words:
 * has a tool left a command, does somebody listen to the probes of objects, is this cache watched.
 */
#ifndef CACHE_OBJECT_H
#define CACHE_OBJECT_H

#include <string.h>

#include "base/atomic.h"
#include "base/mark.h"
#include "cache/instrument/instrument.h"
#include "cache/internal.h"
#include "engine/place.h"
#include "page/nested.h"
#include "page/used.h"

/* watch: the bits that matter. */
static always_inline bool cache_is_watched(const struct cache *c, unsigned int watch)
{
	return unlikely(instrument_pending()) ||
	       unlikely(load_acquire(&c->watch) & watch); /* pairs with cache_watch_locked() */
}

/* ---- alloc.c: cache_is_watched(), or memory is short ---- */
void *cache_alloc_polled(struct cache *c, gfp_t gfp, int node, size_t size, const void *caller);
cold void *cache_alloc_again(struct cache *c, gfp_t gfp, int node);
/* A nested call (page/nested.h), or somebody reminds of what these put off. */
cold void *cache_alloc_inside(struct cache *c, gfp_t gfp, int node, size_t size,
			      const void *caller);

/* ---- free.c ---- */
void cache_free_polled(struct cache *c, void *obj, const void *caller);
/* A nested call (page/nested.h), or somebody reminds of what these put off. */
cold void cache_free_inside(struct cache *c, void *obj, const void *caller);
/* p is no start of an object of c. An object of another cache goes there, anything else nowhere. */
cold void cache_give_wrong(struct cache *c, void *p, const void *caller);
/* One of several that the program freed at once into c, and which may be one of those mistakes. */
cold void cache_give_of_bulk(struct cache *c, void *p, const void *caller);
/*
 * Where page/used.h is kept: from the program, after cache_may_own(). false: it did not have it,
 * which was reported.
 */
bool cache_take_back(struct cache *c, void *obj, const void *caller);

/* ---- misuse.c: what a program must not free is reported, with nothing of ours locked ---- */

/* An object of c bears a mark. true: it is free, which was reported; false: it only looks so. */
cold bool cache_is_free_already(struct cache *c, void *obj);
/* It is free: says so. not_done: what the program wanted of it. */
cold void cache_report_free(struct cache *c, struct page *slab, void *obj, const char *not_done);

/* ---- hardened.c: where page/used.h is kept ---- */

/* To the program. */
void cache_hand_out(struct cache *c, void *obj);
/* It is free from now on, whoever has it: its link leads nowhere. */
void cache_end_link(struct cache *c, void *obj);

/* What comes out of a front or an engine is the program's from now on. */
static always_inline void *cache_unmark(struct cache *c, void *obj)
{
	if (likely(c->engine.mark))
		mark_clear(obj, c->engine.mark);
	else if (unlikely(used_are_kept()))
		cache_hand_out(c, obj);
	return obj;
}

static always_inline void *cache_zero(const struct cache *c, void *obj, gfp_t gfp)
{
	if (gfp & __GFP_ZERO)
		memset(obj, 0, load_relaxed(&c->engine.object_size));
	return obj;
}

/* From the front. Quiet at first: only the second failure is one. */
static always_inline void *cache_take_plain(struct cache *c, gfp_t gfp, int node)
{
	void *obj = c->front.ops->alloc(&c->front, gfp | __GFP_NOWARN, node);

	return likely(obj) ? cache_zero(c, cache_unmark(c, obj), gfp)
			   : cache_alloc_again(c, gfp, node);
}

static always_inline void *cache_take(struct cache *c, gfp_t gfp, int node, size_t size,
				      const void *caller)
{
	if (unlikely(!lock_is_plain()))
		return cache_alloc_inside(c, gfp, node, size, caller);
	if (cache_is_watched(c, WATCH_ALLOC))
		return cache_alloc_polled(c, gfp, node, size, caller);
	return cache_take_plain(c, gfp, node);
}

/* May p be an object of c? Heaps find out for themselves when it comes back. */
static always_inline bool cache_may_own(const struct cache *c, const void *p)
{
	const struct page *page = page_block_of(p);

	if (likely(page && page->type == PAGE_SLAB))
		return likely(page->engine == &c->engine) && likely(engine_starts_object(page, p));
	return page && page->type == PAGE_HEAP && page->heap == c->engine.ops->heap &&
	       (uintptr_t)p % sizeof(void *) == 0;
}

/* Takes an object from the program: false: it is none, or is free, which was reported. */
static always_inline bool cache_receive(struct cache *c, void *obj, const void *caller)
{
	unsigned int mark = c->engine.mark;

	if (unlikely(!cache_may_own(c, obj))) {
		cache_give_wrong(c, obj, caller);
		return false;
	}
	if (!mark)
		return likely(!used_are_kept()) || cache_take_back(c, obj, caller);
	if (unlikely(mark_is_set(obj, mark)) && cache_is_free_already(c, obj))
		return false;
	mark_set(obj, mark);
	return true;
}

/* To the front. It is looked at, always: wherever a call is no hit. */
static always_inline void cache_give_plain(struct cache *c, void *obj, const void *caller)
{
	if (cache_receive(c, obj, caller))
		c->front.ops->free(&c->front, obj);
}

static always_inline void cache_give(struct cache *c, void *obj, const void *caller)
{
	if (unlikely(!lock_is_plain()))
		cache_free_inside(c, obj, caller);
	else if (cache_is_watched(c, ~0u))
		cache_free_polled(c, obj, caller);
	else
		cache_give_plain(c, obj, caller);
}

#endif /* CACHE_OBJECT_H */
