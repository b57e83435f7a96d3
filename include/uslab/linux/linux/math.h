/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/math.h - divisions that are rounded, and multiples
 *
 * abs() is libc's, for int; labs() and llabs() are for the others.
 */
#ifndef USLAB_LINUX_MATH_H
#define USLAB_LINUX_MATH_H

#if __has_include_next(<linux/math.h>)
#include_next <linux/math.h>
#endif

#include <stdlib.h>

/* To multiples of a power of two. */
#ifndef round_up
#define round_up(x, y) ((((x)-1) | (__typeof__(x))((y)-1)) + 1)
#endif
#ifndef round_down
#define round_down(x, y) ((x) & ~(__typeof__(x))((y)-1))
#endif

/* For any divisor. */
#ifndef DIV_ROUND_UP
#define DIV_ROUND_UP(n, d) (((n) + (d)-1) / (d))
#endif
#ifndef DIV_ROUND_UP_ULL
#define DIV_ROUND_UP_ULL(n, d) DIV_ROUND_UP((unsigned long long)(n), (d))
#endif
/* To the nearest; of numbers that are not negative. */
#ifndef DIV_ROUND_CLOSEST
#define DIV_ROUND_CLOSEST(n, d) (((n) + (d) / 2) / (d))
#endif
#ifndef roundup
#define roundup(x, y) (DIV_ROUND_UP(x, y) * (y))
#endif
#ifndef rounddown
#define rounddown(x, y) ((x) - (x) % (y))
#endif
/* x * n / d without overflow of the product */
#ifndef mult_frac
#define mult_frac(x, n, d) (((x) / (d)) * (n) + ((x) % (d)) * (n) / (d))
#endif

#endif /* USLAB_LINUX_MATH_H */
