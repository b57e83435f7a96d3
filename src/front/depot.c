/* SPDX-License-Identifier: MIT */
/*
 * front/depot.c - full and empty sheaves of a node (the kernel's barn)
 *
 * Why:        docs/adr/0044, docs/adr/0055, docs/adr/0073.
 * Data:       see depot.h.
 * Invariants: see depot.h; depot_check().
 * Locks:      see depot.h. Sheaves come from page/meta.c outside of the locks.
 * Flow:       see depot.h; calls depot_lane.c and page/meta.c. Limits: depot_limit.c.
 */
#include "front/depot.h"

#include "base/assert.h"
#include "base/atomic.h"
#include "front/depot_lane.h"
#include "page/meta.h"

uintptr_t sheaf_new(unsigned int capacity)
{
	unsigned int bottom = USLAB_SHEAF_CAPACITY - capacity;
	void **base = meta_alloc_apart(USLAB_SHEAF_SIZE); /* zero: every entry is a bottom */

	if (!base)
		return 0;
	base[0] = (void *)(uintptr_t)bottom;
	return (uintptr_t)&base[bottom];
}

void sheaf_delete(uintptr_t top)
{
	meta_free(sheaf_base(top), USLAB_SHEAF_SIZE);
}

void depot_destroy(struct depot *d)
{
	meta_free(d->lanes, d->nr_lanes * sizeof(struct depot_lane));
	d->lanes = NULL;
}

/* ---- what all lanes hold ---- */

unsigned int depot_count(const struct depot *d, enum depot_kind kind)
{
	const struct depot_lane *lanes = lanes_of(d);
	unsigned int nr = 0;

	for (unsigned int i = 0; lanes && i < d->nr_lanes; i++)
		nr += load_relaxed(&lanes[i].stack[kind].nr);
	return nr;
}

unsigned long depot_objects(const struct depot *d)
{
	const struct depot_lane *lanes = lanes_of(d);
	unsigned long objects = 0;

	for (unsigned int i = 0; lanes && i < d->nr_lanes; i++)
		objects += load_relaxed(&lanes[i].nr_objects);
	return objects;
}

bool depot_has_room(const struct depot *d)
{
	const struct depot_lane *lanes = lanes_of(d);
	bool room = load_relaxed(&d->left[DEPOT_FULL]) > 0;

	for (unsigned int i = 0; lanes && !room && i < d->nr_lanes; i++)
		room = has_spare_quota(&lanes[i].stack[DEPOT_FULL]);
	return room;
}

/* ---- one sheaf ---- */

/* For those who bring a sheaf. */
static inline struct depot_lane *made_lane(struct depot *d)
{
	struct depot_lane *lanes = lanes_of(d);

	if (unlikely(!lanes))
		lanes = depot_make_lanes(d);
	return lanes ? lanes + lane_here(d) : NULL;
}

/* A hint, without a lock: may there be one for this lane? */
static inline bool may_get(const struct depot *d, const struct depot_lane *lane,
			   enum depot_kind kind)
{
	return load_relaxed(&lane->stack[kind].nr) || rich_others(d, lane, kind) ||
	       is_at_limit(d, kind);
}

/* 0: none. */
static always_inline uintptr_t get_locked(struct depot *d, struct depot_lane *lane,
					  enum depot_kind kind)
{
	return lane->stack[kind].nr || depot_move_to(d, lane, kind) ? pop(lane, kind) : 0;
}

/*
 * Does the depot hold much, although no lane has a batch? With many lanes a few sheaves in each may
 * be all that there can be. For those who have to go to the slabs otherwise.
 */
static inline bool is_spread(const struct depot *d, enum depot_kind kind)
{
	return kind == DEPOT_FULL && d->nr_lanes > 2 &&
	       depot_count(d, kind) >= load_relaxed(&d->max[kind]) / 2 + 1;
}

/* One of the first lane behind that has some for others; any: that has some. 0: there is none. */
static uintptr_t take_behind(struct depot *d, const struct depot_lane *lane, enum depot_kind kind,
			     bool any)
{
	uintptr_t top = 0;

	for (unsigned int i = 1; i < d->nr_lanes && !top; i++) {
		struct depot_lane *other = lane_behind(d, lane, i);

		if (!load_relaxed(&other->stack[kind].nr) || (!any && !lane_gives(d, other, kind)))
			continue;
		lock_acquire(&other->lock);
		if (other->stack[kind].nr)
			top = pop_for_other(d, other, kind);
		lock_release(&other->lock);
	}
	return top;
}

/* No lane had a batch, or the lock of one that has was not free. */
static noinline uintptr_t get_elsewhere(struct depot *d, const struct depot_lane *lane,
					enum depot_kind kind)
{
	uintptr_t top = depot_take_unused(d, lane, kind);
	bool any = !top && is_at_limit(d, kind);

	if (any || (!top && (rich_others(d, lane, kind) || is_spread(d, kind))))
		top = take_behind(d, lane, kind, any);
	return top;
}

uintptr_t depot_get(struct depot *d, enum depot_kind kind)
{
	struct depot_lane *lane = own_lane(d);
	uintptr_t top = 0;

	if (!lane)
		return 0;
	if (may_get(d, lane, kind)) {
		lock_acquire(&lane->lock);
		top = get_locked(d, lane, kind);
		lock_release(&lane->lock);
	}
	return likely(top) ? top : get_elsewhere(d, lane, kind);
}

/*
 * Sheaves may move from a lane that is still to be looked at to one that was. Who then finds the
 * first one empty holds its lock after the move, which was counted while it was held before: the
 * count tells him, and he looks again.
 */
uintptr_t depot_take(struct depot *d, enum depot_kind kind)
{
	uint32_t moves;
	uintptr_t top;

	do {
		moves = load_acquire(&d->nr_moves); /* before the first lock is taken */
		top = depot_take_from(d, lane_here(d), kind);
	} while (!top && load_acquire(&d->nr_moves) != moves);
	return top;
}

#define NOTE_MOST 1024u

void depot_note_made(struct depot *d, enum depot_kind kind, unsigned int nr)
{
	struct depot_lane *lane = own_lane(d);

	if (!lane || !nr)
		return;
	lock_acquire(&lane->lock);
	for (unsigned int i = 0; i < MIN(nr, NOTE_MOST); i++)
		count_made(d, lane, kind);
	tell_if_rich(d, lane, DEPOT_FULL);
	tell_if_rich(d, lane, DEPOT_EMPTY);
	lock_release(&lane->lock);
}

/* Is it of a capacity that the front had before? */
static inline bool fits(const struct depot_lane *lane, unsigned int capacity)
{
	return likely(capacity == lane->capacity);
}

/* Several threads at a time may lose some of the counts. */
static void overflow(struct depot *d)
{
	uint32_t now = depot_epoch();

	if (now - load_relaxed(&d->overflow_at) > 1) /* those of before are no hint any more */
		store_relaxed(&d->overflows, 0);
	count_event(&d->overflows);
	count_event(&d->nr_overflows);
	store_relaxed(&d->overflow_at, now);
}

/* Has the lane space for a sheaf that fits? */
static always_inline bool makes_room(struct depot *d, struct depot_lane *lane, enum depot_kind kind)
{
	if (likely(has_spare_quota(&lane->stack[kind])) || depot_more_quota(d, lane, kind))
		return true;
	if (kind == DEPOT_FULL && !depot_has_room(d)) /* else a lock was not free */
		overflow(d);
	return false;
}

bool depot_put(struct depot *d, enum depot_kind kind, uintptr_t top)
{
	unsigned int capacity = sheaf_capacity(top);
	struct depot_lane *lane = made_lane(d);
	bool done;

	if (unlikely(!lane))
		return false;
	lock_acquire(&lane->lock);
	done = fits(lane, capacity) && makes_room(d, lane, kind);
	if (done)
		push(d, lane, kind, top);
	lock_release(&lane->lock);
	return done;
}

/* The kind is known where this is compiled: misses are made of it. */
static always_inline uintptr_t exchange_in_lane(struct depot *d, enum depot_kind kind,
						uintptr_t top)
{
	enum depot_kind wanted = kind == DEPOT_FULL ? DEPOT_EMPTY : DEPOT_FULL;
	unsigned int capacity = sheaf_capacity(top);
	struct depot_lane *lane = kind == DEPOT_FULL ? made_lane(d) : own_lane(d);
	uintptr_t other = 0;

	/* that a full sheaf finds no space is counted, whether or not there is an empty one */
	if (unlikely(!lane) || (wanted == DEPOT_FULL && !may_get(d, lane, wanted)))
		return 0;
	lock_acquire(&lane->lock);
	if (fits(lane, capacity) && makes_room(d, lane, kind))
		other = get_locked(d, lane, wanted);
	if (other)
		push(d, lane, kind, top);
	lock_release(&lane->lock);
	return other;
}

uintptr_t depot_exchange(struct depot *d, enum depot_kind kind, uintptr_t top)
{
	return kind == DEPOT_FULL ? exchange_in_lane(d, DEPOT_FULL, top)
				  : exchange_in_lane(d, DEPOT_EMPTY, top);
}

/* ---- fork, and what must hold ---- */

void depot_each_lock(struct depot *d, void (*act)(struct lock *l))
{
	bool taking = act == lock_fork_prepare;

	if (taking)
		act(&d->lock);
	for (unsigned int i = 0; d->lanes && i < d->nr_lanes; i++)
		act(&d->lanes[i].lock);
	if (!taking)
		act(&d->lock);
}

static void check_stack(const struct depot_lane *lane, enum depot_kind kind)
{
	const struct depot_stack *stack = &lane->stack[kind];
	unsigned long objects = 0;
	unsigned int nr = 0;

	for (uintptr_t top = stack->top; top; top = (uintptr_t)sheaf_base(top)[0]) {
		unsigned int count = objects_in(lane, top);

		CHECK(kind == DEPOT_FULL ? count >= 1 && count <= lane->capacity : !count);
		objects += count;
		CHECK(++nr <= stack->nr);
	}
	CHECK(nr == stack->nr && stack->low <= nr && nr <= stack->quota);
	CHECK(nr <= high_of(stack));
	CHECK(kind == DEPOT_EMPTY || objects == lane->nr_objects);
}

void depot_check(struct depot *d)
{
	struct depot_lane *lanes = lanes_of(d);
	int32_t quota[DEPOT_KINDS] = { d->left[DEPOT_FULL], d->left[DEPOT_EMPTY] };

	for (unsigned int i = 0; lanes && i < d->nr_lanes; i++) {
		lock_acquire(&lanes[i].lock);
		CHECK(lanes[i].capacity == d->capacity);
		for (unsigned int kind = 0; kind < DEPOT_KINDS; kind++) {
			check_stack(&lanes[i], kind);
			CHECK(!(lanes[i].told & 1u << kind) ==
			      !(load_relaxed(&d->rich[kind]) & lanes[i].bit));
			quota[kind] += (int32_t)lanes[i].stack[kind].quota;
		}
		lock_release(&lanes[i].lock);
	}
	for (unsigned int kind = 0; kind < DEPOT_KINDS; kind++)
		CHECK(quota[kind] == (int32_t)d->max[kind]);
}
