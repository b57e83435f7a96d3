/* SPDX-License-Identifier: MIT */
/*
 * malloc/sampling.h - which allocations are sampled: those at which a random number of bytes has
 * been allocated
 *
 * Why:        docs/adr/0019; docs/adr/0015 is what was before.
 * Data:       of each thread: bytes to go, and the state of its random numbers.
 * Invariants: each allocation of `size` bytes is sampled with probability 1 -
 *             exp(-SAMPLING_BYTES(size) / 2^mean), independent of all others: skips are
 *             exponentially distributed, and so memoryless.
 * Locks:      none.
 * Flow:       while control.sample_mean is set the limit of the hit path is CONTROL_SAMPLING, so
 *             every malloc() reaches slow.c, which calls sampling_passes() and then mostly does
 *             what the hit path does.
 *
 * Time has no influence: a program that sleeps, works in bursts or always calls in the same order
 * is sampled like any other. Without sampling the hit path does nothing for it.
 */
#ifndef MALLOC_SAMPLING_H
#define MALLOC_SAMPLING_H

#include "cache/control/control.h"
#include "malloc/internal.h"

#define SAMPLING_EXTRA 16 /* so that small objects, and those of size 0, count as well */
#define SAMPLING_BYTES(size) ((size) + SAMPLING_EXTRA)

struct sampling_thread {
	uint64_t left;	 /* bytes until the next one is sampled */
	uint64_t random; /* 0: not seeded yet */
	uint32_t mean;	 /* that left was drawn with; 0: not drawn */
};

extern __thread struct sampling_thread sampling_thread __attribute__((visibility("hidden")));

/*
 * true: the allocation is not sampled, and its bytes are counted; false: nothing has changed.
 *
 * One load and one store: bytes that a signal handler counts in between are lost, but left never
 * falls below 0, where nothing would be sampled any more.
 */
static always_inline bool sampling_passes(size_t size)
{
	uint64_t left = load_relaxed(&sampling_thread.left);

	if (unlikely(sampling_thread.mean != load_relaxed(&control.sample_mean) ||
		     left < SAMPLING_BYTES(size)))
		return false;
	store_relaxed(&sampling_thread.left, left - SAMPLING_BYTES(size));
	return true;
}

/*
 * For an allocation from cache c for which sampling_passes() was false. Not 0: it is to be tracked,
 * with this value (DEBUG_SAMPLE()). Ends the sampling when the lease is over.
 */
cold uint32_t sampling_decide(const struct cache *c, size_t size);

#endif /* MALLOC_SAMPLING_H */
