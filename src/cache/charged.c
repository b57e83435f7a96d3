/* SPDX-License-Identifier: MIT */
/*
 * cache/charged.c - allocation and free of objects that are charged, where nothing else is wanted
 *
 * Why:        docs/adr/0061, docs/adr/0067, docs/adr/0071.
 * Data:       none.
 * Invariants: as cache/group/object.c. Objects of a cache that has no other watch bit lie in plain
 *             slabs.
 * Locks:      none on a hit, see cache/group/charge.c.
 * Flow:       called by alloc.c, free.c, watch.c and malloc/group.c; calls group/hit.h,
 *             charge_hit.h, the front; cache/group/ for what is rare.
 *
 * A hit: an object of the CPU's charged array (cache/group/array.c), if that is the group's. A
 * free into it, if it is of the group that the object's word says, which is found by three loads.
 * Where there is no such array: bytes from the CPU's stock, an object from the CPU's array, and the
 * number of the group into the object's word. A free: the same, backwards.
 */
#include "cache/group/charge_hit.h"
#include "cache/group/hit.h"
#include "cache/object.h"
#include "debug/report/report.h"
#include "front/array.h"
#include "os/cpu/cpu.h"

static always_inline void *take(struct cache *c, gfp_t gfp, int node)
{
	void *obj;

	if (likely(load_relaxed(&c->front.capacity) && node < 0 && percpu_rseq) &&
	    likely(array_pop_handle(percpu_word_handle(c->front.id), &obj)))
		return cache_zero(c, cache_unmark(c, obj), gfp);
	return cache_take_plain(c, gfp, node);
}

/*
 * What was charged for an object that gets no word is taken back, and the object, if any, freed. If
 * it was about to move another one is allocated.
 */
static cold void *without_word(struct cache *c, uint32_t id, void *obj, gfp_t gfp, int node,
			       enum group_added added)
{
	if (id)
		group_uncharge(id, c->engine.size);
	if (!obj)
		return NULL;
	cache_free_for(c, obj, NULL);
	return added == GROUP_ABOUT_TO_MOVE ? group_cache_alloc(c, gfp, node) : NULL;
}

/* Charged by itself. */
static always_inline void *alloc_one(struct cache *c, uint32_t id, gfp_t gfp, int node)
{
	enum group_added added = GROUP_NOT_ADDED;
	size_t bytes = c->engine.size;
	void *obj;

	if (id && unlikely(!stock_take(id, bytes)))
		id = group_charge_slow(id, bytes, group_charge_of(gfp));
	if (unlikely(id == GROUP_REFUSED))
		return NULL;
	obj = take(c, gfp, node);
	if (likely(obj))
		added = id || group_has_keys(c) ? group_set_last_word(c, obj, id) : GROUP_ADDED;
	return likely(added == GROUP_ADDED) ? obj : without_word(c, id, obj, gfp, node, added);
}

/* Of a front with arrays, but not by a hit. */
static noinline void *alloc_slow(struct cache *c, uint32_t id, gfp_t gfp, int node)
{
	void *obj = group_array_alloc(c, id, gfp);

	return obj ? cache_zero(c, cache_unmark(c, obj), gfp) : alloc_one(c, id, gfp, node);
}

void *group_cache_alloc(struct cache *c, gfp_t gfp, int node)
{
	uint32_t id = group_for(c, gfp);
	void *obj;

	if (unlikely(!id) && likely(!group_has_keys(c)))
		return take(c, gfp, node);
	if (!front_has_arrays(&c->front) || (unlikely(node >= 0) && os_topology.nr_nodes > 1))
		return alloc_one(c, id, gfp, node);
	obj = group_hit_alloc(c, id, gfp);
	return likely(obj) ? obj : alloc_slow(c, id, gfp, node);
}

/* To the CPU's array, or whatever the front has. */
static always_inline void give(struct cache *c, void *obj)
{
	if (unlikely(!load_relaxed(&c->front.capacity) || !percpu_rseq ||
		     !array_push_handle(percpu_word_handle(c->front.id), obj)))
		c->front.ops->free(&c->front, obj);
}

static always_inline void uncharge_one(struct cache *c, uint32_t id, uint32_t *word)
{
	if (likely(xchg(word, GROUP_NONE)) && unlikely(!stock_give(id, c->engine.size)))
		group_uncharge_slow(id, c->engine.size);
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

/* Mark and key are a right red zone that nobody checks but for this. */
static cold void report_overflow(struct cache *c, struct page *slab, void *obj)
{
	uint32_t *mark = mark_of(obj, c->engine.mark);
	const char *first = (const char *)mark;

	report_bytes(&c->engine, slab, obj, AREA_RIGHT_REDZONE, first,
		     first + (*mark ? sizeof(*mark) : sizeof(uint64_t)) - 1, 0);
	report_deliver();
	*mark = 0;
}

/*
 * The number of the group. If the mark is neither 0 nor one, or the key none, the program wrote
 * behind the object. That is said; what has no key any more stays charged.
 */
static always_inline uint32_t look_at_key(struct cache *c, struct page *slab, void *obj,
					  uint32_t key)
{
	uint32_t mark = load_relaxed(mark_of(obj, c->engine.mark));
	uint32_t id = group_of_key(key);

	if (unlikely(mark && mark != (uint32_t)(uintptr_t)obj) ||
	    unlikely(key && key != group_key(id)))
		if (slab->layout->key && slab->engine == &c->engine)
			report_overflow(c, slab, obj);
	return id;
}

void group_cache_free(struct cache *c, void *obj, const void *caller)
{
	struct page *slab = page_slab_of(obj);
	const bool keyed = group_has_keys(c);
	uint32_t *word;
	uint32_t id;

	if (unlikely(!slab)) {
		cache_give_wrong(c, obj, caller);
		return;
	}
	if (keyed && unlikely(!engine_starts_object(slab, obj))) { /* no key is there */
		cache_give_wrong(c, obj, caller);
		return;
	}
	word = group_word_of(slab, obj);
	id = likely(word) ? load_relaxed(word) : GROUP_NONE;
	if (unlikely(id == GROUP_MOVES)) {
		cmpxchg(word, GROUP_MOVES, GROUP_NONE);
		id = GROUP_NONE;
	}
	if (keyed)
		id = look_at_key(c, slab, obj, id);
	if ((id || keyed) && front_has_arrays(&c->front) && likely(slab->engine == &c->engine) &&
	    likely(group_hit_free(c, slab, id, obj)))
		return;
	if (unlikely(!receive(c, slab, obj, caller)))
		return;
	/* a hit without a mark to look at: hardened caches */
	if ((id || keyed) && front_has_arrays(&c->front) &&
	    (array_charged_push(group_charged_handle(c), id, obj) || group_array_free(c, id, obj)))
		return;
	if (id)
		uncharge_one(c, id, word);
	give(c, obj);
}
