/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/overflow.h - sums and products that say if they overflow, and sizes that do not
 *
 * A size that overflows is SIZE_MAX, which no allocation has.
 */
#ifndef USLAB_LINUX_OVERFLOW_H
#define USLAB_LINUX_OVERFLOW_H

#if __has_include_next(<linux/overflow.h>)
#include_next <linux/overflow.h>
#endif

#include <linux/compiler.h>
#include <linux/types.h>

#ifndef check_add_overflow
#define check_add_overflow(a, b, result) __builtin_add_overflow(a, b, result)
#define check_sub_overflow(a, b, result) __builtin_sub_overflow(a, b, result)
#define check_mul_overflow(a, b, result) __builtin_mul_overflow(a, b, result)
#endif

/* A kernel tree has some of them as functions. */
#ifndef USLAB_KERNEL_TREE
static inline size_t __must_check size_mul(size_t a, size_t b)
{
	size_t bytes;

	return check_mul_overflow(a, b, &bytes) ? SIZE_MAX : bytes;
}

static inline size_t __must_check size_add(size_t a, size_t b)
{
	size_t bytes;

	return check_add_overflow(a, b, &bytes) ? SIZE_MAX : bytes;
}

/* SIZE_MAX also if one of the two is. */
static inline size_t __must_check size_sub(size_t a, size_t b)
{
	size_t bytes;

	if (a == SIZE_MAX || b == SIZE_MAX || check_sub_overflow(a, b, &bytes))
		return SIZE_MAX;
	return bytes;
}

#define array_size(n, size) size_mul(n, size)
#define array3_size(a, b, size) size_mul(size_mul(a, b), size)
#define flex_array_size(p, member, n) size_mul(n, sizeof(*(p)->member))
#define struct_size(p, member, n) size_add(sizeof(*(p)), flex_array_size(p, member, n))
#define struct_size_t(type, member, n) struct_size((type *)NULL, member, n)
#endif

#endif /* USLAB_LINUX_OVERFLOW_H */
