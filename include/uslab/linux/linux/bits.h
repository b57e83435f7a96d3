/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/bits.h - masks of bits
 */
#ifndef USLAB_LINUX_BITS_H
#define USLAB_LINUX_BITS_H

/* A tree's; or the system's, which newer ones have, with nothing in it of what is below. */
#if __has_include_next(<linux/bits.h>)
#include_next <linux/bits.h>
#endif
#ifndef BIT_MASK

#define BITS_PER_BYTE 8
#ifndef BITS_PER_LONG
#define BITS_PER_LONG 64
#endif
#define BITS_PER_LONG_LONG 64

#define BIT(n) (1ul << (n))
#define BIT_ULL(n) (1ull << (n))
#define BIT_MASK(n) BIT((n) % BITS_PER_LONG)
#define BIT_WORD(n) ((n) / BITS_PER_LONG)

/* Bits low to high, both of them too. */
#define GENMASK(high, low) ((~0ul << (low)) & (~0ul >> (BITS_PER_LONG - 1 - (high))))
#define GENMASK_ULL(high, low) ((~0ull << (low)) & (~0ull >> (BITS_PER_LONG_LONG - 1 - (high))))

#endif
#endif /* USLAB_LINUX_BITS_H */
