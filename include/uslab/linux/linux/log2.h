/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/log2.h - logarithms to base 2, and powers of two
 *
 * Undefined for 0, but is_power_of_2(). Constants for constant arguments.
 */
#ifndef USLAB_LINUX_LOG2_H
#define USLAB_LINUX_LOG2_H

#if __has_include_next(<linux/log2.h>)
#include_next <linux/log2.h>
#else

#include <linux/types.h>

/* Rounded down. */
#define ilog2(n) (63 - __builtin_clzll((unsigned long long)(n)))

/* Rounded up. */
#define order_base_2(n) ((n) > 1 ? ilog2((n)-1) + 1 : 0)

#define roundup_pow_of_two(n) (1ul << order_base_2(n))
#define rounddown_pow_of_two(n) (1ul << ilog2(n))

static inline bool is_power_of_2(unsigned long n)
{
	return n && !(n & (n - 1));
}

#endif
#endif /* USLAB_LINUX_LOG2_H */
