/* SPDX-License-Identifier: MIT */
/*
 * cache/mobility/evacuate.c - moves the objects of one slab to fuller ones
 *
 * Why:        docs/adr/0060.
 * Data:       struct mobility_run of the caller.
 * Invariants: the slab hands out no object meanwhile, and its memory stays; the front of its cache
 *             is closed, so that an object which is freed is in the slab again at once, and is not
 *             allocated anew.
 * Locks:      none held here; functions of the program run without any.
 * Flow:       called by choice.c and defrag.c; calls live.c, watch.c, profile.c and group/, the
 *             engine's take.
 *
 * What may happen to an object while its slab is emptied, and what is done:
 *   it is free, and a front or a lent sheaf     by its mark (or its bit, if hardened), or by the
 *   has it still, in a call that is under way   sheaves: it is left out, and so is its slab
 *   it is freed before, while, or after the     the program's function finds that out under the
 *   program's function looks at it              program's own lock, and refuses; its memory is
 *                                               there, and nobody else has it
 *   its allocation has not returned yet         the same: nothing leads to it as yet. If it is to
 *                                               be charged to a group after we looked, the
 *                                               allocating thread gives it up (group_hold())
 */
#include <string.h>

#include "base/bits.h"
#include "cache/group/group.h"
#include "cache/lent.h"
#include "cache/live.h"
#include "cache/mobility/mobility.h"
#include "cache/object.h"
#include "cache/profile/profile.h"
#include "os/time/clock.h"

#define BATCH 64 /* objects that isolate and migrate get at once */

/* All of one group: the program's function runs in that, and new ones are charged to it. */
struct batch {
	void *objs[BATCH]; /* the program takes out what it refuses */
	void *held[BATCH]; /* the same, while they are the program's to migrate */
	int nr;
	uint32_t group;
};

bool mobility_is_late(const struct mobility_run *r)
{
	return unlikely(load_relaxed(&r->m->replaced)) ||
	       (r->end_us && r->has_begun && os_clock_us() >= r->end_us);
}

/* The program may be writing to a live object: whatever is read then is hardly the mark. */
__attribute__((no_sanitize("thread"))) static noinline bool has_mark(const void *obj,
								     unsigned int mark)
{
	return *(volatile uint32_t *)mark_of(obj, mark) == (uint32_t)(uintptr_t)obj;
}

static bool is_free(const struct mobility_run *r, const void *obj)
{
	unsigned int mark = r->c->engine.mark;

	if (mark ? has_mark(obj, mark) : used_are_kept() && !used_is_set(obj))
		return true;
	return unlikely(r->has_lent) && lent_holds(obj);
}

/* The next object that seems to be in use; NULL: there is none. */
static void *next_live(const struct mobility_run *r, const struct live_objects *live,
		       unsigned int *i)
{
	void *obj;

	do
		obj = live_next(live, i);
	while (obj && is_free(r, obj));
	return obj;
}

/* ---- where they go ---- */

static unsigned int count_wanted(const struct mobility_run *r)
{
	unsigned int wanted = 0;

	for (unsigned int i = 0; i < r->m->set.nr; i++)
		wanted += engine_counters(r->m->set.slab[i]).inuse;
	return CLAMP(wanted, 1u, (unsigned int)MOBILITY_SPARES);
}

/*
 * Twice as many each time, but no more than there are objects to move: those that are left over
 * have to be given back, and their slab moves to the tail of the list then, to be looked at next.
 */
static bool get_spares(struct mobility_run *r)
{
	if (r->nr_spares)
		return true;
	r->nr_taken = MIN(MAX(2 * r->nr_taken, 1u), count_wanted(r));
	r->nr_spares = r->ops->take(&r->c->engine, r->node, r->spare, r->nr_taken, r->m->round.far,
				    r->grows);
	if (!r->nr_spares)
		return false;
	r->m->round.target = page_head_of(r->spare[r->nr_spares - 1]);
	return true;
}

/* An object for the program. NULL: there is none. */
static void *get_fresh(struct mobility_run *r)
{
	const void *caller = __builtin_return_address(0);

	if (r->fresh)
		return r->fresh;
	instrument_enter();
	if (get_spares(r)) {
		r->fresh = r->spare[--r->nr_spares];
		cache_hand_out_sized(r->c, 0, 0, r->fresh);
	}
	instrument_leave();
	if (r->fresh)
		instrument_alloc(r->c, r->fresh, 0, 0, NUMA_NO_NODE, caller);
	return r->fresh;
}

void mobility_give_spares(struct mobility_run *r)
{
	if (r->fresh)
		cache_free_watched(r->c, r->fresh, __builtin_return_address(0));
	r->fresh = NULL;
	instrument_enter();
	if (r->nr_spares) {
		r->m->round.target = page_head_of(r->spare[r->nr_spares - 1]);
		r->c->engine.ops->flush(&r->c->engine, r->spare, r->nr_spares);
	}
	instrument_leave();
	r->nr_spares = 0;
}

/* ---- one by one, by move ---- */

/*
 * Both count for its call site and its group while it is not known which of them is freed. Before
 * the move: as soon as the program can find the new object, any thread may free it. false: there is
 * no memory for that.
 */
static bool count_copy(struct mobility_run *r, const void *obj, uint32_t group)
{
	profile_copy(r->c, obj, r->fresh);
	return !group || group_copy(r->c, obj, r->fresh);
}

static void uncount_copy(struct mobility_run *r)
{
	profile_drop(r->c, r->fresh);
	group_drop(r->c, r->fresh);
}

/* false: the program refuses, or there is no memory. */
static bool move_to_fresh(struct mobility_run *r, void *obj)
{
	const struct mobility_functions *functions = &r->m->used;
	uint32_t group = group_hold(r->c, obj);
	bool moved = count_copy(r, obj, group) &&
		     functions->move(obj, r->fresh, functions->arg) == 0;

	if (!moved)
		uncount_copy(r);
	group_let_go(r->c, obj);
	return moved;
}

static void move_one(struct mobility_run *r, void *obj)
{
	const struct mobility_functions *functions = &r->m->used;
	struct mobility_counters *counters = &r->m->counters;

	if (!move_to_fresh(r, obj)) {
		store_relaxed(&counters->refused, counters->refused + 1);
		return;
	}
	store_relaxed(&counters->moved, counters->moved + 1);
	r->fresh = NULL;
	cache_free_watched(r->c, obj, (const void *)(uintptr_t)functions->move);
}

static enum mobility_result move_all(struct mobility_run *r, const struct live_objects *live)
{
	unsigned int i = 0;
	void *obj;

	while ((obj = next_live(r, live, &i))) {
		if (mobility_is_late(r))
			return MOBILITY_LATE;
		r->has_begun = true;
		r->has_tried = true;
		if (!get_fresh(r))
			return MOBILITY_NO_SPACE;
		move_one(r, obj);
	}
	return MOBILITY_DONE;
}

/* ---- many at once, by isolate and migrate ---- */

static unsigned int count_live(const struct page *slab)
{
	return engine_counters(slab).inuse;
}

/* What is not in use any more was moved, or freed by others. */
static void migrate(struct mobility_run *r, struct page *slab, struct batch *batch)
{
	const struct mobility_functions *functions = &r->m->used;
	struct mobility_counters *counters = &r->m->counters;
	struct kmem_cache *s = r->c->handle;
	unsigned int before = count_live(slab);
	void *private = NULL;
	unsigned int moved;

	if (functions->isolate)
	private = functions->isolate(s, batch->objs, batch->nr);
	functions->migrate(s, batch->objs, batch->nr, (int)r->node, private);
	moved = MIN(before - MIN(count_live(slab), before), (unsigned int)batch->nr);
	store_relaxed(&counters->moved, counters->moved + moved);
	store_relaxed(&counters->refused, counters->refused + (unsigned int)batch->nr - moved);
}

/* What has another group by now was freed, or its allocation is under way: it is left out. */
static void hold_batch(struct mobility_run *r, struct batch *batch)
{
	int held = 0;

	for (int i = 0; i < batch->nr; i++) {
		void *obj = batch->objs[i];

		if (likely(group_hold(r->c, obj) == batch->group))
			batch->objs[held++] = obj;
		else
			group_let_go(r->c, obj);
	}
	batch->nr = held;
	memcpy(batch->held, batch->objs, (size_t)held * sizeof(*batch->held));
}

static void let_go_of_batch(struct mobility_run *r, struct batch *batch)
{
	while (batch->nr)
		group_let_go(r->c, batch->held[--batch->nr]);
}

static enum mobility_result migrate_batch(struct mobility_run *r, struct page *slab,
					  struct batch *batch)
{
	if (mobility_is_late(r))
		return MOBILITY_LATE;
	r->has_begun = true;
	r->has_tried = true;
	if (!r->ops->listed(&r->c->engine, r->node)) /* it would get a new slab */
		return MOBILITY_NO_SPACE;
	hold_batch(r, batch);
	group_visit(r->c, batch->group, batch->objs, batch->nr);
	if (batch->nr)
		migrate(r, slab, batch);
	group_return();
	let_go_of_batch(r, batch);
	return MOBILITY_DONE;
}

static enum mobility_result migrate_all(struct mobility_run *r, struct page *slab,
					const struct live_objects *live)
{
	struct batch batch = { .nr = 0 };
	unsigned int i = 0;

	for (;;) {
		void *obj = next_live(r, live, &i);
		uint32_t group = obj ? group_of(r->c, obj) : GROUP_NONE;

		if (batch.nr && (!obj || batch.nr == BATCH || batch.group != group)) {
			enum mobility_result result = migrate_batch(r, slab, &batch);

			if (result != MOBILITY_DONE)
				return result;
		}
		if (!obj)
			return MOBILITY_DONE;
		batch.group = group;
		batch.objs[batch.nr++] = obj;
	}
}

enum mobility_result mobility_empty(struct mobility_run *r, struct page *slab)
{
	struct live_objects live;

	r->grows = r->m->round.low || evacuation_index(slab) >= r->m->round.far;
	r->has_tried = false;
	instrument_enter();
	live_read(r->c, slab, &live);
	instrument_leave();
	return r->m->used.move ? move_all(r, &live) : migrate_all(r, slab, &live);
}
