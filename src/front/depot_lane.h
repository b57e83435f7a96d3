/* SPDX-License-Identifier: MIT */
/*
 * front/depot_lane.h - what the files of depots share: lanes and their stacks; nobody else includes
 * it but array_exchange.c and the test that delays their steps
 *
 * Data:       see depot.h.
 * Invariants: see depot.h. While a sheaf is in a lane its entry 0 holds the link in place of the
 *             bottom's index, which is written there again before the sheaf is taken out.
 * Locks:      push(), pop() and what is named _locked: the lane's lock is held.
 * Flow:       included by array_exchange.c, depot.c, depot_lane.c and depot_limit.c.
 */
#ifndef FRONT_DEPOT_LANE_H
#define FRONT_DEPOT_LANE_H

#include "arch/cpu.h"
#include "base/bits.h"
#include "front/depot.h"
#include "front/percpu.h"

/* NULL: there was no sheaf yet. */
static inline struct depot_lane *lanes_of(const struct depot *d)
{
	return load_acquire(&d->lanes);
}

static inline unsigned int lane_of_cpu(const struct depot *d, int cpu)
{
	return (unsigned int)cpu & (d->nr_lanes - 1);
}

/* A hint: the thread may be on another CPU at once. */
static inline unsigned int lane_here(const struct depot *d)
{
	return lane_of_cpu(d, percpu_cpu());
}

static inline struct depot_lane *own_lane(const struct depot *d)
{
	struct depot_lane *lanes = lanes_of(d);

	return lanes ? lanes + lane_here(d) : NULL;
}

static inline bool has_spare_quota(const struct depot_stack *stack)
{
	return load_relaxed(&stack->quota) > load_relaxed(&stack->nr);
}

/* Its quota stays. */
static inline void forget_sheaves(struct depot_stack *stack)
{
	store_relaxed(&stack->top, 0);
	store_relaxed(&stack->nr, 0);
	store_relaxed(&stack->low, 0);
}

/* Objects of a sheaf that is, or was just, in a lane. */
static inline unsigned int objects_in(const struct depot_lane *lane, uintptr_t top)
{
	return sheaf_count_at(top, lane->capacity);
}

/* Keeps the lane's bit as its number of sheaves is. */
static always_inline void update_rich(struct depot *d, const struct depot_lane *lane,
				      enum depot_kind kind)
{
	bool is_rich = lane->stack[kind].nr >= load_relaxed(&d->batch);

	if (likely(is_rich == !!(load_relaxed(&d->rich[kind]) & lane->bit)))
		return;
	if (is_rich)
		__atomic_fetch_or(&d->rich[kind], lane->bit, __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(&d->rich[kind], ~(uint32_t)lane->bit, __ATOMIC_RELAXED);
}

/* It has quota for it. */
static always_inline void push(struct depot *d, struct depot_lane *lane, enum depot_kind kind,
			       uintptr_t top)
{
	struct depot_stack *stack = &lane->stack[kind];

	sheaf_base(top)[0] = (void *)stack->top;
	store_relaxed(&stack->top, top);
	store_relaxed(&stack->nr, stack->nr + 1);
	if (kind == DEPOT_FULL) {
		stack->high = MAX(stack->high, stack->nr);
		store_relaxed(&lane->nr_objects, lane->nr_objects + objects_in(lane, top));
	}
	update_rich(d, lane, kind);
}

/* There is one. */
static always_inline uintptr_t pop(struct depot *d, struct depot_lane *lane, enum depot_kind kind)
{
	struct depot_stack *stack = &lane->stack[kind];
	uintptr_t top = stack->top;
	uintptr_t next = (uintptr_t)sheaf_base(top)[0];

	if (next) /* another CPU may have put it there: the next pop would wait for its link */
		arch_prefetch_write(sheaf_base(next));
	sheaf_base(top)[0] = (void *)(uintptr_t)(USLAB_SHEAF_CAPACITY - lane->capacity);
	store_relaxed(&stack->top, next);
	store_relaxed(&stack->nr, stack->nr - 1);
	store_relaxed(&stack->low, MIN(stack->low, stack->nr));
	if (kind == DEPOT_FULL)
		store_relaxed(&lane->nr_objects, lane->nr_objects - objects_in(lane, top));
	update_rich(d, lane, kind);
	return top;
}

/* Lanes that have some for others: bit i is that of the i-th lane behind this one. */
static inline uint32_t rich_others(const struct depot *d, const struct depot_lane *lane,
				   enum depot_kind kind)
{
	uint32_t bits = load_relaxed(&d->rich[kind]) & ~(uint32_t)lane->bit;

	if (likely(!bits))
		return 0;
	return (bits | bits << d->nr_lanes) >> (lane - d->lanes + 1) & ((1u << d->nr_lanes) - 1);
}

/* ---- depot_lane.c ---- */

/* Lanes, for the first sheaf that comes. NULL: out of memory. */
struct depot_lane *depot_make_lanes(struct depot *d);
/* The first sheaf of that kind from that lane on and around; 0: there is none. */
uintptr_t depot_take_from(struct depot *d, unsigned int first, enum depot_kind kind);
/*
 * The lane, whose lock is held, has none of that kind: all that another one has become its own.
 * false: none has enough for others, or their locks are not free.
 */
bool depot_move_to(struct depot *d, struct depot_lane *lane, enum depot_kind kind);
/* All of its quota is used: it gets more. false: there is none, or others' locks are not free. */
bool depot_more_quota(struct depot *d, struct depot_lane *lane, enum depot_kind kind);

#endif /* FRONT_DEPOT_LANE_H */
