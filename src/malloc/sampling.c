/* SPDX-License-Identifier: MIT */
/*
 * malloc/sampling.c - random skips, and the end of sampling
 *
 * Data:       sampling_thread; the recent cost of sampling.
 * Invariants: as sampling.h. The mean that is used is in range, whatever control.sample_mean is.
 * Locks:      none. Lost counts of the cost do not matter.
 * Flow:       called by group.c and slow.c; calls malloc_rearm().
 *
 * A sampled object costs two stack walks and two locks, so some thousands a second are the limit.
 * The tool cannot poll often enough to see a program go from sleep to work, so the process itself
 * doubles the mean. The tool lowers it again.
 */
#include "base/mix.h"
#include "malloc/sampling.h"

#include "debug/debug.h"
#include "os/time/clock.h"
#include "os/process/random.h"

/*
 * The unit of cost: a call for an allocation that is not to be tracked; a sampled one costs
 * SAMPLED_COST.
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
	if (unlikely(!t->random))
		t->random = os_random();
	return mix_bits(t->random += MIX_GOLDEN);
}

/*
 * An exponential number of mean 1 in units of 2^-32, without logarithms (von Neumann): of uniform
 * numbers u1, u2, ... the first that is larger than the one before it has an even index with
 * probability exp(-u1). Then the result is u1, else 1 more than that of another try.
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

/* Adds to the cost. Above the budget the mean is doubled: half as many are sampled from now on. */
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
