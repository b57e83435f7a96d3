/* SPDX-License-Identifier: MIT */
/*
 * cache/group/hit.h - allocation and free of charged objects that hit the CPU's charged array
 *
 * Why:        docs/adr/0067.
 * Data:       none.
 * Invariants: as long as a cache has another watch bit than WATCH_GROUPS, or its front is closed, it
 *             has no charged arrays (cache/switch.c). So a hit needs no look at either, and none at
 *             locks that its thread may hold: it takes none.
 * Locks:      none.
 * Flow:       included by cache/charged.c, api/cache_api.c and malloc/group.c; calls
 *             front/array_charged.h.
 */
#ifndef CACHE_GROUP_HIT_H
#define CACHE_GROUP_HIT_H

#include "cache/group/word.h"
#include "cache/object.h"
#include "engine/place.h"
#include "front/array_charged.h"

/* An object for the group of that number; NULL: a miss. */
static always_inline void *group_hit_alloc(struct cache *c, uint32_t id, gfp_t gfp)
{
	void *obj;

	return likely(array_charged_pop(c->front.id, id, &obj))
		       ? cache_zero(c, cache_unmark(c, obj), gfp)
		       : NULL;
}

/* obj lies in that plain slab. false: a miss, or no live object that is charged; all is as it was. */
static always_inline bool group_hit_free(const struct page *slab, void *obj)
{
	const struct cache *c = container_of(slab->engine, struct cache, engine);
	uint32_t *word = group_word_of(slab, obj);
	uint32_t id = likely(word) ? load_relaxed(word) : GROUP_NONE;
	unsigned int mark = c->engine.mark;

	if (unlikely(!id) || unlikely(!mark) || unlikely(!engine_starts_object(slab, obj)) ||
	    unlikely(mark_is_set(obj, mark)))
		return false;
	mark_set(obj, mark); /* before it is anybody else's */
	if (likely(array_charged_push(c->front.id, id, obj)))
		return true;
	mark_clear(obj, mark);
	return false;
}

#endif /* CACHE_GROUP_HIT_H */
