/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/bitops.h - bits of words and of arrays of words
 *
 * set_bit(), clear_bit() and change_bit() are atomic and order nothing; those that test as well
 * order everything; test_and_set_bit_lock() and clear_bit_unlock() are a lock's. With __ in front
 * they are not atomic. ffs() is libc's. __ffs(0), __fls(0) and ffz(~0) are undefined.
 */
#ifndef USLAB_LINUX_BITOPS_H
#define USLAB_LINUX_BITOPS_H

#if __has_include_next(<linux/bitops.h>)
#include_next <linux/bitops.h>
#else

#include <strings.h>

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/find.h>
#include <linux/types.h>

#define BITS_TO_LONGS(n) (((n) + BITS_PER_LONG - 1) / BITS_PER_LONG)
#define BITS_TO_BYTES(n) (((n) + BITS_PER_BYTE - 1) / BITS_PER_BYTE)

static inline bool test_bit(long n, const volatile unsigned long *words)
{
	return words[BIT_WORD(n)] & BIT_MASK(n);
}

static inline void set_bit(long n, volatile unsigned long *words)
{
	__atomic_fetch_or(&words[BIT_WORD(n)], BIT_MASK(n), __ATOMIC_RELAXED);
}

static inline void clear_bit(long n, volatile unsigned long *words)
{
	__atomic_fetch_and(&words[BIT_WORD(n)], ~BIT_MASK(n), __ATOMIC_RELAXED);
}

static inline void change_bit(long n, volatile unsigned long *words)
{
	__atomic_fetch_xor(&words[BIT_WORD(n)], BIT_MASK(n), __ATOMIC_RELAXED);
}

static inline bool test_and_set_bit(long n, volatile unsigned long *words)
{
	return __atomic_fetch_or(&words[BIT_WORD(n)], BIT_MASK(n), __ATOMIC_SEQ_CST) & BIT_MASK(n);
}

static inline bool test_and_clear_bit(long n, volatile unsigned long *words)
{
	return __atomic_fetch_and(&words[BIT_WORD(n)], ~BIT_MASK(n), __ATOMIC_SEQ_CST) &
	       BIT_MASK(n);
}

static inline bool test_and_change_bit(long n, volatile unsigned long *words)
{
	return __atomic_fetch_xor(&words[BIT_WORD(n)], BIT_MASK(n), __ATOMIC_SEQ_CST) & BIT_MASK(n);
}

/* Pairs with clear_bit_unlock(). */
static inline bool test_and_set_bit_lock(long n, volatile unsigned long *words)
{
	return __atomic_fetch_or(&words[BIT_WORD(n)], BIT_MASK(n), __ATOMIC_ACQUIRE) & BIT_MASK(n);
}

/* Pairs with test_and_set_bit_lock(). */
static inline void clear_bit_unlock(long n, volatile unsigned long *words)
{
	__atomic_fetch_and(&words[BIT_WORD(n)], ~BIT_MASK(n), __ATOMIC_RELEASE);
}

static inline void __set_bit(long n, volatile unsigned long *words)
{
	words[BIT_WORD(n)] |= BIT_MASK(n);
}

static inline void __clear_bit(long n, volatile unsigned long *words)
{
	words[BIT_WORD(n)] &= ~BIT_MASK(n);
}

static inline void __change_bit(long n, volatile unsigned long *words)
{
	words[BIT_WORD(n)] ^= BIT_MASK(n);
}

static inline bool __test_and_set_bit(long n, volatile unsigned long *words)
{
	bool was = test_bit(n, words);

	__set_bit(n, words);
	return was;
}

static inline bool __test_and_clear_bit(long n, volatile unsigned long *words)
{
	bool was = test_bit(n, words);

	__clear_bit(n, words);
	return was;
}

static inline void assign_bit(long n, volatile unsigned long *words, bool value)
{
	if (value)
		set_bit(n, words);
	else
		clear_bit(n, words);
}

static inline void __assign_bit(long n, volatile unsigned long *words, bool value)
{
	if (value)
		__set_bit(n, words);
	else
		__clear_bit(n, words);
}

/* ---- one word ---- */

/* From 1 on; 0: none. */
static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

static inline int fls(unsigned int x)
{
	return fls64(x);
}

static inline unsigned int fls_long(unsigned long x)
{
	return (unsigned int)fls64(x);
}

/* The logarithm to base 2, rounded up; -1 of 0. */
static inline int get_count_order_long(unsigned long x)
{
	return x ? fls64(x - 1) : -1;
}

static inline int get_count_order(unsigned int x)
{
	return get_count_order_long(x);
}

/* From 0 on. */
static inline unsigned long __ffs(unsigned long x)
{
	return (unsigned long)__builtin_ctzl(x);
}

static inline unsigned long __fls(unsigned long x)
{
	return (unsigned long)(63 - __builtin_clzl(x));
}

static inline unsigned long ffz(unsigned long x)
{
	return __ffs(~x);
}

#define hweight8(x) ((unsigned int)__builtin_popcount((u8)(x)))
#define hweight16(x) ((unsigned int)__builtin_popcount((u16)(x)))
#define hweight32(x) ((unsigned int)__builtin_popcount((u32)(x)))
#define hweight64(x) ((unsigned long)__builtin_popcountll((u64)(x)))
#define hweight_long(x) hweight64(x)

static inline u64 rol64(u64 x, unsigned int n)
{
	return (x << (n & 63)) | (x >> (-n & 63));
}

static inline u64 ror64(u64 x, unsigned int n)
{
	return (x >> (n & 63)) | (x << (-n & 63));
}

static inline u32 rol32(u32 x, unsigned int n)
{
	return (x << (n & 31)) | (x >> (-n & 31));
}

static inline u32 ror32(u32 x, unsigned int n)
{
	return (x >> (n & 31)) | (x << (-n & 31));
}

/* n is the number of the sign bit. */
static inline s32 sign_extend32(u32 x, int n)
{
	return (s32)(x << (31 - n)) >> (31 - n);
}

static inline s64 sign_extend64(u64 x, int n)
{
	return (s64)(x << (63 - n)) >> (63 - n);
}

#endif
#endif /* USLAB_LINUX_BITOPS_H */
