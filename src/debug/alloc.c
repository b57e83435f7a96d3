/* SPDX-License-Identifier: MIT */
/*
 * debug/alloc.c - one object out of a debug slab (spec 4.13, 7.3)
 *
 * Data:       none of its own.
 * Invariants: a slab whose check fails is isolated in the same hold of list_lock.
 * Locks:      list_lock, for one object; new slabs are made without it. Reports are delivered each
 *             time it is released, since no list_lock may be taken while the text of a report is
 *             open.
 * Flow:       called by cache/; calls slab.c, check.c, object.c.
 */
#include "base/assert.h"
#include "debug/report/report.h"
#include "debug/slab.h"
#include "engine/charged.h"
#include "engine/mistake.h"
#include "engine/placement.h"
#include "engine/slub/slub.h"
#include "os/cpu/nodes.h"

/*
 * A constructor that writes behind its object damages each new slab: no more than these are tried.
 */
#define MAX_NEW_SLABS 3

static bool check_alloc(struct engine *e, struct page *slab, void *obj)
{
	if (!debug_check_slab_locked(e, slab))
		return false;
	if (!debug_is_object(slab, obj)) {
		report_pointer(e, slab, obj, REPORT_ALLOC_POINTER);
		return false;
	}
	return debug_check_object(e, slab, obj, RED_INACTIVE);
}

static bool links_are_sound(const struct page *slab, void *obj)
{
	void *next = debug_is_object(slab, obj) ? debug_next_free(slab, obj) : obj;

	return likely(next != obj && (!next || debug_is_object(slab, next)));
}

/* Without F: only checks that memory of others is not handed out. */
static bool check_links(struct engine *e, struct page *slab, void *obj)
{
	if (links_are_sound(slab, obj))
		return true;
	engine_mistake(e, page_address(slab), ENGINE_LIST_BROKEN);
	return false;
}

/* Takes obj off the free list. A head that is no object ends the list, and counts as taken. */
static void unlink_locked(struct page *slab, void *obj)
{
	struct slab_counters counters = engine_counters(slab);

	if (debug_is_object(slab, obj))
		slab->freelist = debug_next_free(slab, obj);
	counters.inuse++;
	engine_set_counters(slab, counters);
}

/* The first free object; NULL: a check failed, the slab is isolated. */
static void *take_locked(struct engine *e, struct page *slab, const struct debug_request *r)
{
	bool taken = report_shows_taken();
	void *obj = slab->freelist;

	if (!(r->flags & SLAB_CONSISTENCY_CHECKS) && !check_links(e, slab, obj)) {
		debug_isolate_locked(slab);
		return NULL;
	}
	if (taken)
		unlink_locked(slab, obj);
	if (r->flags & SLAB_CONSISTENCY_CHECKS && !check_alloc(e, slab, obj)) {
		report_fix(e, FIX_ALL_USED, NULL);
		debug_isolate_locked(slab);
		return NULL;
	}
	if (!taken)
		unlink_locked(slab, obj);
	if (slab->layout->debug & SLAB_STORE_USER)
		*debug_track(slab->layout, obj, TRACK_ALLOC) = r->track;
	debug_set_size_asked(slab, obj, r->size);
	if (r->flags & SLAB_TRACE)
		report_trace(e, slab, obj, true);
	debug_fill(slab, obj, RED_ACTIVE);
	debug_place_locked(slab, false);
	return obj;
}

static void *alloc_from_partial(struct engine *e, struct engine_node *node,
				const struct debug_request *r)
{
	void *obj = NULL;

	/* Read without the lock: a slab that is missed here costs at most a new one. */
	if (!load_relaxed(&node->nr_partial))
		return NULL;
	lock_acquire(&node->list_lock);
	while (!obj && !list_empty(&node->partial))
		obj = take_locked(e, list_first(&node->partial, struct page, lru), r);
	lock_release(&node->list_lock);
	report_deliver();
	if (obj)
		engine_count(e, ALLOC_FROM_PARTIAL);
	return obj;
}

/* get_any_partial (spec 4.9), without the random skip, which is for speed. */
static void *alloc_from_others(struct engine *e, unsigned int first, const struct debug_request *r)
{
	const struct debug *d = e->debug;
	void *obj = NULL;

	for (unsigned int i = 1; !obj && i < d->nr_nodes; i++) {
		struct engine_node *node = d->node[os_nodes.order[first][i]];

		if (load_relaxed(&node->nr_partial) > load_relaxed(&d->min_partial))
			obj = alloc_from_partial(e, node, r);
	}
	return obj;
}

static cold void warn_oom(struct engine *e, const struct slab_layout *layout, gfp_t gfp, int node)
{
	const struct debug *d = e->debug;

	if (!slub_say_oom(e, layout, gfp, node))
		return;
	for (unsigned int i = 0; i < d->nr_nodes; i++)
		slub_say_oom_node(i, load_relaxed(&d->node[i]->nr_slabs),
				  load_relaxed(&d->node[i]->total_objects),
				  debug_count_free(d->node[i]));
}

static void *alloc_from_new(struct engine *e, const struct slab_layout *layout, gfp_t gfp, int node,
			    const struct debug_request *r)
{
	struct page *slab;
	struct engine_node *home;
	void *obj = NULL;

	for (unsigned int i = 0; !obj && i < MAX_NEW_SLABS; i++) {
		slab = debug_slab_new(e, layout, gfp, node);
		if (!slab) {
			warn_oom(e, layout, gfp, node);
			return NULL;
		}
		home = debug_node_of(slab);
		lock_acquire(&home->list_lock);
		obj = take_locked(e, slab, r);
		lock_release(&home->list_lock);
		report_deliver();
	}
	return obj;
}

static void *alloc_object(struct engine *e, gfp_t gfp, int node, size_t size, const void *caller)
{
	const struct debug *d = e->debug;
	/* Acquire: pairs with the release in debug_set_flags(), which made the layout. */
	const struct slab_layout *layout = load_acquire(&d->layout);
	struct debug_request r;
	unsigned int first;
	void *obj;

	CHECK(layout);
	if (node >= 0 && (unsigned int)node >= d->nr_nodes)
		node = -1; /* spec 4.8a */
	if (placement_refuses(e, gfp, node))
		return NULL;
	first = placement_search(e, d->nr_nodes, node);
	debug_request_init(&r, e, layout, caller, size);
	engine_count(e, ALLOC_SLOWPATH);
	obj = alloc_from_partial(e, d->node[first], &r);
	if (!obj && node < 0)
		obj = alloc_from_others(e, first, &r);
	return obj ? obj : alloc_from_new(e, layout, gfp, node, &r);
}

void *debug_alloc(struct engine *e, gfp_t gfp, int node, size_t size, const void *caller)
{
	struct engine_charge charge;
	void *obj;

	if (likely(!engine_group(e)))
		return alloc_object(e, gfp, node, size, caller);
	charge = engine_charge_begin(e, 1, gfp & __GFP_NOFAIL);
	if (!charge.nr)
		return NULL;
	obj = alloc_object(e, gfp, node, size, caller);
	engine_charge_end(e, &charge, obj != NULL);
	return obj;
}

/* ---- without waiting ---- */

static struct page *try_new_slab(struct engine *e, const struct slab_layout *layout,
				 unsigned int node)
{
	struct page *slab = engine_try_pages(e, layout, node);

	if (slab)
		debug_slab_open(e, layout, slab);
	return slab;
}

/* A slab that the program damaged is left as it is, for an ordinary call to report. */
static void *try_node(struct engine *e, const struct slab_layout *layout, unsigned int nr,
		      const struct debug_request *r)
{
	struct engine_node *node = e->debug->node[nr];
	struct page *slab;
	void *obj = NULL;

	if (!lock_try(&node->list_lock))
		return NULL;
	slab = list_empty(&node->partial) ? try_new_slab(e, layout, nr)
					  : list_first(&node->partial, struct page, lru);
	if (slab && links_are_sound(slab, slab->freelist))
		obj = take_locked(e, slab, r);
	lock_release(&node->list_lock);
	return obj;
}

static void *try_object(struct engine *e, int node, size_t size, const void *caller)
{
	const struct debug *d = e->debug;
	const struct slab_layout *layout = load_acquire(&d->layout); /* as in debug_alloc() */
	/* no flags: what they ask for at an allocation are checks and messages */
	struct debug_request r = { .size = size };
	unsigned int first = engine_first_node(d->nr_nodes, node);
	void *obj = NULL;

	CHECK(layout);
	if (layout->debug & SLAB_STORE_USER)
		r.track = debug_make_track(caller, false);
	for (unsigned int i = 0; !obj && i < d->nr_nodes; i++)
		obj = try_node(e, layout, (first + i) % d->nr_nodes, &r);
	return obj;
}

void *debug_try_alloc(struct engine *e, int node, size_t size, const void *caller)
{
	struct engine_charge charge;
	void *obj;

	if (likely(!engine_group(e)))
		return try_object(e, node, size, caller);
	charge = engine_charge_begin(e, 1, false);
	if (!charge.nr)
		return NULL;
	obj = try_object(e, node, size, caller);
	engine_charge_end(e, &charge, obj != NULL);
	return obj;
}
