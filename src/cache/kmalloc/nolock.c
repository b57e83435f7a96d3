/* SPDX-License-Identifier: MIT */
/*
 * cache/kmalloc/nolock.c - kmalloc_nolock() and kfree_nolock(): for any context
 *
 * Why:        docs/adr/0048.
 * Data:       none.
 * Invariants: nothing here waits for a lock: it is done between lock_tries_begin() and
 *             lock_tries_end(), where debug builds end the program if something does. What is read
 *             without a lock is what hits read. An object has one owner at each step: the caller,
 *             the CPU's array, its slab, or an entry of the list of deferred frees.
 * Locks:      those of fronts and engines, which are tried; none is held here.
 * Flow:       called by api/; calls kfree.h, the front's, the engine's and the heap's
 *             try_alloc and try_free, debug/alloc.c, page/nested.c.
 *
 * An allocation asks, in this order: the CPU's array, the engine, and both of the next larger size
 * once. A free: the CPU's array, the engine; else it is deferred. It is done by the next ordinary
 * call of this thread that is no hit, or the next of these two functions that it calls while it
 * holds no lock; or by whoever shrinks or destroys a cache. So are all frees with something to
 * check or to report: of debug slabs, guarded pages, what looks free already, what allocation
 * profiling may have counted, and what may be charged to a group. What is allocated here is neither
 * counted nor charged.
 *
 * Caches with debug flags give objects of debug slabs, without a check and without a stack; faults
 * (A), guarded pages and samples are for other calls.
 */
#include <string.h>

#include "cache/group/group.h"
#include "cache/kmalloc/kfree.h"
#include "cache/object.h"
#include "cache/profile/profile.h"
#include "debug/debug.h"
#include "front/array.h"

#define MAX_RETRIES 8u /* deferred frees that one call tries again */

/* ---- free ---- */

static bool is_plain_cache(struct cache *c)
{
	/* pairs with cache_watch_locked() */
	return !(load_acquire(&c->watch) &
		 (WATCH_CLOSED | WATCH_PAST_FRONT | WATCH_TAGS | WATCH_GROUPS));
}

/* It becomes a free object, as far as its own bytes and bits are concerned. false: it is one. */
static bool mark_free(struct cache *c, void *obj)
{
	unsigned int mark = c->engine.mark;

	if (mark && mark_is_set(obj, mark))
		return false;
	if (mark)
		mark_set(obj, mark);
	if (!mark && used_are_kept()) {
		if (!used_clear(obj))
			return false;
		cache_end_link(c, obj);
	}
	return true;
}

/* The opposite, of an object that nobody took. */
static void mark_live(struct cache *c, void *obj)
{
	if (c->engine.mark)
		mark_clear(obj, c->engine.mark);
	else if (used_are_kept())
		used_set(obj);
}

/* A plain object that is known to be c's. false: nothing is done. */
static bool give_object(struct cache *c, void *obj)
{
	const struct front_ops *front = c->front.ops;

	if (!is_plain_cache(c) || !mark_free(c, obj))
		return false;
	if ((front->try_free && front->try_free(&c->front, obj)) ||
	    c->engine.ops->try_free(&c->engine, obj))
		return true;
	mark_live(c, obj);
	return false;
}

/* A block of a heap, or an object there of a cache that is found by address. */
static bool give_in_heap(const struct engine_heap *heap, void *p)
{
	struct cache *c = cache_is_in_use(p) ? cache_of_object(p) : NULL;

	if (c)
		return give_object(c, p);
	if (profile_is_known() || groups_are_known())
		return false;
	if (!used_are_kept())
		return heap->try_free(heap, p);
	if (!used_clear(p))
		return false;
	if (heap->try_free(heap, p))
		return true;
	used_set(p);
	return false;
}

/* false: nothing is done. */
static bool give(void *p, const void *caller)
{
	struct page *page = page_block_of(p);
	struct cache *c;

	(void)caller;
	if (instrument_is_on() || !page)
		return false;
	if (page->type == PAGE_HEAP)
		return give_in_heap(page->heap, p);
	if (page->type != PAGE_SLAB || page->layout->kind != LAYOUT_PLAIN)
		return false;
	c = container_of(page->engine, struct cache, engine);
	/* these have more to do, and are no kmallocs */
	if (c->engine.ctor || engine_is_typesafe(&c->engine))
		return false;
	return cache_may_own(c, p) && give_object(c, p);
}

static void give_later(void *owner, void *p, const void *caller)
{
	static const struct cache_call call = { "kfree_nolock", FIX_NOT_FREED };

	(void)owner;
	kmalloc_free_as(&call, p, caller);
}

/* inside: this call came in the middle of another one, which may hold locks. */
static void retry(bool inside)
{
	if (unlikely(lock_thread.flags & LOCK_DEFERRED) && !inside)
		nested_retry(give, MAX_RETRIES);
}

void kmalloc_try_free(const void *p, const void *caller)
{
	bool inside = lock_is_inside();
	struct lock_tries tries;

	if (ZERO_OR_NULL_PTR(p) || kfree_hit(p))
		return;
	tries = lock_tries_begin();
	retry(inside);
	if (!lock_may_try() || !give((void *)p, caller))
		nested_defer_tried(give_later, (void *)p, caller);
	lock_tries_end(tries);
}

/* ---- alloc ---- */

static void *take_free(struct cache *c, size_t size, int node, const void *caller)
{
	unsigned int watch = load_acquire(&c->watch); /* pairs with cache_watch_locked() */
	const struct engine_heap *heap = cache_heap_of(c);
	void *obj = NULL;

	if (watch & WATCH_DEBUG)
		return debug_try_alloc(&c->engine, node, size, caller);
	if (heap && size <= heap->max_size)
		return heap->try_alloc(heap, size, ARCH_KMALLOC_MINALIGN, node);
	if (node < 0 && c->front.ops->try_alloc && !(watch & WATCH_PAST_FRONT))
		obj = c->front.ops->try_alloc(&c->front);
	return obj ? obj : c->engine.ops->try_alloc(&c->engine, node);
}

static void *take(struct cache *c, size_t size, gfp_t gfp, int node, const void *caller)
{
	void *obj;

	instrument_enter();
	obj = take_free(c, size, node, caller);
	if (obj)
		cache_hand_out_sized(c, gfp, size, obj);
	instrument_leave();
	if (obj)
		instrument_alloc(c, obj, size, gfp, node, caller);
	return obj;
}

/* The next larger size once: what others do there is another lock. Over a heap it is a block. */
static void *take_larger(const struct cache *c, size_t size, gfp_t gfp, int node,
			 const void *caller)
{
	size_t larger = c->engine.object_size + 1;

	if (larger > KMALLOC_MAX_CACHE_SIZE)
		return NULL;
	return take(kmalloc_cache(larger), cache_heap_of(c) ? larger : size, gfp, node, caller);
}

void *kmalloc_try_alloc(size_t size, gfp_t gfp, int node, const void *caller)
{
	struct cache *c = kmalloc_cache(size);
	bool inside = lock_is_inside();
	struct lock_tries tries;
	void *obj;

	if (load_relaxed(&c->front.capacity) && node < 0 && !instrument_pending() &&
	    array_pop_handle(c->handle, &obj))
		return cache_zero(c, cache_unmark(c, obj), gfp);
	if (!lock_may_try())
		return NULL;
	tries = lock_tries_begin();
	retry(inside);
	obj = take(c, size, gfp, node, caller);
	if (!obj)
		obj = take_larger(c, size, gfp, node, caller);
	lock_tries_end(tries);
	return obj;
}
