/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/minmax.h - the lesser, the greater, the nearest in a range; and swap()
 *
 * Arguments are evaluated once. min() and its like want two of the same signedness, as there.
 */
#ifndef USLAB_LINUX_MINMAX_H
#define USLAB_LINUX_MINMAX_H

#if __has_include_next(<linux/minmax.h>)
#include_next <linux/minmax.h>
#endif

#include <linux/compiler.h>

#ifndef min
#define USLAB_CHOOSE(op, a, b)                          \
	(__extension__({                                \
		__typeof__(a) uslab_a = (a);            \
		__typeof__(b) uslab_b = (b);            \
		uslab_a op uslab_b ? uslab_a : uslab_b; \
	}))
#define min(a, b) USLAB_CHOOSE(<, a, b)
#define max(a, b) USLAB_CHOOSE(>, a, b)
#endif
#ifndef min_t
#define min_t(type, a, b) min((type)(a), (type)(b))
#endif
#ifndef max_t
#define max_t(type, a, b) max((type)(a), (type)(b))
#endif
#ifndef min3
#define min3(a, b, c) min((__typeof__(a))min(a, b), c)
#endif
#ifndef max3
#define max3(a, b, c) max((__typeof__(a))max(a, b), c)
#endif
#ifndef clamp
#define clamp(value, low, high) min((__typeof__(value))max(value, low), high)
#endif
#ifndef clamp_t
#define clamp_t(type, value, low, high) clamp((type)(value), (type)(low), (type)(high))
#endif
#ifndef clamp_val
#define clamp_val(value, low, high) clamp_t(__typeof__(value), value, low, high)
#endif
/* Constants of constants, of one type; newer kernels have them, and <sys/param.h>. */
#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif
#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif
/* The lesser of those that are not 0; 0: both are. */
#ifndef min_not_zero
#define min_not_zero(a, b)                                            \
	(__extension__({                                              \
		__typeof__(a) uslab_first = (a);                      \
		__typeof__(b) uslab_second = (b);                     \
		uslab_first == 0    ? uslab_second                    \
		: uslab_second == 0 ? uslab_first                     \
				    : min(uslab_first, uslab_second); \
	}))
#endif
#ifndef swap
#define swap(a, b)                              \
	do {                                    \
		__typeof__(a) uslab_swap = (a); \
		(a) = (b);                      \
		(b) = uslab_swap;               \
	} while (0)
#endif

#endif /* USLAB_LINUX_MINMAX_H */
