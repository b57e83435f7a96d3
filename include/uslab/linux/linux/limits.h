/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/limits.h - the greatest and least numbers of the integers of <linux/types.h>
 *
 * libc's <limits.h> includes this as well.
 */
#ifndef USLAB_LINUX_LIMITS_H
#define USLAB_LINUX_LIMITS_H

#if __has_include_next(<linux/limits.h>)
#include_next <linux/limits.h>
#endif

#include <limits.h>

#ifndef U8_MAX
#define U8_MAX UCHAR_MAX
#define S8_MAX SCHAR_MAX
#define S8_MIN SCHAR_MIN
#define U16_MAX USHRT_MAX
#define S16_MAX SHRT_MAX
#define S16_MIN SHRT_MIN
#define U32_MAX UINT_MAX
#define S32_MAX INT_MAX
#define S32_MIN INT_MIN
#define U64_MAX ULLONG_MAX
#define S64_MAX LLONG_MAX
#define S64_MIN LLONG_MIN
#endif

#endif /* USLAB_LINUX_LIMITS_H */
