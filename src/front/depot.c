/* SPDX-License-Identifier: MIT */
/*
 * front/depot.c - full and empty sheaves of a node (the kernel's barn)
 *
 * Why:        docs/adr/0044, docs/adr/0055.
 * Data:       stacks per depot, linked through entry 0 of each sheaf.
 * Invariants: see depot.h; depot_check().
 * Locks:      depot.lock (RANK_DEPOT). Sheaves come from page/meta.c outside of the lock.
 * Flow:       see depot.h; calls page/meta.c.
 *
 * While a sheaf is in a depot its entry 0 holds the link in place of the bottom's index, which is
 * written there again before the sheaf is taken out.
 */
#include "front/depot.h"

#include <string.h>

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
	unsigned int bottom = USLAB_SHEAF_CAPACITY - capacity;
	void **base = meta_alloc(USLAB_SHEAF_SIZE); /* zero-filled: every entry is a bottom */

	if (!base)
		return 0;
	base[0] = (void *)(uintptr_t)bottom;
	return (uintptr_t)&base[bottom];
}

void sheaf_delete(uintptr_t top)
{
	meta_free(sheaf_base(top), USLAB_SHEAF_SIZE);
}

static void set_limits(struct depot *d, const struct depot_limits *limits)
{
	store_relaxed(&d->capacity, limits->capacity);
	store_relaxed(&d->max_full, limits->max_full);
	store_relaxed(&d->max_empty, limits->max_empty);
	d->base_full = limits->max_full;
	d->base_empty = limits->max_empty;
}

void depot_init(struct depot *d, const struct depot_limits *limits)
{
	lock_init(&d->lock, RANK_DEPOT);
	set_limits(d, limits);
}

void depot_renew(struct depot *d, const struct depot_limits *limits, struct depot *old)
{
	lock_acquire(&d->lock);
	*old = (struct depot){
		.lock = LOCK_INIT(RANK_DEPOT),
		.nr_full = d->nr_full,
		.nr_empty = d->nr_empty,
		.empty = d->empty,
		.nr_objects = d->nr_objects,
		.capacity = d->capacity,
	};
	memcpy(old->full, d->full, sizeof(old->full));
	for (unsigned int lane = 0; lane < DEPOT_LANES; lane++)
		store_relaxed(&d->full[lane], 0);
	store_relaxed(&d->empty, 0);
	store_relaxed(&d->nr_full, 0);
	store_relaxed(&d->nr_empty, 0);
	store_relaxed(&d->nr_objects, 0);
	store_relaxed(&d->overflows, 0);
	d->low_full = d->high_full = d->low_empty = 0;
	set_limits(d, limits);
	lock_release(&d->lock);
}

static void stack_push(uintptr_t *stack, uintptr_t top)
{
	sheaf_base(top)[0] = (void *)*stack;
	store_relaxed(stack, top); /* read without the lock by prefetch_link()'s callers */
}

static uintptr_t stack_pop(uintptr_t *stack, unsigned int capacity)
{
	uintptr_t top = *stack;

	store_relaxed(stack, (uintptr_t)sheaf_base(top)[0]);
	sheaf_base(top)[0] = (void *)(uintptr_t)(USLAB_SHEAF_CAPACITY - capacity);
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

static void push_full(struct depot *d, uintptr_t top)
{
	stack_push(&d->full[lane_here()], top);
	store_relaxed(&d->nr_full, d->nr_full + 1);
	if (unlikely(d->nr_full > d->high_full))
		d->high_full = d->nr_full;
	store_relaxed(&d->nr_objects, d->nr_objects + sheaf_count_at(top, d->capacity));
}

/* nr_full > 0. Looks at the lanes from first on. */
static uintptr_t pop_full(struct depot *d, unsigned int first)
{
	uintptr_t top = stack_pop(lane_from(d, first), d->capacity);

	store_relaxed(&d->nr_full, d->nr_full - 1);
	if (unlikely(d->nr_full < d->low_full))
		d->low_full = d->nr_full;
	store_relaxed(&d->nr_objects, d->nr_objects - sheaf_count(top));
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
	return stack_pop(&d->empty, d->capacity);
}

/* Is it of a capacity that the front had before? */
static inline bool fits(const struct depot *d, unsigned int capacity)
{
	return likely(capacity == d->capacity);
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

uintptr_t depot_get_full(struct depot *d)
{
	uintptr_t top = 0;
	unsigned int lane;

	if (!load_relaxed(&d->nr_full))
		return 0;
	lane = lane_here();
	prefetch_full(d, lane);
	lock_acquire(&d->lock);
	if (d->nr_full)
		top = pop_full(d, lane);
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

bool depot_put_full(struct depot *d, uintptr_t top)
{
	unsigned int capacity = sheaf_capacity(top);
	bool room;

	lock_acquire(&d->lock);
	room = fits(d, capacity) && d->nr_full < d->max_full;
	if (room)
		push_full(d, top);
	else if (fits(d, capacity))
		overflow(d);
	lock_release(&d->lock);
	return room;
}

bool depot_put_empty(struct depot *d, uintptr_t top)
{
	unsigned int capacity = sheaf_capacity(top);
	bool room;

	lock_acquire(&d->lock);
	room = fits(d, capacity) && d->nr_empty < d->max_empty;
	if (room)
		push_empty(d, top);
	lock_release(&d->lock);
	return room;
}

uintptr_t depot_exchange_full(struct depot *d, uintptr_t top)
{
	unsigned int capacity = sheaf_capacity(top);
	uintptr_t other = 0;
	bool room;

	prefetch_link(load_relaxed(&d->empty));
	lock_acquire(&d->lock);
	room = d->nr_full < d->max_full;
	if (room && d->nr_empty && fits(d, capacity)) {
		other = pop_empty(d);
		push_full(d, top);
	} else if (!room && fits(d, capacity)) {
		overflow(d);
	}
	lock_release(&d->lock);
	return other;
}

uintptr_t depot_exchange_empty(struct depot *d, uintptr_t top)
{
	unsigned int capacity = sheaf_capacity(top);
	uintptr_t other = 0;
	unsigned int lane;

	if (!load_relaxed(&d->nr_full))
		return 0;
	lane = lane_here();
	prefetch_full(d, lane);
	lock_acquire(&d->lock);
	if (fits(d, capacity) && d->nr_full && d->nr_empty < d->max_empty) {
		other = pop_full(d, lane);
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

uintptr_t depot_shrink_full(struct depot *d)
{
	uintptr_t top = 0;

	lock_acquire(&d->lock);
	if (d->nr_full > d->base_full) {
		top = pop_full(d, lane_here() + 1);
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

static void check_lane(const struct depot *d, uintptr_t top, unsigned int *full,
		       unsigned long *objects)
{
	for (; top; top = (uintptr_t)sheaf_base(top)[0]) {
		unsigned int count = sheaf_count_at(top, d->capacity);

		CHECK(count >= 1 && count <= d->capacity);
		*objects += count;
		CHECK(++*full <= d->max_full);
	}
}

void depot_check(struct depot *d)
{
	unsigned long objects = 0;
	unsigned int full = 0;
	unsigned int empty = 0;

	lock_acquire(&d->lock);
	for (unsigned int lane = 0; lane < DEPOT_LANES; lane++)
		check_lane(d, d->full[lane], &full, &objects);
	for (uintptr_t top = d->empty; top; top = (uintptr_t)sheaf_base(top)[0]) {
		CHECK(sheaf_count_at(top, d->capacity) == 0);
		CHECK(++empty <= d->max_empty);
	}
	CHECK(full == d->nr_full && empty == d->nr_empty && objects == d->nr_objects);
	CHECK(d->low_full <= full && full <= d->high_full && d->high_full <= d->max_full);
	CHECK(d->low_empty <= empty);
	lock_release(&d->lock);
}
