/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/bug.h - what should not be: BUG() ends the program, WARN() says so
 *
 * The value of WARN_ON() and its like is that of the condition.
 */
#ifndef USLAB_LINUX_BUG_H
#define USLAB_LINUX_BUG_H

#include <linux/build_bug.h>

#if __has_include_next(<linux/bug.h>)
/* Some trees define this in both, and have BUG() in <linux/kernel.h>, WARN() in <asm/bug.h>. */
#pragma push_macro("BUILD_BUG_ON_ZERO")
#undef BUILD_BUG_ON_ZERO
#include_next <linux/bug.h>
#undef BUILD_BUG_ON_ZERO
#pragma pop_macro("BUILD_BUG_ON_ZERO")
#include <linux/kernel.h>
#if __has_include(<asm/bug.h>)
#include <asm/bug.h>
#endif
#else

#include <stdlib.h>

#include <linux/compiler.h>
#include <linux/printk.h>
#include <linux/types.h>

#define BUG()                                                                                 \
	do {                                                                                  \
		printk(KERN_EMERG "kernel BUG at %s:%d: %s\n", __FILE__, __LINE__, __func__); \
		abort();                                                                      \
	} while (0)
#define BUG_ON(condition)                \
	do {                             \
		if (unlikely(condition)) \
			BUG();           \
	} while (0)

#define WARN(condition, format, ...)                                                             \
	(__extension__({                                                                         \
		bool uslab_bad = !!(condition);                                                  \
                                                                                                 \
		if (unlikely(uslab_bad))                                                         \
			printk(KERN_WARNING "WARNING: at %s:%d %s\n" format, __FILE__, __LINE__, \
			       __func__, ##__VA_ARGS__);                                         \
		unlikely(uslab_bad);                                                             \
	}))
#define WARN_ON(condition) WARN(condition, "")
#define WARN_ONCE(condition, ...)                                             \
	(__extension__({                                                      \
		static int uslab_warned;                                      \
		bool uslab_once = !!(condition);                              \
                                                                              \
		if (unlikely(uslab_once) &&                                   \
		    !__atomic_exchange_n(&uslab_warned, 1, __ATOMIC_RELAXED)) \
			(void)WARN(1, __VA_ARGS__);                           \
		unlikely(uslab_once);                                         \
	}))
#define WARN_ON_ONCE(condition) WARN_ONCE(condition, "")
#define VM_BUG_ON(condition) BUG_ON(condition)
#define VM_WARN_ON(condition) ((void)WARN_ON(condition))

#endif
#endif /* USLAB_LINUX_BUG_H */
