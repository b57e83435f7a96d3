/* SPDX-License-Identifier: MIT */
/*
 * cache/direct.c - objects that come from the fullest slab and go to their slab at once, for a
 * program that moves them by itself
 *
 * Why:        docs/adr/0060.
 * Data:       none.
 * Invariants: those of object.h. The front is passed by: what it holds is of any slab.
 * Locks:      none held here.
 * Flow:       called by api/mobility_api.c and malloc/direct.c; calls the engine's refill, flush
 *             and evacuation, cache/group/. Caches with other watch bits than those of groups, and
 *             nested calls, take the ordinary ways.
 */
#include "cache/object.h"

#include <limits.h>

#include "cache/group/group.h"
#include "engine/evacuation.h"
#include "engine/nodes.h"
#include "engine/placement.h"
#include "os/cpu/cpu.h"

/* What a cache has of which objects are charged, and no more: these come past the front as well. */
#define CHARGED ((unsigned int)(WATCH_GROUPS | WATCH_WORDS | WATCH_PAST_FRONT))

/*
 * Page far, of an engine that says what should move, and if direct calls go past the front: else
 * what is freed far up is handed out next.
 */
static unsigned long far_for(const struct engine *e)
{
	const struct engine_evacuation *ops = e->ops->evacuation;
	const struct cache *c = container_of(e, struct cache, engine);

	/* objects of a group's cache are taken as limits allow: not by what is for moves */
	if (!ops || !ops->is_sparse || cache_is_watched(c, WATCH_ALLOC & ~CHARGED) ||
	    engine_group(e))
		return ULONG_MAX;
	return engine_far(e, 0);
}

/*
 * Of a partial slab, of those below page far if there is one; whatever CPU takes from it: a slab of
 * this CPU's alone may be the one that the object is to leave.
 */
static bool take_partial(struct engine *e, void **obj)
{
	const struct engine_evacuation *ops = e->ops->evacuation;
	unsigned long far = far_for(e);
	unsigned int node = placement_search(e, os_topology.nr_nodes, NUMA_NO_NODE);

	if (unlikely(far != ULONG_MAX) && ops->take(e, 0, obj, 1, far, true))
		return true;
	return e->lanes && ops && ops->take(e, node, obj, 1, ULONG_MAX, false);
}

/* Of partial slabs, but not of those far up, before new ones. */
static bool take(struct cache *c, gfp_t gfp, void **obj)
{
	struct engine *e = &c->engine;

	return take_partial(e, obj) || e->ops->refill(e, obj, 1, gfp | __GFP_NOWARN, NUMA_NO_NODE);
}

/* NULL: the group may have no more, and the object is back. */
static void *charge(struct cache *c, gfp_t gfp, size_t size, void *obj, const void *caller)
{
	uint32_t id = group_for(c, gfp);
	enum group_added added = id ? group_add(id, c, obj, group_charge_of(gfp)) : GROUP_ADDED;

	if (likely(added == GROUP_ADDED))
		return obj;
	cache_free_direct(c, obj, caller);
	return added == GROUP_ABOUT_TO_MOVE ? cache_alloc_direct(c, gfp, size, caller) : NULL;
}

void *cache_alloc_direct(struct cache *c, gfp_t gfp, size_t size, const void *caller)
{
	void *obj;

	if (unlikely(!lock_is_plain()) || cache_is_watched(c, WATCH_ALLOC & ~CHARGED) ||
	    unlikely(!take(c, gfp, &obj)))
		return cache_alloc_for(c, gfp, NUMA_NO_NODE, size, caller);
	return charge(c, gfp, size, cache_zero(c, cache_unmark(c, obj), gfp), caller);
}

void cache_free_direct(struct cache *c, void *obj, const void *caller)
{
	if (unlikely(!lock_is_plain()) || cache_is_watched(c, ~CHARGED)) {
		cache_free_for(c, obj, caller);
	} else if (cache_receive(c, obj, caller)) {
		group_drop(c, obj);
		c->engine.ops->flush(&c->engine, &obj, 1);
	}
}

bool cache_should_move(const void *p)
{
	struct page *slab = page_slab_of(p);
	const struct engine_evacuation *ops;

	if (!slab || slab->layout->kind != LAYOUT_PLAIN)
		return false;
	ops = slab->engine->ops->evacuation;
	return ops && ops->is_sparse && ops->is_sparse(slab->engine, slab, far_for(slab->engine));
}
