/* SPDX-License-Identifier: MIT */
/*
 * front/depot.c - full and empty sheaves of a node (the kernel's barn)
 *
 * Why:        docs/adr/0044.
 * Data:       stacks per depot, linked through entry 0 of each sheaf.
 * Invariants: see depot.h; depot_check().
 * Locks:      depot.lock (RANK_DEPOT). Sheaves come from page/meta.c outside of the lock.
 * Flow:       see depot.h; calls page/meta.c.
 *
 * Entry 0 is the NULL at the bottom of a sheaf of full capacity, and unused with less: while a
 * sheaf is in a depot it holds the link, and it is cleared before the sheaf is taken out.
 */
#include "front/depot.h"

#include "arch/cpu.h"
#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "front/percpu.h"
#include "os/time/clock.h"
#include "page/meta.h"

uint64_t (*depot_clock)(void) = os_clock_ms;

uintptr_t sheaf_new(unsigned int capacity)
{
	void **base = meta_alloc(USLAB_SHEAF_SIZE); /* zero-filled: every entry is a bottom */

	return base ? sheaf_empty_top(base, capacity) : 0;
}

void sheaf_delete(uintptr_t top)
{
	meta_free(sheaf_base(top), USLAB_SHEAF_SIZE);
}

void depot_init(struct depot *d, unsigned int max_full, unsigned int max_empty)
{
	lock_init(&d->lock, RANK_DEPOT);
	d->max_full = d->base_full = max_full;
	d->max_empty = d->base_empty = max_empty;
}

static void stack_push(uintptr_t *stack, uintptr_t top)
{
	sheaf_base(top)[0] = (void *)*stack;
	store_relaxed(stack, top); /* read without the lock by prefetch_link()'s callers */
}

static uintptr_t stack_pop(uintptr_t *stack)
{
	uintptr_t top = *stack;

	store_relaxed(stack, (uintptr_t)sheaf_base(top)[0]);
	sheaf_base(top)[0] = NULL;
	return top;
}

/* ---- lanes ---- */

/* A hint: the thread may be on another CPU at once. */
static inline unsigned int lane_here(void)
{
	return (unsigned int)percpu_cpu() % DEPOT_LANES;
}

/* The first lane with a sheaf, from that one on and around; NULL: none. */
static uintptr_t *lane_from(struct depot *d, unsigned int first)
{
	for (unsigned int i = 0; i < DEPOT_LANES; i++) {
		uintptr_t *lane = &d->full[(first + i) % DEPOT_LANES];

		if (load_relaxed(lane))
			return lane;
	}
	return NULL;
}

static void push_full(struct depot *d, uintptr_t top, unsigned int capacity)
{
	stack_push(&d->full[lane_here()], top);
	store_relaxed(&d->nr_full, d->nr_full + 1);
	if (unlikely(d->nr_full > d->high_full))
		d->high_full = d->nr_full;
	store_relaxed(&d->nr_objects, d->nr_objects + sheaf_count(top, capacity));
}

/* nr_full > 0. Looks at the lanes from first on. */
static uintptr_t pop_full(struct depot *d, unsigned int first, unsigned int capacity)
{
	uintptr_t top = stack_pop(lane_from(d, first));

	store_relaxed(&d->nr_full, d->nr_full - 1);
	if (unlikely(d->nr_full < d->low_full))
		d->low_full = d->nr_full;
	store_relaxed(&d->nr_objects, d->nr_objects - sheaf_count(top, capacity));
	return top;
}

static void push_empty(struct depot *d, uintptr_t top)
{
	stack_push(&d->empty, top);
	store_relaxed(&d->nr_empty, d->nr_empty + 1);
}

static uintptr_t pop_empty(struct depot *d)
{
	store_relaxed(&d->nr_empty, d->nr_empty - 1);
	if (unlikely(d->nr_empty < d->low_empty))
		d->low_empty = d->nr_empty;
	return stack_pop(&d->empty);
}

static void overflow(struct depot *d)
{
	store_relaxed(&d->overflows, d->overflows + 1);
	store_relaxed(&d->nr_overflows, d->nr_overflows + 1);
	d->overflow_at = depot_epoch();
}

/*
 * A sheaf that another CPU put there: its link would be waited for under the lock. A hint, as the
 * stack may change before the lock is held.
 */
static inline void prefetch_link(uintptr_t top)
{
	arch_prefetch_write(sheaf_base(top));
}

static inline void prefetch_full(struct depot *d, unsigned int lane)
{
	const uintptr_t *stack = lane_from(d, lane);

	if (stack)
		prefetch_link(load_relaxed(stack));
}

/* The counts are read without the lock first, as hints: an empty depot costs no lock. */

uintptr_t depot_get_full(struct depot *d, unsigned int capacity)
{
	uintptr_t top = 0;
	unsigned int lane;

	if (!load_relaxed(&d->nr_full))
		return 0;
	lane = lane_here();
	prefetch_full(d, lane);
	lock_acquire(&d->lock);
	if (d->nr_full)
		top = pop_full(d, lane, capacity);
	lock_release(&d->lock);
	return top;
}

uintptr_t depot_get_empty(struct depot *d)
{
	uintptr_t top = 0;

	if (!load_relaxed(&d->nr_empty))
		return 0;
	lock_acquire(&d->lock);
	if (d->nr_empty)
		top = pop_empty(d);
	lock_release(&d->lock);
	return top;
}

bool depot_put_full(struct depot *d, uintptr_t top, unsigned int capacity)
{
	bool room;

	lock_acquire(&d->lock);
	room = d->nr_full < d->max_full;
	if (room)
		push_full(d, top, capacity);
	else
		overflow(d);
	lock_release(&d->lock);
	return room;
}

bool depot_put_empty(struct depot *d, uintptr_t top)
{
	bool room;

	lock_acquire(&d->lock);
	room = d->nr_empty < d->max_empty;
	if (room)
		push_empty(d, top);
	lock_release(&d->lock);
	return room;
}

uintptr_t depot_exchange_full(struct depot *d, uintptr_t top, unsigned int capacity)
{
	uintptr_t other = 0;

	prefetch_link(load_relaxed(&d->empty));
	lock_acquire(&d->lock);
	if (d->nr_empty && d->nr_full < d->max_full) {
		other = pop_empty(d);
		push_full(d, top, capacity);
	} else if (d->nr_full >= d->max_full) {
		overflow(d);
	}
	lock_release(&d->lock);
	return other;
}

uintptr_t depot_exchange_empty(struct depot *d, uintptr_t top, unsigned int capacity)
{
	uintptr_t other = 0;
	unsigned int lane;

	if (!load_relaxed(&d->nr_full))
		return 0;
	lane = lane_here();
	prefetch_full(d, lane);
	lock_acquire(&d->lock);
	if (d->nr_full && d->nr_empty < d->max_empty) {
		other = pop_full(d, lane, capacity);
		push_empty(d, top);
	}
	lock_release(&d->lock);
	return other;
}

/* ---- limits ---- */

bool depot_underflows(struct depot *d)
{
	bool underflows;

	lock_acquire(&d->lock);
	underflows = d->overflows && depot_epoch() - d->overflow_at <= 1;
	store_relaxed(&d->overflows, 0);
	if (underflows)
		store_relaxed(&d->nr_underflows, d->nr_underflows + 1);
	lock_release(&d->lock);
	return underflows;
}

/* Space for as many empty sheaves as for full ones, but at least for those that are there. */
static void set_max(struct depot *d, uint32_t full)
{
	store_relaxed(&d->max_full, full);
	store_relaxed(&d->max_empty, MAX(MAX(full, d->base_empty), d->nr_empty));
	d->high_full = MIN(d->high_full, full);
}

void depot_raise(struct depot *d, uint32_t more)
{
	lock_acquire(&d->lock);
	set_max(d, d->max_full + more);
	lock_release(&d->lock);
}

void depot_lower(struct depot *d, uint32_t less)
{
	lock_acquire(&d->lock);
	set_max(d, MAX(d->max_full - MIN(less, d->max_full), MAX(d->nr_full, d->base_full)));
	lock_release(&d->lock);
}

uintptr_t depot_shrink_full(struct depot *d, unsigned int capacity)
{
	uintptr_t top = 0;

	lock_acquire(&d->lock);
	if (d->nr_full > d->base_full) {
		top = pop_full(d, lane_here() + 1, capacity);
		set_max(d, d->max_full - 1);
	}
	lock_release(&d->lock);
	return top;
}

uintptr_t depot_shrink_empty(struct depot *d)
{
	uintptr_t top = 0;

	lock_acquire(&d->lock);
	if (d->nr_empty > MAX(d->max_full, d->base_empty)) {
		top = pop_empty(d);
		set_max(d, d->max_full);
	}
	lock_release(&d->lock);
	return top;
}

struct depot_surplus depot_next_epoch(struct depot *d)
{
	struct depot_surplus last;

	lock_acquire(&d->lock);
	last = (struct depot_surplus){
		.full = d->low_full,
		.empty = d->low_empty,
		.unused = d->max_full - d->high_full,
	};
	d->low_full = d->high_full = d->nr_full;
	d->low_empty = d->nr_empty;
	lock_release(&d->lock);
	return last;
}

static void check_lane(const struct depot *d, uintptr_t top, unsigned int capacity,
		       unsigned int *full, unsigned long *objects)
{
	for (; top; top = (uintptr_t)sheaf_base(top)[0]) {
		CHECK(sheaf_count(top, capacity) >= 1 && sheaf_count(top, capacity) <= capacity);
		*objects += sheaf_count(top, capacity);
		CHECK(++*full <= d->max_full);
	}
}

void depot_check(struct depot *d, unsigned int capacity)
{
	unsigned long objects = 0;
	unsigned int full = 0;
	unsigned int empty = 0;

	lock_acquire(&d->lock);
	for (unsigned int lane = 0; lane < DEPOT_LANES; lane++)
		check_lane(d, d->full[lane], capacity, &full, &objects);
	for (uintptr_t top = d->empty; top; top = (uintptr_t)sheaf_base(top)[0]) {
		CHECK(sheaf_count(top, capacity) == 0);
		CHECK(++empty <= d->max_empty);
	}
	CHECK(full == d->nr_full && empty == d->nr_empty && objects == d->nr_objects);
	CHECK(d->low_full <= full && full <= d->high_full && d->high_full <= d->max_full);
	CHECK(d->low_empty <= empty);
	lock_release(&d->lock);
}
