/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/hash.h - numbers and pointers, spread over a number of bits
 *
 * By a multiplication with 2^32 or 2^64 over the golden ratio squared, of which the upper bits are
 * taken. Not for numbers that somebody chooses who means harm.
 */
#ifndef USLAB_LINUX_HASH_H
#define USLAB_LINUX_HASH_H

#if __has_include_next(<linux/hash.h>)
#include_next <linux/hash.h>
#else

#include <linux/types.h>

#define GOLDEN_RATIO_32 0x61c88647u
#define GOLDEN_RATIO_64 0x61c8864680b583ebull

static inline u32 hash_32(u32 n, unsigned int bits)
{
	return n * GOLDEN_RATIO_32 >> (32 - bits);
}

static inline u32 hash_64(u64 n, unsigned int bits)
{
	return (u32)(n * GOLDEN_RATIO_64 >> (64 - bits));
}

static inline u32 hash_long(unsigned long n, unsigned int bits)
{
	return hash_64(n, bits);
}

static inline u32 hash_ptr(const void *p, unsigned int bits)
{
	return hash_long((unsigned long)p, bits);
}

#endif
#endif /* USLAB_LINUX_HASH_H */
