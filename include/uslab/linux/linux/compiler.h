/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/compiler.h - names for attributes and for accesses that the compiler must keep
 *
 * Annotations for sparse (__user, __rcu, __acquires(), ...) are nothing. READ_ONCE() and
 * WRITE_ONCE() are single accesses for words and less; for others they may be several, as there.
 * fallthrough is the attribute as a statement.
 */
#ifndef USLAB_LINUX_COMPILER_H
#define USLAB_LINUX_COMPILER_H

#if __has_include_next(<linux/compiler.h>)
#include_next <linux/compiler.h>
#else

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define barrier() __atomic_signal_fence(__ATOMIC_SEQ_CST)

#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, value)                               \
	do {                                               \
		*(volatile __typeof__(x) *)&(x) = (value); \
	} while (0)

#define __same_type(a, b) __builtin_types_compatible_p(__typeof__(a), __typeof__(b))

#define noinline __attribute__((__noinline__))
#define __packed __attribute__((__packed__))
#define __aligned(n) __attribute__((__aligned__(n)))
#define __maybe_unused __attribute__((__unused__))
#define __used __attribute__((__used__))
#define __must_check __attribute__((__warn_unused_result__))
#define __noreturn __attribute__((__noreturn__))
#define __pure __attribute__((__pure__))
#define __cold __attribute__((__cold__))
#define __weak __attribute__((__weak__))
#define __printf(format, first) __attribute__((__format__(__printf__, format, first)))
#define __read_mostly

/* libc has these, too. */
#ifndef __always_inline
#define __always_inline inline __attribute__((__always_inline__))
#endif
#ifndef __attribute_const__
#define __attribute_const__ __attribute__((__const__))
#endif

#define __user
#define __rcu
#define __force
#ifndef __bitwise
#define __bitwise
#endif
#define __acquires(x)
#define __releases(x)
#define __must_hold(x)
#define __acquire(x) ((void)0)
#define __release(x) ((void)0)

#endif

/* What some trees lack; and one name that the system's <linux/stddef.h> has, too. */
#ifndef unreachable
#define unreachable() __builtin_unreachable()
#endif
#ifndef data_race
#define data_race(expression) (expression)
#endif
#ifndef __UNIQUE_ID
#define __UNIQUE_ID(prefix) USLAB_JOIN(USLAB_JOIN(prefix, _uslab_), __COUNTER__)
#define USLAB_JOIN(a, b) USLAB_JOIN_EXPANDED(a, b)
#define USLAB_JOIN_EXPANDED(a, b) a##b
#endif
#ifndef fallthrough
#define fallthrough __attribute__((__fallthrough__))
#endif
#ifndef __always_unused
#define __always_unused __attribute__((__unused__))
#endif
#ifndef __section
#define __section(section) __attribute__((__section__(section)))
#endif
#ifndef ____cacheline_aligned
#define ____cacheline_aligned __attribute__((__aligned__(64)))
#endif
#ifndef ____cacheline_aligned_in_smp
#define ____cacheline_aligned_in_smp ____cacheline_aligned
#endif
#ifndef __kernel
#define __kernel
#endif
#ifndef __iomem
#define __iomem
#endif
#ifndef __percpu
#define __percpu
#endif
#ifndef __nocast
#define __nocast
#endif
#ifndef __counted_by
#define __counted_by(member)
#endif

#endif /* USLAB_LINUX_COMPILER_H */
