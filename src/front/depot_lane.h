/* SPDX-License-Identifier: MIT */
/*
 * front/depot_lane.h - what the files of depots share: lanes and their stacks; nobody else includes
 * it but array_exchange.c and the test that delays their steps
 *
 * Data:       see depot.h.
 * Invariants: see depot.h. While a sheaf is in a lane its entry 0 holds the link in place of the
 *             bottom's index, which is written there again before the sheaf is taken out.
 * Locks:      push(), pop() and what is named _locked: the lane's lock is held.
 * Flow:       included by array_exchange.c, depot.c, depot_lane.c, depot_limit.c and
 *             depot_sort.c.
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

/* The i-th lane behind this one, and around. */
static inline struct depot_lane *lane_behind(const struct depot *d, const struct depot_lane *lane,
					     unsigned int i)
{
	return &d->lanes[((unsigned int)(lane - d->lanes) + i) & (d->nr_lanes - 1)];
}

static inline bool has_spare_quota(const struct depot_stack *stack)
{
	return load_relaxed(&stack->quota) > load_relaxed(&stack->nr);
}

/* The most sheaves that it had since the epoch began, nr at least. */
static inline uint32_t high_of(const struct depot_stack *stack)
{
	uint32_t high = load_relaxed(&stack->high);

	return unlikely(high == DEPOT_HIGH_MOST) ? load_relaxed(&stack->quota) : high;
}

static always_inline void raise_high(struct depot_stack *stack)
{
	if (unlikely(stack->nr > stack->high))
		store_relaxed(&stack->high, (uint16_t)MIN(stack->nr, (uint32_t)DEPOT_HIGH_MOST));
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

/* ---- what a lane gives to others: hints, written under its lock ---- */

#define MADE_MOST 60000u
#define MADE_LOOK 16u

/* depot_lane.c */
void depot_look_at_made(struct depot *d, struct depot_lane *lane);
void depot_tell_slow(struct depot *d, struct depot_lane *lane, enum depot_kind kind);

/* Now and then it is told what the lane gives, since that changes with either count. */
static always_inline void count_made(struct depot *d, struct depot_lane *lane, enum depot_kind kind)
{
	struct depot_stack *stack = &lane->stack[kind];

	store_relaxed(&stack->made, (uint16_t)(stack->made + 1));
	if (unlikely(!(stack->made % MADE_LOOK)))
		depot_look_at_made(d, lane);
}

/* A lane keeps so many times what the depot may hold at first: half a MiB to two. */
#define LANE_KEEPS 32u

/*
 * Does its CPU make more of that kind than it uses? One that only frees makes full sheaves, one
 * that only allocates empty ones. What comes from other lanes is not made here.
 */
static inline bool lane_is_source(const struct depot_lane *lane, enum depot_kind kind)
{
	return load_relaxed(&lane->stack[!kind].made) * 2 < load_relaxed(&lane->stack[kind].made);
}

/*
 * What a CPU both frees and allocates, in bursts, it takes again itself, and who took it meanwhile
 * would have to bring it back; so others may have that only of lanes which have much.
 */
static inline bool lane_gives(const struct depot *d, const struct depot_lane *lane,
			      enum depot_kind kind)
{
	return lane_is_source(lane, kind) || lane_is_source(lane, !kind) ||
	       load_relaxed(&lane->stack[kind].nr) > LANE_KEEPS * load_relaxed(&d->base[kind]);
}

/*
 * Sets the lane's bit, if it has some for others. Who takes them, or looks and finds fewer, clears
 * it (depot_move_to()), and not its own CPU: a lane that is filled and emptied in turn would change
 * a word which all CPUs read, each time.
 */
static always_inline void tell_if_rich(struct depot *d, struct depot_lane *lane,
				       enum depot_kind kind)
{
	if (unlikely(!(lane->told & 1u << kind)) && lane->stack[kind].nr >= load_relaxed(&d->batch))
		depot_tell_slow(d, lane, kind);
}

static inline void forget_rich(struct depot *d, struct depot_lane *lane, enum depot_kind kind)
{
	lane->told &= (uint8_t) ~(1u << kind);
	__atomic_fetch_and(&d->rich[kind], ~(uint32_t)lane->bit, __ATOMIC_RELAXED);
}

/* It has quota for it. */
static always_inline void link_sheaf(struct depot_lane *lane, enum depot_kind kind, uintptr_t top)
{
	struct depot_stack *stack = &lane->stack[kind];

	sheaf_base(top)[0] = (void *)stack->top;
	store_relaxed(&stack->top, top);
	store_relaxed(&stack->nr, stack->nr + 1);
	raise_high(stack);
	if (kind == DEPOT_FULL)
		store_relaxed(&lane->nr_objects, lane->nr_objects + objects_in(lane, top));
}

/*
 * One that its CPU made; it has quota for it. What the lane gives is told when it has just got a
 * batch, and now and then.
 */
static always_inline void push(struct depot *d, struct depot_lane *lane, enum depot_kind kind,
			       uintptr_t top)
{
	link_sheaf(lane, kind, top);
	count_made(d, lane, kind);
	if (unlikely(lane->stack[kind].nr == load_relaxed(&d->batch)))
		tell_if_rich(d, lane, kind);
}

/* There is one. */
static always_inline uintptr_t pop(struct depot_lane *lane, enum depot_kind kind)
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
	return top;
}

/* For another lane's CPU, which takes it as its array: counted as a move, see depot_take(). */
static inline uintptr_t pop_for_other(struct depot *d, struct depot_lane *lane,
				      enum depot_kind kind)
{
	fetch_add(&d->nr_moves, 1);
	return pop(lane, kind);
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

/*
 * There is no space for more sheaves with objects. Then CPUs share those that there are, and else
 * each is to have its own.
 */
static inline bool is_at_limit(const struct depot *d, enum depot_kind kind)
{
	return kind == DEPOT_FULL && !depot_has_room(d);
}

/* ---- depot_lane.c ---- */

/* Lanes, for the first sheaf that comes. NULL: out of memory. */
struct depot_lane *depot_make_lanes(struct depot *d);
/* The first sheaf of that kind from that lane on and around; 0: there is none. */
uintptr_t depot_take_from(struct depot *d, unsigned int first, enum depot_kind kind);
/*
 * The lane, whose lock is held, has none of that kind: it gets some that another one has, or all.
 * false: none has enough for others, or their locks are not free.
 */
bool depot_move_to(struct depot *d, struct depot_lane *lane, enum depot_kind kind);
/* A sheaf that no CPU has used in this epoch, of another lane; 0: there is none. */
uintptr_t depot_take_unused(struct depot *d, const struct depot_lane *lane, enum depot_kind kind);
/* All of its quota is used: it gets more. false: there is none, or others' locks are not free. */
bool depot_more_quota(struct depot *d, struct depot_lane *lane, enum depot_kind kind);

#endif /* FRONT_DEPOT_LANE_H */
