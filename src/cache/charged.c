/* SPDX-License-Identifier: MIT */
/*
 * cache/charged.c - allocation and free of objects that are charged, where nothing else is wanted
 *
 * Why:        docs/adr/0061.
 * Data:       none.
 * Invariants: as cache/group/object.c. Objects of a cache that has no other watch bit lie in plain
 *             slabs.
 * Locks:      none on a hit, see cache/group/charge.c.
 * Flow:       called by alloc.c, free.c, watch.c and malloc/group.c; calls charge_hit.h, the front;
 *             cache/group/ for what is rare.
 *
 * A hit: bytes from the CPU's stock, an object from the CPU's array, and the number of the group
 * into the object's word, which is found by three loads. A free: the same, backwards.
 */
#include "cache/extension.h"
#include "cache/group/charge_hit.h"
#include "cache/object.h"
#include "front/array.h"

/* Where the object's word is if its slab has such words already; else NULL. */
static always_inline uint32_t *word_of(const struct page *slab, const void *obj)
{
	return page_ext_look(PAGE_EXT_GROUPS, slab, ext_index(slab, obj));
}

/* The first of its slab. false: there is no memory for words. */
static noinline bool set_first_word(struct cache *c, const void *obj, uint32_t id)
{
	struct ext_place place = ext_find(PAGE_EXT_GROUPS, c, obj, true);

	if (place.word)
		store_relaxed(place.word, id);
	return place.word;
}

static always_inline bool set_word(struct cache *c, const void *obj, uint32_t id)
{
	uint32_t *word = word_of(page_head_unchecked(obj), obj);

	if (unlikely(!word))
		return set_first_word(c, obj, id);
	store_relaxed(word, id);
	return true;
}

static always_inline void *take(struct cache *c, gfp_t gfp, int node)
{
	void *obj;

	if (likely(load_relaxed(&c->front.capacity) && node < 0 && percpu_rseq) &&
	    likely(array_pop_handle(percpu_word_handle(c->front.id), &obj)))
		return cache_zero(c, cache_unmark(c, obj), gfp);
	return cache_take_plain(c, gfp, node);
}

void *group_cache_alloc(struct cache *c, gfp_t gfp, int node)
{
	uint32_t id = group_for(c, gfp);
	size_t bytes = c->engine.size;
	void *obj;

	if (unlikely(!id))
		return take(c, gfp, node);
	if (unlikely(!stock_take(id, bytes)))
		id = group_charge_slow(id, bytes, group_charge_of(gfp));
	if (unlikely(id == GROUP_REFUSED))
		return NULL;
	obj = take(c, gfp, node);
	if (likely(obj && (!id || set_word(c, obj, id))))
		return obj;
	if (id)
		group_uncharge(id, bytes);
	if (obj)
		cache_free_for(c, obj, NULL);
	return NULL;
}

/* As cache_receive(), of what is known to lie in that plain slab. */
static always_inline bool receive(struct cache *c, const struct page *slab, void *obj,
				  const void *caller)
{
	unsigned int mark = c->engine.mark;

	if (unlikely(!mark || slab->engine != &c->engine || !engine_starts_object(slab, obj) ||
		     mark_is_set(obj, mark)))
		return cache_receive(c, obj, caller);
	mark_set(obj, mark);
	return true;
}

/* To the CPU's array, or whatever the front has. */
static always_inline void give(struct cache *c, void *obj)
{
	if (unlikely(!load_relaxed(&c->front.capacity) || !percpu_rseq ||
		     !array_push_handle(percpu_word_handle(c->front.id), obj)))
		c->front.ops->free(&c->front, obj);
}

void group_cache_free(struct cache *c, void *obj, const void *caller)
{
	const struct page *slab = page_slab_of(obj);
	uint32_t *word;
	uint32_t id;

	if (unlikely(!slab)) {
		cache_give_wrong(c, obj, caller);
		return;
	}
	if (unlikely(!receive(c, slab, obj, caller)))
		return;
	word = word_of(slab, obj);
	id = likely(word) ? load_relaxed(word) : GROUP_NONE;
	if (likely(id) && likely(xchg(word, GROUP_NONE)) &&
	    unlikely(!stock_give(id, c->engine.size)))
		group_uncharge_slow(id, c->engine.size);
	give(c, obj);
}
