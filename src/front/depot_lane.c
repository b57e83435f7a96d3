/* SPDX-License-Identifier: MIT */
/*
 * front/depot_lane.c - lanes are made, and what goes from one to another: sheaves, and quota
 *
 * Why:        docs/adr/0073, docs/adr/0078, docs/adr/0080.
 * Data:       see depot.h.
 * Invariants: see depot.h. Whole stacks move by their first link, whatever their length; parts are
 *             cut off, a batch of links at most.
 * Locks:      the lane's own lock; inside, another one's, which is only tried, since two CPUs may
 *             do the same to each other. depot.lock where lanes are made.
 * Flow:       called by array_exchange.c, depot.c, depot_lane.h and depot_limit.c; calls
 *             page/meta.c.
 */
#include "front/depot_lane.h"

#include "base/atomic.h"
#include "page/meta.h"

/*
 * When both counts together come to so many for each sheaf of the lane, some bursts, they halve. At
 * first they are equal: no lane is a source before it has shown it.
 */
#define MADE_A_SHEAF 8u
#define MADE_LEAST 64u

cold noinline struct depot_lane *depot_make_lanes(struct depot *d)
{
	struct depot_lane *lanes = meta_alloc(d->nr_lanes * sizeof(*lanes));
	struct depot_lane *unused = lanes;

	if (!lanes)
		return NULL;
	lock_acquire(&d->lock);
	if (!d->lanes) {
		for (unsigned int i = 0; i < d->nr_lanes; i++) {
			lock_init(&lanes[i].lock, RANK_LANE);
			lanes[i].capacity = (uint16_t)d->capacity;
			lanes[i].bit = (uint8_t)(1u << i);
			lanes[i].stack[DEPOT_FULL].made = MADE_LEAST / 2;
			lanes[i].stack[DEPOT_EMPTY].made = MADE_LEAST / 2;
		}
		store_release(&d->lanes, lanes); /* pairs with lanes_of() */
		unused = NULL;
	}
	lanes = d->lanes;
	lock_release(&d->lock);
	meta_free(unused, d->nr_lanes * sizeof(*lanes));
	return lanes;
}

uintptr_t depot_take_from(struct depot *d, unsigned int first, enum depot_kind kind)
{
	struct depot_lane *lanes = lanes_of(d);
	uintptr_t top = 0;

	for (unsigned int i = 0; lanes && !top && i < d->nr_lanes; i++) {
		struct depot_lane *lane = &lanes[(first + i) & (d->nr_lanes - 1)];

		lock_acquire(&lane->lock);
		if (lane->stack[kind].nr)
			top = pop(lane, kind);
		lock_release(&lane->lock);
	}
	return top;
}

noinline void depot_look_at_made(struct depot *d, struct depot_lane *lane)
{
	struct depot_stack *stack = lane->stack;
	uint32_t nr = stack[DEPOT_FULL].nr + stack[DEPOT_EMPTY].nr;
	uint32_t most = MIN(MAX(nr * MADE_A_SHEAF, MADE_LEAST), MADE_MOST);

	tell_if_rich(d, lane, DEPOT_FULL);
	tell_if_rich(d, lane, DEPOT_EMPTY);
	if (stack[DEPOT_FULL].made + stack[DEPOT_EMPTY].made < most)
		return;
	for (unsigned int kind = 0; kind < DEPOT_KINDS; kind++)
		store_relaxed(&stack[kind].made, (uint16_t)(stack[kind].made / 2));
}

noinline void depot_tell_slow(struct depot *d, struct depot_lane *lane, enum depot_kind kind)
{
	if (!lane_gives(d, lane, kind))
		return;
	lane->told |= (uint8_t)(1u << kind);
	__atomic_fetch_or(&d->rich[kind], lane->bit, __ATOMIC_RELAXED);
}

/* All sheaves of a source, whatever their number. Both locks are held. */
static void move_all(struct depot_lane *lane, struct depot_lane *other, enum depot_kind kind)
{
	struct depot_stack *from = &other->stack[kind];
	struct depot_stack *to = &lane->stack[kind];
	uint32_t nr = from->nr;

	store_relaxed(&to->top, from->top);
	store_relaxed(&to->nr, nr);
	store_relaxed(&to->quota, to->quota + nr);
	store_relaxed(&from->quota, from->quota - nr);
	forget_sheaves(from);
	store_relaxed(&to->high, MAX(to->high, from->high));
	store_relaxed(&from->high, 0);
	if (kind == DEPOT_FULL) {
		store_relaxed(&lane->nr_objects, other->nr_objects);
		store_relaxed(&other->nr_objects, 0);
	}
}

/*
 * The newest of what a CPU may take again itself, a batch at most: two of them that run short in
 * turn soon have as many as each needs. The most that it had in this epoch was with those. Both
 * locks are held, this lane has none, and the batch may be another one by now.
 */
static void move_some(const struct depot *d, struct depot_lane *lane, struct depot_lane *other,
		      enum depot_kind kind)
{
	struct depot_stack *from = &other->stack[kind];
	struct depot_stack *to = &lane->stack[kind];
	uint32_t batch = load_relaxed(&d->batch);
	uint32_t nr = MIN(from->nr, batch);
	uintptr_t last = from->top;
	unsigned int objects = objects_in(other, last);

	for (uint32_t i = 1; i < nr; i++) {
		last = (uintptr_t)sheaf_base(last)[0];
		objects += objects_in(other, last);
	}
	store_relaxed(&to->top, from->top);
	store_relaxed(&from->top, (uintptr_t)sheaf_base(last)[0]);
	sheaf_base(last)[0] = NULL;
	store_relaxed(&to->nr, nr);
	store_relaxed(&from->nr, from->nr - nr);
	store_relaxed(&to->quota, to->quota + nr);
	store_relaxed(&from->quota, from->quota - nr);
	store_relaxed(&from->low, MIN(from->low, from->nr));
	if (from->high != DEPOT_HIGH_MOST)
		store_relaxed(&from->high, (uint16_t)(from->high - nr));
	raise_high(to);
	if (kind == DEPOT_FULL) {
		store_relaxed(&lane->nr_objects, objects);
		store_relaxed(&other->nr_objects, other->nr_objects - objects);
	}
}

/* Has it enough to be worth the way? any: even if its own CPU takes them again. */
static inline bool has_batch(const struct depot *d, const struct depot_lane *lane,
			     enum depot_kind kind, bool any)
{
	return load_relaxed(&lane->stack[kind].nr) >= load_relaxed(&d->batch) &&
	       (any || lane_gives(d, lane, kind));
}

/* This lane has none. Both locks are held. false: the other one told that before it used some. */
static bool move_locked(const struct depot *d, struct depot_lane *lane, struct depot_lane *other,
			enum depot_kind kind, bool any)
{
	if (!has_batch(d, other, kind, any) || other->capacity != lane->capacity)
		return false;
	if (lane_is_source(other, kind))
		move_all(lane, other, kind);
	else
		move_some(d, lane, other, kind);
	return true;
}

/*
 * All sheaves are in a lane whenever both locks are free, so that a fork, which holds all of them,
 * loses none. bits: lanes to ask, as rich_others() says them.
 */
static bool move_from(struct depot *d, struct depot_lane *lane, enum depot_kind kind, uint32_t bits,
		      bool any)
{
	bool moved = false;

	for (; bits && !moved; bits &= bits - 1) {
		struct depot_lane *other =
			lane_behind(d, lane, 1 + (unsigned int)__builtin_ctz(bits));

		if ((any && load_relaxed(&other->stack[kind].nr) < load_relaxed(&d->batch)) ||
		    !lock_try_beside(&other->lock))
			continue;
		moved = move_locked(d, lane, other, kind, any);
		fetch_add(&d->nr_moves, 1); /* in both locks: depot_take() */
		if (moved)		    /* before who waits for the other lane finds it empty */
			tell_if_rich(d, lane, kind);
		if (!has_batch(d, other, kind, false))
			forget_rich(d, other, kind);
		lock_leave_inside(&other->lock);
	}
	return moved;
}

noinline bool depot_move_to(struct depot *d, struct depot_lane *lane, enum depot_kind kind)
{
	uint32_t all = (1u << (d->nr_lanes - 1)) - 1;

	return move_from(d, lane, kind, rich_others(d, lane, kind), false) ||
	       (is_at_limit(d, kind) && move_from(d, lane, kind, all, true));
}

/*
 * One that its own CPU has not used in this epoch, or since a look in it. Only depots that hold
 * more than at first have epochs; of others low is 0. Where either has just been all seem unused.
 */
static uintptr_t take_unused(struct depot *d, struct depot_lane *other, enum depot_kind kind)
{
	struct depot_stack *from = &other->stack[kind];
	uintptr_t top = 0;

	if (!load_relaxed(&from->low))
		return 0;
	lock_acquire(&other->lock);
	if (from->low) {
		store_relaxed(&from->low, from->low - 1);
		top = pop_for_other(d, other, kind);
	}
	lock_release(&other->lock);
	return top;
}

noinline uintptr_t depot_take_unused(struct depot *d, const struct depot_lane *lane,
				     enum depot_kind kind)
{
	uintptr_t top = 0;

	for (unsigned int i = 1; i < d->nr_lanes && !top; i++)
		top = take_unused(d, lane_behind(d, lane, i), kind);
	return top;
}

/*
 * What another lane does not use of its quota becomes this one's. false: it uses all. Not from one
 * that is still to begin anew to one that has: its quota is about to be counted as left.
 */
static bool move_quota(struct depot_lane *lane, struct depot_lane *other, enum depot_kind kind)
{
	struct depot_stack *from = &other->stack[kind];
	struct depot_stack *to = &lane->stack[kind];
	uint32_t unused = 0;

	if (!has_spare_quota(from) || !lock_try_beside(&other->lock))
		return false;
	if (other->capacity == lane->capacity)
		unused = from->quota - from->nr;
	store_relaxed(&from->quota, from->quota - unused);
	store_relaxed(&to->quota, to->quota + unused);
	lock_leave_inside(&other->lock);
	return unused;
}

/*
 * What is left is taken in parts, so that it is not all in the lanes of CPUs that do not need it,
 * and to look at it is rare.
 */
noinline bool depot_more_quota(struct depot *d, struct depot_lane *lane, enum depot_kind kind)
{
	struct depot_stack *stack = &lane->stack[kind];
	int32_t left = load_relaxed(&d->left[kind]);
	int32_t part;

	while (left > 0) {
		part = MAX(left / (int32_t)(2 * d->nr_lanes), 1);
		if (__atomic_compare_exchange_n(&d->left[kind], &left, left - part, true,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			store_relaxed(&stack->quota, stack->quota + (uint32_t)part);
			return true;
		}
	}
	for (unsigned int i = 1; i < d->nr_lanes; i++)
		if (move_quota(lane, lane_behind(d, lane, i), kind))
			return true;
	return false;
}
