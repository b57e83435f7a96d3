/* SPDX-License-Identifier: MIT */
/*
 * cache/group/hit.h - allocation and free of charged objects that hit the CPU's charged array
 *
 * Why:        docs/adr/0067, docs/adr/0071.
 * Data:       none.
 * Invariants: as long as a cache has another watch bit than WATCH_GROUPS, or its front is closed,
 *             it has no charged arrays (cache/switch.c). So a hit needs no look at either, and none
 *             at locks that its thread may hold: it takes none.
 * Locks:      none.
 * Flow:       included by cache/charged.c and malloc/group.c; calls front/array_charged.h.
 */
#ifndef CACHE_GROUP_HIT_H
#define CACHE_GROUP_HIT_H

#include "cache/group/word.h"
#include "cache/object.h"
#include "engine/place.h"
#include "front/array_charged.h"

/* percpu_charged_handle(), by its handle and flags. */
static always_inline void *group_charged_handle(const struct cache *c)
{
	return (char *)c->handle + (group_has_keys(c) ? USLAB_WINDOW_ACCOUNTS : PERCPU_CHARGED);
}

/* An object for the group of that number; NULL: a miss. */
static always_inline void *group_hit_alloc(struct cache *c, uint32_t id, gfp_t gfp)
{
	void *obj;

	return likely(array_charged_pop(group_charged_handle(c), id, &obj))
		       ? cache_zero(c, cache_unmark(c, obj), gfp)
		       : NULL;
}

/*
 * obj lies in that plain slab of c, and its word is that number, which is 0 with keys only. false:
 * a miss, or no live object starts there; all is as it was.
 */
static always_inline bool group_hit_free(const struct cache *c, const struct page *slab,
					 uint32_t id, void *obj)
{
	unsigned int mark = c->engine.mark;

	if (unlikely(!mark) || unlikely(!engine_starts_object(slab, obj)) ||
	    unlikely(mark_is_set(obj, mark)))
		return false;
	mark_set(obj, mark);	      /* before it is anybody else's */
	if (!id && slab->layout->key) /* it may have no key yet */
		store_relaxed(group_key_of(c, obj), USLAB_KEY_NONE);
	if (likely(array_charged_push(group_charged_handle(c), id, obj)))
		return true;
	mark_clear(obj, mark);
	return false;
}

#endif /* CACHE_GROUP_HIT_H */
