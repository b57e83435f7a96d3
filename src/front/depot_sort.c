/* SPDX-License-Identifier: MIT */
/*
 * front/depot_sort.c - the objects of a lane's newest sheaves, in order of their addresses
 *
 * Why:        docs/adr/0082.
 * Data:       struct sort, a page run while a lane is sorted. Hints: when a depot was sorted last,
 *             and how many sheaves may still be sorted.
 * Invariants: all sheaves together have the same objects after as before, each as many as it had,
 *             and lie in the lane in the same order.
 * Locks:      the lane's, while its objects are moved. The page run comes before and goes after.
 * Flow:       called by array_near.c; calls page/run.c.
 *
 * A program that frees a heap in any order leaves full sheaves whose objects lie each on another
 * page, and builds its next heap of them. Of many sheaves together there are neighbours: sorted,
 * they go out in ascending order. By radix, twice, each object costs 3 to 10 ns, a fifth at most of
 * what it takes to put it into its slab and to take another one out.
 *
 * That a second count says where an object goes needs all sheaves that take part to be full. Others
 * are rare, and stay as they are.
 */
#include <string.h>

#include "front/depot_lane.h"
#include "page/run.h"

#define SORT_LEAST 64u	/* sheaves: of fewer, few have neighbours in others */
#define SORT_MOST 1024u /* bounds the time under the lock, and the memory: 0.3 ms, 280 KiB */

/* In so many ms a depot is sorted once, and of all depots so many sheaves: 1 to 4 % of a CPU. */
#define SORT_MS 16u
#define SORT_SHARE 2048u

#define SORT_UNIT_BITS 6 /* addresses in one cache line are equal */
#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)
#define NR_DIGITS 2u /* 256 MiB; what lies farther apart is not told apart */

struct sort {
	unsigned int nr; /* sheaves */
	unsigned int most;
	/* objects with that digit; then where the next one of them goes */
	uint32_t place[NR_DIGITS][DIGITS];
	uintptr_t top[SORT_MOST];
	void *obj[]; /* by the first digit */
};

static inline uint32_t *place_of(struct sort *s, unsigned int digit, const void *obj)
{
	uintptr_t unit = (uintptr_t)obj >> SORT_UNIT_BITS;

	return &s->place[digit][(unit >> (digit * DIGIT_BITS)) % DIGITS];
}

/* The newest that are full. */
static void choose_locked(struct sort *s, const struct depot_lane *lane)
{
	uintptr_t top = lane->stack[DEPOT_FULL].top;

	for (unsigned int i = 0; top && i < s->most; i++) {
		if (sheaf_index(top) == USLAB_SHEAF_CAPACITY)
			s->top[s->nr++] = top;
		top = (uintptr_t)sheaf_base(top)[0];
	}
}

static void count_digits_locked(struct sort *s, unsigned int capacity)
{
	for (unsigned int i = 0; i < s->nr; i++) {
		void *const *entry = (void **)s->top[i];

		for (unsigned int k = 0; k < capacity; k++, entry--)
			for (unsigned int digit = 0; digit < NR_DIGITS; digit++)
				++*place_of(s, digit, *entry);
	}
}

static void add_up(uint32_t place[DIGITS])
{
	uint32_t at = 0;

	for (unsigned int i = 0; i < DIGITS; i++) {
		uint32_t nr = place[i];

		place[i] = at;
		at += nr;
	}
}

/* Out of the sheaves, by the first digit; then into them, by the second. */
static void distribute_locked(struct sort *s, unsigned int capacity)
{
	uint32_t nr = s->nr * capacity;

	for (unsigned int i = 0; i < s->nr; i++) {
		void *const *entry = (void **)s->top[i];

		for (unsigned int k = 0; k < capacity; k++, entry--)
			s->obj[(*place_of(s, 0, *entry))++] = *entry;
	}
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t at = (*place_of(s, 1, s->obj[i]))++;

		*((void **)s->top[at / capacity] - at % capacity) = s->obj[i];
	}
}

static bool sort_locked(struct sort *s, struct depot_lane *lane)
{
	unsigned int capacity = lane->capacity;

	choose_locked(s, lane);
	if (s->nr < SORT_LEAST)
		return false;
	count_digits_locked(s, capacity);
	for (unsigned int digit = 0; digit < NR_DIGITS; digit++)
		add_up(s->place[digit]);
	distribute_locked(s, capacity);
	return true;
}

static struct sort *sort_new(unsigned int most)
{
	size_t size = sizeof(struct sort) + (size_t)most * USLAB_SHEAF_CAPACITY * sizeof(void *);
	struct sort *s = run_alloc(size, 0, NUMA_NO_NODE, NULL);

	if (!s)
		return NULL;
	memset(s, 0, offsetof(struct sort, top));
	s->most = most;
	return s;
}

/* How many of nr sheaves may be sorted now? They are taken off what is left. */
static unsigned int take_share(struct depot *d, unsigned int nr)
{
	static uint32_t begun; /* in units of SORT_MS, as sorted_at is */
	static uint32_t share;
	uint32_t now = (uint32_t)(depot_clock() / SORT_MS);
	uint32_t left = load_relaxed(&begun) == now ? load_relaxed(&share) : SORT_SHARE;

	nr = MIN(MIN(nr, SORT_MOST), left);
	if (nr < SORT_LEAST || load_relaxed(&d->sorted_at) == now)
		return 0;
	store_relaxed(&share, left - nr);
	store_relaxed(&begun, now);
	store_relaxed(&d->sorted_at, now);
	return nr;
}

bool depot_sort(struct depot *d)
{
	struct depot_lane *lane = own_lane(d);
	uint32_t nr = lane ? load_relaxed(&lane->stack[DEPOT_FULL].nr) : 0;
	struct sort *s;
	bool done;

	if (nr < SORT_LEAST)
		return false;
	nr = take_share(d, nr);
	s = nr ? sort_new(nr) : NULL;
	if (!s)
		return false;
	lock_acquire(&lane->lock);
	done = sort_locked(s, lane);
	lock_release(&lane->lock);
	run_free(s);
	return done;
}
