/* SPDX-License-Identifier: MIT */
/*
 * debug/slab.c - a debug slab from its first page to its last, and the lists
 * of a node (spec 4.4, 4.13)
 *
 * Data:       struct page of type SLAB with a debug layout; struct debug_node.
 * Invariants: those of debug/debug.h. A slab that is on no list is private,
 *             retired, or on its way back.
 * Locks:      list_lock where _locked says so; pages are taken and given back without it.
 * Flow:       called by debug/; calls page/pcp.c, check.c.
 */
#include "debug/report/report.h"
#include "debug/slab.h"
#include "os/cpu/cpu.h"
#include "os/memory/policy.h"
#include "page/pcp.h"

/* Pages for a slab: the preferred order, else the smallest that holds an object. */
static struct page *alloc_pages(struct engine *e, const struct slab_layout *layout, gfp_t gfp,
				int node)
{
	bool thisnode = gfp & __GFP_THISNODE;
	unsigned int order = layout->order;
	struct page *page;

	if (node < 0 && os_topology.nr_nodes > 1) /* spec 0.4 */
		node = (int)os_policy_node(os_current_node());
	page = pcp_alloc(node, order, e->page_lists, thisnode);
	if (!page && layout->min_order < order) {
		order = layout->min_order;
		page = pcp_alloc(node, order, e->page_lists, thisnode);
		if (page)
			slub_count(e, ORDER_FALLBACK);
	}
	if (page)
		page->order = (uint8_t)order;
	return page;
}

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

struct page *debug_slab_new(struct engine *e, const struct slab_layout *layout, gfp_t gfp, int node)
{
	struct page *slab = alloc_pages(e, layout, gfp, node);
	struct debug_node *home;
	unsigned int objects;

	if (!slab)
		return NULL;
	slab->lru.next = NULL;
	slab->lru.prev = NULL;
	/* Atomic, because a hit path of front/cpuslab.c may look at pages that were another's. */
	store_relaxed(&slab->engine, e);
	store_relaxed(&slab->layout, layout);
	objects = debug_capacity(slab);
	slab->freelist = make_objects(e, slab, objects);
	debug_set_counters(slab, (struct slab_counters){ .objects = (uint16_t)(objects & 0x7fff),
							 .carved = (uint16_t)objects });
	home = debug_node_of(slab);
	fetch_add(&home->nr_slabs, 1);
	fetch_add(&home->total_objects, objects);
	fetch_add(&home->nr_pages, 1ul << slab->order);
	page_set_block(slab, PAGE_SLAB, 1ul << slab->order);
	slub_count(e, ALLOC_SLAB);
	return slab;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void set_list(struct page *slab, enum debug_list list)
{
	struct slab_counters counters = debug_counters(slab);

	counters.colour = (uint16_t)list;
	debug_set_counters(slab, counters);
}

void debug_unlist_locked(struct page *slab)
{
	struct debug_node *node = debug_node_of(slab);
	unsigned int list = debug_counters(slab).colour;

	if (list == LIST_NONE)
		return;
	list_del(&slab->lru);
	if (list == LIST_PARTIAL)
		store_relaxed(&node->nr_partial, node->nr_partial - 1);
	set_list(slab, LIST_NONE);
}

void debug_place_locked(struct page *slab, bool tail)
{
	struct debug_node *node = debug_node_of(slab);
	bool useful = slab->freelist && slab->layout == load_relaxed(&debug_of_slab(slab)->layout);
	struct slab_counters counters = debug_counters(slab);

	if (counters.frozen || counters.colour == (useful ? LIST_PARTIAL : LIST_FULL))
		return;
	debug_unlist_locked(slab);
	if (!useful) {
		list_add(&slab->lru, &node->full);
		set_list(slab, LIST_FULL);
		return;
	}
	if (tail)
		list_add_tail(&slab->lru, &node->partial);
	else
		list_add(&slab->lru, &node->partial);
	store_relaxed(&node->nr_partial, node->nr_partial + 1);
	set_list(slab, LIST_PARTIAL);
}

/*
 * When nothing is debugged any more, or with another layout, nobody will allocate from it: it goes
 * at once, and so the old slabs drain away.
 */
bool debug_is_surplus_locked(const struct page *slab, bool force)
{
	const struct debug *d = debug_of_slab(slab);
	struct slab_counters counters = debug_counters(slab);

	if (counters.inuse || counters.frozen)
		return false;
	return force || !load_relaxed(&d->flags) || slab->layout != load_relaxed(&d->layout) ||
	       debug_node_of(slab)->nr_partial >= load_relaxed(&d->min_partial);
}

void debug_forget_locked(struct page *slab, struct page **list)
{
	struct debug_node *node = debug_node_of(slab);

	debug_unlist_locked(slab);
	fetch_sub(&node->nr_slabs, 1);
	fetch_sub(&node->total_objects, debug_capacity(slab));
	fetch_sub(&node->nr_pages, 1ul << slab->order);
	slab->next = *list;
	*list = slab;
}

void debug_retire_locked(struct page *slab)
{
	struct slab_counters counters;

	debug_unlist_locked(slab);
	counters = debug_counters(slab);
	counters.inuse = counters.objects;
	counters.frozen = 1;
	debug_set_counters(slab, counters);
	slab->freelist = NULL;
}

/* The last look at an empty slab: everything in it should be as a free object leaves it. */
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
		slub_count(e, FREE_SLAB);
		pcp_free(slab, slab->order, e->page_lists);
	}
}
