/* SPDX-License-Identifier: MIT */
/*
 * malloc/sampling.c - random skips, and the end of sampling
 *
 * Data:       sampling_thread; what sampling cost lately.
 * Invariants: as sampling.h. Whatever control.sample_mean says, a mean that is used is in range.
 * Locks:      none. Lost counts of the cost do not matter.
 * Flow:       called by slow.c; calls malloc_rearm().
 *
 * A sampled object costs two walks over the stack and two locks, thus a second may have some
 * thousands of them. The tool cannot look often enough: where a program goes from sleep to work,
 * the process itself doubles the mean. The tool lowers it again.
 */
#include "malloc/sampling.h"

#include "debug/debug.h"
#include "os/time/clock.h"
#include "os/process/random.h"

/*
 * In this unit a look at an allocation of another cache costs 1, and one that is
 * sampled costs SAMPLED_COST.
 */
#define SAMPLED_COST 16u
#define BUDGET 4096u /* for BUDGET_MS, that is 4000 sampled objects a second */
#define BUDGET_MS 64u

__thread struct sampling_thread sampling_thread;

static struct {
	uint32_t used;
	uint64_t since; /* ms */
} cost;

/* 64 random bits (splitmix64). */
static uint64_t random_word(struct sampling_thread *t)
{
	uint64_t x;

	if (unlikely(!t->random))
		t->random = os_random();
	x = t->random += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/*
 * An exponential number of mean 1 in units of 2^-32, without logarithms (von Neumann): of uniform
 * numbers u1, u2, ... the first that is larger than the one before it has an even place with
 * probability exp(-u1). Then it is u1, and else 1 more than another try.
 */
static uint64_t exponential(struct sampling_thread *t)
{
	for (uint64_t whole = 0;; whole++) {
		uint32_t first = (uint32_t)(random_word(t) >> 32);
		uint32_t last = first, next;
		unsigned int place = 1;

		do {
			next = (uint32_t)(random_word(t) >> 32);
			place++;
			if (next > last)
				break;
			last = next;
		} while (true);
		if (place % 2 == 0)
			return whole << 32 | first;
	}
}

static void draw(struct sampling_thread *t, uint32_t mean)
{
	t->left = exponential(t) >> (32 - mean);
	t->mean = mean;
}

/*
 * Counts what a look cost. Too much in too short a time: from now on every
 * second one less is sampled.
 */
static void account(uint32_t mean, uint32_t units, uint64_t now)
{
	uint32_t used = load_relaxed(&cost.used) + units;
	uint64_t since = load_relaxed(&cost.since);

	if (used < BUDGET) {
		store_relaxed(&cost.used, used);
		return;
	}
	store_relaxed(&cost.used, 0);
	store_relaxed(&cost.since, now);
	if (now - since < BUDGET_MS && mean < CONTROL_SAMPLING_MAX)
		cmpxchg(&control.sample_mean, mean, mean + 1);
}

cold uint32_t sampling_decide(const struct cache *c, size_t size)
{
	struct sampling_thread *t = &sampling_thread;
	uint32_t mean = load_relaxed(&control.sample_mean);
	uint64_t now = os_clock_ms();
	bool sampled = load_acquire(&c->watch) & WATCH_SAMPLE; /* pairs with cache_watch_locked() */

	if (mean < CONTROL_SAMPLING_MIN || mean > CONTROL_SAMPLING_MAX ||
	    now > load_relaxed(&control.sample_until)) {
		cmpxchg(&control.sample_mean, mean, 0);
		malloc_rearm();
		return 0;
	}
	if (t->mean != mean)
		draw(t, mean);
	if (sampling_passes(size))
		return 0;
	draw(t, mean);
	account(mean, sampled ? SAMPLED_COST : 1, now);
	if (!sampled)
		return 0;
	fetch_add(&control.sampled, 1);
	return DEBUG_SAMPLE(SAMPLING_BYTES(size), mean);
}
