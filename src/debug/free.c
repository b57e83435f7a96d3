/* SPDX-License-Identifier: MIT */
/*
 * debug/free.c - frees an object to its debug slab (spec 4.13, 7.4)
 *
 * Data:       none of its own.
 * Invariants: an object whose check fails stays in use for ever; nothing else of the slab changes.
 * Locks:      list_lock, for one object; empty slabs are freed without it. Reports are delivered as
 *             soon as it is released.
 * Flow:       called by cache/, and by wrap.c for what a front gives back; calls check.c, slab.c.
 */
#include "debug/report/report.h"
#include "debug/slab.h"
#include "engine/charged.h"
#include "engine/mistake.h"
#include "engine/stats.h"
#include "os/process/die.h"

/*
 * Does the free pointer lie behind what the program asked for, and inside of the object? There it
 * is a part of the red zone while the object is in use.
 */
static bool next_is_red(const struct page *slab, void *obj)
{
	const struct slab_layout *layout = slab->layout;

	return layout->debug & SLAB_RED_ZONE && !debug_freeptr_outside(layout) &&
	       layout->offset + sizeof(void *) > debug_size_asked(slab, obj);
}

/* As Linux 6.1 reports an object that is freed: its free pointer is NULL. Returns the old one. */
static void *detach_next(const struct page *slab, void *obj)
{
	void *next = debug_next_free(slab, obj);

	if (report_shows_taken() && !next_is_red(slab, obj))
		debug_set_next_free(slab, obj, NULL);
	return next;
}

static void report_free_already(struct engine *e, struct page *slab, void *obj)
{
	void *next = detach_next(slab, obj);

	report_object(e, slab, obj, REPORT_FREE_ALREADY);
	debug_set_next_free(slab, obj, next); /* keeps the rest of the list */
}

/* A free pointer that was overwritten is reported only if nothing else is wrong. */
static bool check_detached(struct engine *e, struct page *slab, void *obj)
{
	void *next = detach_next(slab, obj);
	bool damaged = next && !debug_is_object(slab, next);

	if (!debug_check_object(e, slab, obj, RED_ACTIVE))
		return false;
	if (!damaged || !debug_freeptr_outside(slab->layout))
		return true;
	debug_set_next_free(slab, obj, next);
	return debug_check_object(e, slab, obj, RED_ACTIVE);
}

static bool check_free(struct engine *e, struct page *slab, void *obj)
{
	struct slab_counters counters;

	if (!debug_check_slab_locked(e, slab))
		return false;
	counters = engine_counters(slab);
	if (!counters.inuse) {
		report_slab_pointer(e, slab, obj, debug_is_object(slab, obj), REPORT_NONE_IN_USE);
		return false;
	}
	if (!debug_is_object(slab, obj)) {
		report_slab_invalid(e, slab, obj);
		return false;
	}
	if (debug_on_freelist_locked(e, slab, obj)) {
		report_free_already(e, slab, obj);
		return false;
	}
	return check_detached(e, slab, obj);
}

/* Without F: only mistakes that would damage the free list, as far as they are seen at once. */
static bool check_cheaply(struct engine *e, struct page *slab, void *obj)
{
	if (unlikely(!debug_is_object(slab, obj)))
		engine_mistake(e, obj, ENGINE_NO_OBJECT);
	else if (unlikely(obj == slab->freelist || !engine_counters(slab).inuse))
		engine_mistake(e, obj, ENGINE_FREE_AGAIN);
	else
		return true;
	return false;
}

static void give_locked(struct engine *e, struct page *slab, void *obj,
			const struct debug_request *r)
{
	struct slab_counters counters;

	if (slab->layout->debug & SLAB_STORE_USER)
		*debug_track(slab->layout, obj, TRACK_FREE) = r->track;
	if (r->flags & SLAB_TRACE)
		report_trace(e, slab, obj, false);
	debug_fill(slab, obj, RED_INACTIVE);
	debug_set_next_free(slab, obj, slab->freelist);
	slab->freelist = obj;
	counters = engine_counters(slab);
	counters.inuse--;
	engine_set_counters(slab, counters);
	engine_uncharge(e, 1); /* as long as the slab is counted */
}

/*
 * Moves the slab to the list where it belongs now, or adds it to *empty if it is surplus. One that
 * is on no list is isolated, or is being freed already.
 */
static void settle_locked(struct engine *e, struct page *slab, struct page **empty)
{
	bool was_partial = engine_counters(slab).colour == LIST_PARTIAL;

	if (engine_counters(slab).colour == LIST_NONE)
		return;
	if (debug_is_surplus_locked(slab, false)) {
		debug_forget_locked(slab, empty);
		if (was_partial)
			engine_count(e, FREE_REMOVE_PARTIAL);
		return;
	}
	debug_place_locked(slab, true);
	if (!was_partial && engine_counters(slab).colour == LIST_PARTIAL)
		engine_count(e, FREE_ADD_PARTIAL);
}

void debug_free_own(struct engine *e, struct page *slab, void *obj, const void *caller)
{
	struct engine_node *node = debug_node_of(slab);
	struct page *empty = NULL;
	struct debug_request r;
	bool given = true;

	debug_request_init(&r, e, slab->layout, caller, 0);
	engine_count(e, FREE_SLOWPATH);
	lock_acquire(&node->list_lock);
	if (r.flags & SLAB_CONSISTENCY_CHECKS)
		given = check_free(e, slab, obj);
	else if (engine_counters(slab).frozen)
		given = false;
	else
		given = check_cheaply(e, slab, obj);
	if (given)
		give_locked(e, slab, obj, &r);
	else if (r.flags & SLAB_CONSISTENCY_CHECKS)
		report_fix(e, FIX_NOT_FREED, obj);
	settle_locked(e, slab, &empty); /* a check may have repaired the free list */
	lock_release(&node->list_lock);
	report_deliver();
	debug_slab_free_list(e, empty);
}

void debug_free(struct engine *e, void *obj, const void *caller)
{
	struct page *slab = page_head_of(obj);

	if (unlikely(slab->engine != e)) {
		report_wrong_cache(e, slab->engine, obj);
		report_deliver();
	}
	debug_free_own(slab->engine, slab, obj, caller);
}
