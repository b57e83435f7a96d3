/* SPDX-License-Identifier: MIT */
/*
 * cache/object.h - one object out of line, for those who do it often: kmem_cache_alloc(), kmalloc(), kfree()
 *
 * Data:       none.
 * Invariants: __GFP_ZERO clears object_size bytes, the largest of all merged users (spec 5.9).
 * Locks:      none held here.
 * Flow:       included by alloc.c, free.c, kmalloc.c and watch.c; calls the front. Whatever is rare is in these.
 *
 * Fronts other than arrays serve every call from here. So what is asked each time is three words: has a tool
 * left a command, does somebody listen to the probes of objects, is this cache watched.
 */
#ifndef CACHE_OBJECT_H
#define CACHE_OBJECT_H

#include <string.h>

#include "base/atomic.h"
#include "cache/friends.h"
#include "cache/internal.h"

/* watch: the bits that matter. */
static always_inline bool cache_is_attended(const struct cache *c, unsigned int watch)
{
	return unlikely(cache_is_called()) ||
	       unlikely(load_acquire(&c->watch) & watch); /* pairs with set_watch() */
}

/* ---- alloc.c: cache_is_attended(), or memory is short ---- */
void *cache_alloc_attended(struct cache *c, gfp_t gfp, int node, size_t size, const void *caller);
cold void *cache_alloc_again(struct cache *c, gfp_t gfp, int node);

/* ---- free.c ---- */
void cache_free_attended(struct cache *c, void *obj, const void *caller);
cold _Noreturn void cache_die_no_object(const struct cache *c, const void *p, const void *caller);

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

	return likely(obj) ? cache_zero(c, obj, gfp) : cache_alloc_again(c, gfp, node);
}

static always_inline void *cache_take(struct cache *c, gfp_t gfp, int node, size_t size,
				      const void *caller)
{
	if (cache_is_attended(c, WATCH_ALLOC))
		return cache_alloc_attended(c, gfp, node, size, caller);
	return cache_take_plain(c, gfp, node);
}

/* Neither an object of uslab nor anything in one can be there. */
static always_inline bool cache_is_no_object(const void *p)
{
	return unlikely(!page_in_arena(p)) || unlikely((uintptr_t)p % sizeof(void *));
}

/* To the front. known: obj lies in a slab of c. Else it is looked at, always: wherever a call is no hit. */
static always_inline void cache_give_plain(struct cache *c, void *obj, const void *caller,
					   bool known)
{
	if (known ? unlikely((uintptr_t)obj % sizeof(void *)) : cache_is_no_object(obj))
		cache_die_no_object(c, obj, caller);
	c->front.ops->free(&c->front, obj);
}

static always_inline void cache_give(struct cache *c, void *obj, const void *caller, bool known)
{
	if (cache_is_attended(c, ~0u))
		cache_free_attended(c, obj, caller);
	else
		cache_give_plain(c, obj, caller, known);
}

#endif /* CACHE_OBJECT_H */
