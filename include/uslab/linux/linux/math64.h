/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/math64.h - divisions of 64 bits, which the machines of uslab have
 */
#ifndef USLAB_LINUX_MATH64_H
#define USLAB_LINUX_MATH64_H

#if __has_include_next(<linux/math64.h>)
#include_next <linux/math64.h>
#else

#include <linux/math.h>
#include <linux/types.h>

static inline u64 div_u64(u64 n, u32 d)
{
	return n / d;
}

static inline u64 div_u64_rem(u64 n, u32 d, u32 *remainder)
{
	*remainder = (u32)(n % d);
	return n / d;
}

static inline s64 div_s64(s64 n, s32 d)
{
	return n / d;
}

static inline u64 div64_u64(u64 n, u64 d)
{
	return n / d;
}

static inline u64 div64_u64_rem(u64 n, u64 d, u64 *remainder)
{
	*remainder = n % d;
	return n / d;
}

static inline s64 div64_s64(s64 n, s64 d)
{
	return n / d;
}

/* The remainder; n becomes the quotient. */
#define do_div(n, d)                                         \
	(__extension__({                                     \
		u32 uslab_divisor = (d);                     \
		u32 uslab_rest = (u32)((n) % uslab_divisor); \
		(n) /= uslab_divisor;                        \
		uslab_rest;                                  \
	}))

#endif
#endif /* USLAB_LINUX_MATH64_H */
