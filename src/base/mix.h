/* SPDX-License-Identifier: MIT */
/*
 * base/mix.h - numbers that look random: hashes, and the steps of splitmix64
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none.
 * Flow:       used everywhere.
 */
#ifndef BASE_MIX_H
#define BASE_MIX_H

#include "base/compiler.h"

#define MIX_GOLDEN 0x9e3779b97f4a7c15ull /* 2^64 / golden ratio: odd, its multiples spread well */

/* A hash: its upper bits depend on all bits of x. */
static always_inline uint64_t mix_multiply(uint64_t x)
{
	return x * MIX_GOLDEN;
}

/*
 * The last step of splitmix64: each bit of the result depends on each bit of x. Of a counter that
 * MIX_GOLDEN is added to each time it makes random numbers.
 */
static always_inline uint64_t mix_bits(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

#endif /* BASE_MIX_H */
