/* SPDX-License-Identifier: MIT */
/*
 * base/bits.h - arithmetic on powers of two (spec 0.1), and on bits
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none.
 * Flow:       used everywhere.
 */
#ifndef BASE_BITS_H
#define BASE_BITS_H

#include "base/compiler.h"

#define ALIGN_UP(x, a) (((x) + ((a)-1)) & ~((__typeof__(x))(a)-1))
#define ALIGN_DOWN(x, a) ((x) & ~((__typeof__(x))(a)-1))
#define DIV_ROUND_UP(a, b) (((a) + (b)-1) / (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define CLAMP(x, lo, hi) MIN(MAX(x, lo), hi)

/* Number of the highest set bit counted from 1; fls(0) is 0. */
static inline unsigned int fls(unsigned long x)
{
	return x ? 64u - (unsigned int)__builtin_clzl(x) : 0;
}

/* x > 0 */
static inline unsigned int ilog2(unsigned long x)
{
	return fls(x) - 1;
}

static inline bool is_pow2(unsigned long x)
{
	return x && !(x & (x - 1));
}

/*
 * How many bits are set: by fields of 2, 4 and 8 bits, whose sum is in the highest byte at last.
 * Not __builtin_popcountl(), which is a call where the oldest CPU of a build has no instruction for
 * it; of this compilers make that instruction where there is one.
 */
static inline unsigned int bits_count(unsigned long x)
{
	x -= (x >> 1) & 0x5555555555555555ul;
	x = (x & 0x3333333333333333ul) + ((x >> 2) & 0x3333333333333333ul);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0ful;
	return (unsigned int)((x * 0x0101010101010101ul) >> 56);
}

/* Smallest order whose block holds size bytes, size > 0. */
static inline unsigned int get_order(unsigned long size)
{
	return fls((size - 1) >> PAGE_SHIFT);
}

#endif /* BASE_BITS_H */
