/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/align.h - multiples of powers of two
 */
#ifndef USLAB_LINUX_ALIGN_H
#define USLAB_LINUX_ALIGN_H

#if __has_include_next(<linux/align.h>)
#include_next <linux/align.h>
#endif

/* Each by itself: trees have some of them elsewhere. */
#ifndef __ALIGN_MASK
#define __ALIGN_MASK(x, mask) (((x) + (mask)) & ~(mask))
#endif
#ifndef ALIGN
#define ALIGN(x, a) __ALIGN_MASK(x, (__typeof__(x))(a)-1)
#endif
#ifndef ALIGN_DOWN
#define ALIGN_DOWN(x, a) ((x) & ~((__typeof__(x))(a)-1))
#endif
#ifndef PTR_ALIGN
#define PTR_ALIGN(p, a) ((__typeof__(p))ALIGN((unsigned long)(p), (a)))
#endif
#ifndef PTR_ALIGN_DOWN
#define PTR_ALIGN_DOWN(p, a) ((__typeof__(p))ALIGN_DOWN((unsigned long)(p), (a)))
#endif
#ifndef IS_ALIGNED
#define IS_ALIGNED(x, a) (((x) & ((__typeof__(x))(a)-1)) == 0)
#endif

#endif /* USLAB_LINUX_ALIGN_H */
