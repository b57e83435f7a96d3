/* SPDX-License-Identifier: MIT */
/*
 * debug/slab.c - makes and frees debug slabs, and has the lists of a node (spec 4.4, 4.13)
 *
 * Data:       struct page of type SLAB with a debug layout; struct engine_node.
 * Invariants: those of debug/debug.h. A slab that is on no list is private, isolated, or being
 *             freed.
 * Locks:      list_lock where _locked says so; pages are allocated and freed without it.
 * Flow:       called by debug/; calls page/pcp.c, check.c.
 */
#include "debug/report/report.h"
#include "debug/slab.h"
#include "engine/placement.h"
#include "engine/stats.h"
#include "engine/typesafe.h"

/* Fills, constructs and links all objects, ascending. Returns the first. */
static void *make_objects(struct engine *e, const struct page *slab, unsigned int objects)
{
	const struct slab_layout *layout = slab->layout;
	void *next = NULL;

	if (layout->debug & SLAB_POISON)
		memset(page_address(slab), POISON_INUSE, PAGE_SIZE << slab->order);
	for (unsigned int i = objects; i-- > 0;) {
		void *obj = debug_object(slab, i);

		debug_fill(slab, obj, RED_INACTIVE);
		if (layout->debug & SLAB_STORE_USER)
			memset(debug_track(layout, obj, TRACK_ALLOC), 0, 2 * sizeof(struct track));
		if (e->ctor)
			e->ctor(obj);
		debug_set_next_free(slab, obj, next);
		next = obj;
	}
	return next;
}

void debug_slab_open(struct engine *e, const struct slab_layout *layout, struct page *slab)
{
	unsigned int objects;

	engine_own_pages(e, slab, layout);
	objects = debug_capacity(slab);
	slab->freelist = make_objects(e, slab, objects);
	engine_set_counters(slab, (struct slab_counters){ .objects = (uint16_t)(objects & 0x7fff),
							  .formatted = (uint16_t)objects });
	engine_node_add(debug_node_of(slab), objects, 1ul << slab->order);
	page_set_block(slab, PAGE_SLAB, 1ul << slab->order);
	engine_count(e, ALLOC_SLAB);
}

struct page *debug_slab_new(struct engine *e, const struct slab_layout *layout, gfp_t gfp, int node)
{
	struct page *slab;

	while ((slab = engine_get_pages(e, layout, gfp, node))) {
		debug_slab_open(e, layout, slab);
		if (likely(placement_keeps(e, slab)))
			return slab;
		engine_node_sub(debug_node_of(slab), debug_capacity(slab), 1ul << slab->order);
		slab->next = NULL;
		debug_slab_free_list(e, slab);
	}
	return NULL;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void set_list(struct page *slab, enum debug_list list)
{
	struct slab_counters counters = engine_counters(slab);

	counters.colour = (uint16_t)list;
	engine_set_counters(slab, counters);
}

void debug_unlist_locked(struct page *slab)
{
	unsigned int list = engine_counters(slab).colour;

	if (list == LIST_NONE)
		return;
	if (list == LIST_PARTIAL)
		engine_node_remove_partial_locked(debug_node_of(slab), slab);
	else
		list_del(&slab->lru);
	set_list(slab, LIST_NONE);
}

void debug_place_locked(struct page *slab, bool tail)
{
	struct engine_node *node = debug_node_of(slab);
	bool useful = slab->freelist && slab->layout == load_relaxed(&debug_of_slab(slab)->layout);
	struct slab_counters counters = engine_counters(slab);

	if (counters.frozen || counters.colour == (useful ? LIST_PARTIAL : LIST_FULL))
		return;
	debug_unlist_locked(slab);
	if (!useful) {
		list_add(&slab->lru, &node->full);
		set_list(slab, LIST_FULL);
		return;
	}
	engine_node_add_partial_locked(node, slab, tail);
	set_list(slab, LIST_PARTIAL);
}

/*
 * If the debug flags are off by now, or the layout is an old one, nothing is allocated from the
 * slab any more: it is freed as soon as it is empty.
 */
bool debug_is_surplus_locked(const struct page *slab, bool force)
{
	const struct debug *d = debug_of_slab(slab);
	struct slab_counters counters = engine_counters(slab);

	if (counters.inuse || counters.frozen)
		return false;
	return force || !load_relaxed(&d->flags) || slab->layout != load_relaxed(&d->layout) ||
	       debug_node_of(slab)->nr_partial >= load_relaxed(&d->min_partial);
}

void debug_forget_locked(struct page *slab, struct page **list)
{
	debug_unlist_locked(slab);
	engine_node_sub(debug_node_of(slab), debug_capacity(slab), 1ul << slab->order);
	slab->next = *list;
	*list = slab;
}

void debug_isolate_locked(struct page *slab)
{
	struct slab_counters counters;

	debug_unlist_locked(slab);
	counters = engine_counters(slab);
	counters.inuse = counters.objects;
	counters.frozen = 1;
	engine_set_counters(slab, counters);
	slab->freelist = NULL;
}

/* The last check of an empty slab: all of its objects should be poisoned. */
static void check_all(struct engine *e, struct page *slab)
{
	unsigned int objects = debug_capacity(slab);

	debug_check_pad(e, slab);
	for (unsigned int i = 0; i < objects; i++)
		debug_check_object(e, slab, debug_object(slab, i), RED_INACTIVE);
	report_deliver();
}

void debug_slab_free_list(struct engine *e, struct page *slabs)
{
	while (slabs) {
		struct page *slab = slabs;

		slabs = slab->next;
		if (load_relaxed(&e->debug->flags) & SLAB_CONSISTENCY_CHECKS)
			check_all(e, slab);
		engine_count(e, FREE_SLAB);
		if (unlikely(e->dtor))
			engine_destruct_slab(e, debug_object(slab, 0), slab->layout->stride,
					     debug_capacity(slab));
		engine_free_pages(e, slab);
	}
}
