/* SPDX-License-Identifier: MIT */
/*
 * cache/object.h - allocation and free of one object, inlined into kmem_cache_alloc(), kmalloc()
 * and kfree()
 *
 * Data:       none.
 * Invariants: objects get their mark before they go to a front or an engine, and lose it when they
 *             are allocated; with USLAB_CONF=hardened the bits of page/used.h are used in place of
 *             marks. __GFP_ZERO clears object_size bytes, the largest of all merged users (spec
 *             5.9).
 * Locks:      none held here.
 * Flow:       included by cache/ and malloc/slow.c; called by array.c, charged.c, direct.c,
 *             group/hit.h, group/own.c, kfree_bulk.c, kmalloc.c, lent.c, mobility/evacuate.c,
 *             nolock.c, grace/sheaf_free.c and malloc/slow.c; calls the front. Rare cases are out
 *             of line, in alloc.c and free.c. Nested calls: page/nested.h.
 *
 * Fronts other than arrays serve every call from here, so each call checks only three words: is
 * there a command in the mailbox, is a tracer attached to the probes, has the cache watch bits.
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
/* A nested call (page/nested.h), or frees that these deferred are to be done. */
cold void *cache_alloc_inside(struct cache *c, gfp_t gfp, int node, size_t size,
			      const void *caller);

/*
 * Up to nr objects from the front, after a shrink if need be. They are free still: neither has
 * their mark been cleared nor was a tool notified. Not for caches with a bit of WATCH_ALLOC.
 */
unsigned int cache_take_bulk(struct cache *c, gfp_t gfp, unsigned int nr, void **p);
/* They are the program's from now on: without marks, and zero if that is asked for. */
void cache_hand_out_bulk(struct cache *c, gfp_t gfp, unsigned int nr, void **p);

/*
 * watch.c: a free object of c, or a block of its heap, of whichever kind, is the program's from now
 * on, which asked for size bytes. Any context.
 */
void cache_hand_out_sized(struct cache *c, gfp_t gfp, size_t size, void *obj);

/* ---- free.c ---- */
void cache_free_polled(struct cache *c, void *obj, const void *caller);
/* A nested call (page/nested.h), or frees that these deferred are to be done. */
cold void cache_free_inside(struct cache *c, void *obj, const void *caller);
/* p is no start of an object of c. Reports it; an object of another cache is freed to that one. */
cold void cache_give_wrong(struct cache *c, void *p, const void *caller);
/*
 * If page/used.h is kept: clears the object's bit, after cache_may_own(). false: it was not live,
 * which is reported.
 */
bool cache_take_back(struct cache *c, void *obj, const void *caller);

/* ---- misuse.c: reports wrong frees, with no lock held ---- */

/* An object of c has a mark. true: it is free, which is reported; false: it only looks so. */
cold bool cache_is_free_already(struct cache *c, void *obj);
/* Reports that it is free. undone: what the program wanted to do with it. */
cold void cache_report_free(struct cache *c, struct page *slab, void *obj,
			    enum report_repair undone);

/* ---- hardened.c: where page/used.h is kept ---- */

/* Sets the bit of an object that is allocated. */
void cache_hand_out(struct cache *c, void *obj);
/* The object is free from now on: writes a link that ends the list. */
void cache_end_link(struct cache *c, void *obj);

/* An object from a front or an engine is live from now on. */
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

/* From the front, without a warning: only a second failure is one. */
static always_inline void *cache_take_plain(struct cache *c, gfp_t gfp, int node)
{
	void *obj = c->front.ops->alloc(&c->front, gfp | __GFP_NOWARN, node);

	return likely(obj) ? cache_zero(c, cache_unmark(c, obj), gfp)
			   : cache_alloc_again(c, gfp, node);
}

/* No nested call. */
static always_inline void *cache_take_outside(struct cache *c, gfp_t gfp, int node, size_t size,
					      const void *caller)
{
	if (cache_is_watched(c, WATCH_ALLOC))
		return cache_alloc_polled(c, gfp, node, size, caller);
	return cache_take_plain(c, gfp, node);
}

static always_inline void *cache_take(struct cache *c, gfp_t gfp, int node, size_t size,
				      const void *caller)
{
	if (unlikely(!lock_is_plain()))
		return cache_alloc_inside(c, gfp, node, size, caller);
	return cache_take_outside(c, gfp, node, size, caller);
}

/* May p be an object of c? Heaps check that themselves when it is freed to them. */
static always_inline bool cache_may_own(const struct cache *c, const void *p)
{
	const struct page *page = page_block_of(p);

	if (likely(page && page->type == PAGE_SLAB))
		return likely(page->engine == &c->engine) && likely(engine_starts_object(page, p));
	return page && page->type == PAGE_HEAP && page->heap == c->engine.ops->heap &&
	       (uintptr_t)p % sizeof(void *) == 0;
}

/* Checks a free, and sets the mark. false: p is no live object of c, which is reported. */
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

/* To the front. Every free that is no hit is checked. */
static always_inline void cache_give_plain(struct cache *c, void *obj, const void *caller)
{
	if (cache_receive(c, obj, caller))
		c->front.ops->free(&c->front, obj);
}

/* No nested call. */
static always_inline void cache_give_outside(struct cache *c, void *obj, const void *caller)
{
	if (cache_is_watched(c, ~0u))
		cache_free_polled(c, obj, caller);
	else
		cache_give_plain(c, obj, caller);
}

static always_inline void cache_give(struct cache *c, void *obj, const void *caller)
{
	if (unlikely(!lock_is_plain()))
		cache_free_inside(c, obj, caller);
	else
		cache_give_outside(c, obj, caller);
}

#endif /* CACHE_OBJECT_H */
