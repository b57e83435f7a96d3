/* SPDX-License-Identifier: MIT */
/*
 * malloc/pick.h - which allocations a tool that samples sees: those at which a random
 * number of bytes has passed
 *
 * Why:        docs/adr/0019; docs/adr/0015 is what was before.
 * Data:       of each thread: bytes to go, and the state of its random numbers.
 * Invariants: each allocation of `size` bytes is picked with probability 1 - exp(-PICK_BYTES(size)
 *             / 2^mean), whatever came before it and whenever it comes: skips are exponential, and
 *             such a skip has no memory.
 * Locks:      none.
 * Flow:       while control.pick_mean is set the limit of the hit path is CONTROL_PICK,
 *             so every malloc() comes to slow.c, which asks pick_passes() and then mostly
 *             does what the hit path does.
 *
 * Time plays no part in it: a program that sleeps, works in bursts or always calls in the same
 * order is sampled like any other. A hit path that nobody samples knows nothing of this.
 */
#ifndef MALLOC_PICK_H
#define MALLOC_PICK_H

#include "cache/control/control.h"
#include "malloc/internal.h"

#define PICK_EXTRA 16 /* so that small objects, and those of size 0, count as well */
#define PICK_BYTES(size) ((size) + PICK_EXTRA)

struct pick_thread {
	uint64_t left;	 /* bytes that pass before the next one is picked */
	uint64_t random; /* 0: not seeded yet */
	uint32_t mean;	 /* that left was drawn with; 0: not drawn */
};

extern __thread struct pick_thread pick_thread __attribute__((visibility("hidden")));

/*
 * Is that allocation none to be picked? Then it is counted; false: nothing has changed.
 *
 * One load and one store: what a signal handler counts in between is lost, but left never falls
 * below 0, where nothing would be picked any more.
 */
static always_inline bool pick_passes(size_t size)
{
	uint64_t left = load_relaxed(&pick_thread.left);

	if (unlikely(pick_thread.mean != load_relaxed(&control.pick_mean) ||
		     left < PICK_BYTES(size)))
		return false;
	store_relaxed(&pick_thread.left, left - PICK_BYTES(size));
	return true;
}

/*
 * An allocation from cache c that was not passed, while pick_mean is set. Not 0: it is to be
 * tracked, with this (DEBUG_SAMPLE()). Ends the picking when the lease is over.
 */
cold uint32_t pick_decide(const struct cache *c, size_t size);

#endif /* MALLOC_PICK_H */
