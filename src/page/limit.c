/* SPDX-License-Identifier: MIT */
/*
 * page/limit.c - how much memory the process may have from this library
 *
 * Data:       see page/limit.h; what is held is counted where it lies: in each zone, in
 *             large_counters and keep_counters.
 * Invariants: see page/limit.h.
 * Locks:      none.
 * Flow:       see page/limit.h.
 *
 * Contract, without a lock that all nodes would share. Whoever takes memory counts it first, in its
 * zone (whose lock it holds) or in the counters of large blocks; then fences; then adds up all
 * counts and compares the sum with the limit; and takes its own back if that is more.
 *
 *     taker     own count up; fence; sum of all counts; more than the limit? own count down
 *     giver     memory is given back first; then its count goes down
 *     setter    limit; fence; whoever counts after this compares with it
 *
 * Of two takers, of different nodes, at least one counts before the other adds up: not both are
 * admitted if there is room for one. Both may be refused then: each saw what the other took back a
 * moment later. A refusal is therefore followed by another attempt, after free memory was given
 * back (buddy.c, large.c) and after caches were shrunk (cache/pressure.c). What moves from one
 * count to another is counted in both meanwhile, never in none. Progress: nobody waits.
 */
#include "page/limit.h"

#include "base/bits.h"
#include "page/buddy.h"
#include "page/keep.h"
#include "page/large.h"

struct limit_counters limit_counters = {
	.limit = LIMIT_NONE,
	.mark = LIMIT_NONE,
	.least = LIMIT_NONE,
};

unsigned long limit_held(void)
{
	unsigned long held = 0;
	size_t bytes;

	for (unsigned int node = 0; node < buddy_nr_nodes; node++)
		held += load_relaxed(&buddy_zones[node].held);
	/*
	 * In this order, in which a freed block goes: what moves meanwhile counts twice. Acquire:
	 * pairs with count_down() in large.c, and with count_locked() in keep.c
	 */
	bytes = load_acquire(&large_counters.bytes);
	bytes += load_acquire(&keep_counters.bytes);
	bytes += load_relaxed(&keep_leaving);
	return held + (bytes >> PAGE_SHIFT);
}

static void note_peak(unsigned long held)
{
	unsigned long peak = load_relaxed(&limit_counters.peak);

	while (held > peak && !__atomic_compare_exchange_n(&limit_counters.peak, &peak, held, 1,
							   __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

/*
 * The next call of this thread that may wait looks (cache/pressure.c): a flag of its own, so that
 * no hit has to.
 */
static void note_due(void)
{
	store_relaxed(&limit_counters.due, 1);
	lock_set_flags(LOCK_DEFERRED);
}

cold bool limit_admits_slow(void)
{
	unsigned long held;

	fence_seq_cst(); /* pairs with itself, in other takers, and with limit_set() */
	held = limit_held();
	if (held > load_relaxed(&limit_counters.limit)) {
		fetch_add(&limit_counters.refused, 1);
		return false;
	}
	note_peak(held);
	if (held > load_relaxed(&limit_counters.mark))
		note_due();
	return true;
}

bool limit_is_near(unsigned long nr_pages)
{
	unsigned long limit = load_relaxed(&limit_counters.limit);

	return limit != LIMIT_NONE && limit_held() + nr_pages > limit;
}

/* Of several that set marks the last one need not see the others' last: so each looks again. */
static void set_least(void)
{
	unsigned long limit = load_relaxed(&limit_counters.limit);
	unsigned long mark = load_relaxed(&limit_counters.mark);
	unsigned long least;

	do {
		least = MIN(limit, mark);
		store_relaxed(&limit_counters.least, least);
		fence_seq_cst(); /* pairs with itself, and with limit_admits_slow() */
		limit = load_relaxed(&limit_counters.limit);
		mark = load_relaxed(&limit_counters.mark);
	} while (least != MIN(limit, mark));
}

void limit_set(size_t bytes)
{
	store_relaxed(&limit_counters.limit, bytes == SIZE_MAX ? LIMIT_NONE : bytes >> PAGE_SHIFT);
	set_least();
}

void limit_set_mark(unsigned long pages)
{
	store_relaxed(&limit_counters.mark, pages);
	set_least();
}
