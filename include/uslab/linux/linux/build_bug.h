/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/build_bug.h - what the compiler can find to be wrong
 */
#ifndef USLAB_LINUX_BUILD_BUG_H
#define USLAB_LINUX_BUILD_BUG_H

#if __has_include_next(<linux/build_bug.h>)
#include_next <linux/build_bug.h>
#else

#include <assert.h>

#define BUILD_BUG_ON_MSG(condition, message) _Static_assert(!(condition), message)
#define BUILD_BUG_ON(condition) BUILD_BUG_ON_MSG(condition, "BUILD_BUG_ON: " #condition)
#define BUILD_BUG_ON_NOT_POWER_OF_2(n) BUILD_BUG_ON((n) == 0 || ((n) & ((n)-1)) != 0)
/* 0, as a part of an expression */
#define BUILD_BUG_ON_ZERO(condition) ((int)(sizeof(struct { int : (-!!(condition)); })))

#endif
#endif /* USLAB_LINUX_BUILD_BUG_H */
