/* SPDX-License-Identifier: MIT */
/*
 * front/depot_limit.c - how many sheaves a depot may hold, and which of them nobody needed
 *
 * Why:        docs/adr/0034, docs/adr/0055.
 * Data:       depot.max, base, left; low and high of each stack.
 * Invariants: see depot.h.
 * Locks:      changes are made by one thread at a time (growth_lock); depot.lock and lanes' locks
 *             inside.
 * Flow:       called by array_capacity.c and array_limit.c; calls depot.c and depot_lane.c.
 */
#include "front/depot_lane.h"

#include "base/atomic.h"
#include "os/cpu/cpu.h"
#include "os/time/clock.h"

/* Sheaves that are worth the way to another CPU. */
#define BATCH_SHARE 4u /* of the most that there may be */
#define BATCH_MOST 16u

uint64_t (*depot_clock)(void) = os_clock_ms;

static void set_one(struct depot *d, enum depot_kind kind, uint32_t max)
{
	fetch_add(&d->left[kind], (int32_t)(max - d->max[kind]));
	store_relaxed(&d->max[kind], max);
}

static void set_max(struct depot *d, uint32_t full, uint32_t empty)
{
	set_one(d, DEPOT_FULL, full);
	set_one(d, DEPOT_EMPTY, empty);
	store_relaxed(&d->batch, CLAMP(full / BATCH_SHARE, 1u, BATCH_MOST));
}

static void set_limits(struct depot *d, const struct depot_limits *limits)
{
	store_relaxed(&d->capacity, limits->capacity);
	store_relaxed(&d->base[DEPOT_FULL], limits->max_full);
	store_relaxed(&d->base[DEPOT_EMPTY], limits->max_empty);
	set_max(d, limits->max_full, limits->max_empty);
}

void depot_init(struct depot *d, const struct depot_limits *limits)
{
	lock_init(&d->lock, RANK_DEPOT);
	d->nr_lanes = 1;
	while (d->nr_lanes < MIN(os_topology.nr_cpu_ids, DEPOT_LANES))
		d->nr_lanes *= 2;
	set_limits(d, limits);
}

/* All that a lane has, which begins anew with that capacity. */
static void renew_lane(struct depot *d, struct depot_lane *lane, uint32_t capacity,
		       struct depot_lane *old)
{
	lock_acquire(&lane->lock);
	old->capacity = lane->capacity;
	old->nr_objects = lane->nr_objects;
	for (unsigned int kind = 0; kind < DEPOT_KINDS; kind++) {
		struct depot_stack *stack = &lane->stack[kind];

		old->stack[kind] = *stack;
		forget_sheaves(stack);
		store_relaxed(&stack->high, 0);
		fetch_add(&d->left[kind], (int32_t)stack->quota);
		store_relaxed(&stack->quota, 0);
		forget_rich(d, lane, kind);
	}
	store_relaxed(&lane->nr_objects, 0);
	lane->capacity = (uint16_t)capacity;
	lock_release(&lane->lock);
}

void depot_renew(struct depot *d, const struct depot_limits *limits, struct depot_rest *old)
{
	*old = (struct depot_rest){
		.depot = {
			.lock = LOCK_INIT(RANK_DEPOT),
			.nr_lanes = d->nr_lanes,
			.capacity = d->capacity,
			.lanes = old->lanes,
		},
	};
	for (unsigned int i = 0; i < DEPOT_LANES; i++)
		lock_init(&old->lanes[i].lock, RANK_LANE);
	lock_acquire(&d->lock);
	store_relaxed(&d->overflows, 0);
	set_limits(d, limits);
	for (unsigned int i = 0; d->lanes && i < d->nr_lanes; i++)
		renew_lane(d, &d->lanes[i], limits->capacity, &old->lanes[i]);
	lock_release(&d->lock);
}

/* ---- more, less, epochs ---- */

uint32_t depot_underflows(struct depot *d)
{
	uint32_t overflows = load_relaxed(&d->overflows);

	store_relaxed(&d->overflows, 0);
	if (!overflows || depot_epoch() - load_relaxed(&d->overflow_at) > 1)
		return 0;
	count_event(&d->nr_underflows);
	return overflows;
}

/* Takes quota that is not used from lanes, as long as they have more than there is in all. */
static void take_back_quota(struct depot *d, enum depot_kind kind)
{
	struct depot_lane *lanes = lanes_of(d);

	for (unsigned int i = 0; lanes && i < d->nr_lanes; i++) {
		struct depot_stack *stack = &lanes[i].stack[kind];
		int32_t left = load_relaxed(&d->left[kind]);
		uint32_t less;

		if (left >= 0)
			return;
		lock_acquire(&lanes[i].lock);
		less = MIN(stack->quota - stack->nr, (uint32_t)-left);
		store_relaxed(&stack->quota, stack->quota - less);
		fetch_add(&d->left[kind], (int32_t)less);
		lock_release(&lanes[i].lock);
	}
}

/* Space for as many empty sheaves as for full ones, but at least for those that are there. */
static void set_full(struct depot *d, uint32_t full)
{
	set_max(d, full, MAX(MAX(full, d->base[DEPOT_EMPTY]), depot_count(d, DEPOT_EMPTY)));
	for (unsigned int kind = 0; kind < DEPOT_KINDS; kind++) {
		int32_t left;

		take_back_quota(d, kind);
		left = load_relaxed(&d->left[kind]);
		if (unlikely(left < 0)) /* sheaves came meanwhile: there is space for them */
			set_one(d, kind, d->max[kind] + (uint32_t)-left);
	}
}

void depot_raise(struct depot *d, uint32_t more)
{
	set_full(d, d->max[DEPOT_FULL] + more);
}

void depot_lower(struct depot *d, uint32_t less)
{
	uint32_t max = d->max[DEPOT_FULL];
	uint32_t least = MAX(depot_count(d, DEPOT_FULL), d->base[DEPOT_FULL]);

	set_full(d, MAX(max - MIN(less, max), MIN(least, max)));
}

/* That which most sheaves lay in for all of the epoch; else that of another CPU. Hints. */
static unsigned int lane_to_shrink(const struct depot *d, enum depot_kind kind)
{
	const struct depot_lane *lanes = lanes_of(d);
	unsigned int best = lane_here(d) + 1;
	uint32_t most = 0;

	for (unsigned int i = 0; lanes && i < d->nr_lanes; i++) {
		uint32_t low = load_relaxed(&lanes[i].stack[kind].low);

		if (low > most) {
			most = low;
			best = i;
		}
	}
	return best;
}

uintptr_t depot_shrink(struct depot *d, enum depot_kind kind)
{
	uint32_t least = d->base[kind];
	uintptr_t top;

	if (kind == DEPOT_EMPTY)
		least = MAX(least, d->max[DEPOT_FULL]);
	if (depot_count(d, kind) <= least)
		return 0;
	top = depot_take_from(d, lane_to_shrink(d, kind), kind);
	if (top && kind == DEPOT_FULL)
		set_full(d, MAX(d->max[DEPOT_FULL] - 1, d->base[DEPOT_FULL]));
	else if (top)
		set_full(d, d->max[DEPOT_FULL]);
	return top;
}

/* Sheaves that were not used since that was asked last. Space stays as it is. */
struct depot_surplus depot_look(struct depot *d)
{
	struct depot_surplus last = { 0 };
	struct depot_lane *lanes = lanes_of(d);

	for (unsigned int i = 0; lanes && i < d->nr_lanes; i++) {
		struct depot_lane *lane = &lanes[i];

		lock_acquire(&lane->lock);
		last.full += lane->stack[DEPOT_FULL].low;
		last.empty += lane->stack[DEPOT_EMPTY].low;
		for (unsigned int kind = 0; kind < DEPOT_KINDS; kind++)
			store_relaxed(&lane->stack[kind].low, lane->stack[kind].nr);
		lock_release(&lane->lock);
	}
	return last;
}

unsigned int depot_unused(const struct depot *d, enum depot_kind kind)
{
	const struct depot_lane *lanes = lanes_of(d);
	unsigned int nr = 0;

	for (unsigned int i = 0; lanes && i < d->nr_lanes; i++)
		nr += load_relaxed(&lanes[i].stack[kind].low);
	return nr;
}

struct depot_surplus depot_next_epoch(struct depot *d)
{
	struct depot_surplus last = depot_look(d);
	struct depot_lane *lanes = lanes_of(d);
	unsigned int high = 0;

	for (unsigned int i = 0; lanes && i < d->nr_lanes; i++) {
		struct depot_lane *lane = &lanes[i];

		lock_acquire(&lane->lock);
		high += high_of(&lane->stack[DEPOT_FULL]);
		for (unsigned int kind = 0; kind < DEPOT_KINDS; kind++) {
			struct depot_stack *stack = &lane->stack[kind];

			store_relaxed(&stack->high, 0);
			raise_high(stack);
		}
		lock_release(&lane->lock);
	}
	last.unused = d->max[DEPOT_FULL] - MIN(high, d->max[DEPOT_FULL]);
	return last;
}
