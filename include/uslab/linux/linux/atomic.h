/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/atomic.h - atomic_t, atomic64_t and atomic_long_t, words, and barriers
 *
 * What returns a value orders everything, unless its name ends with _relaxed, _acquire or
 * _release; what returns none orders nothing, as reads and sets. Numbers wrap around.
 */
#ifndef USLAB_LINUX_ATOMIC_H
#define USLAB_LINUX_ATOMIC_H

#include <linux/compiler.h>
#include <linux/types.h>

#define ATOMIC_INIT(n) \
	{              \
		(n)    \
	}
#define ATOMIC64_INIT(n) ATOMIC_INIT(n)
#define ATOMIC_LONG_INIT(n) ATOMIC_INIT(n)

/* ---- words of any type ---- */

#define smp_mb() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_rmb() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_wmb() __atomic_thread_fence(__ATOMIC_RELEASE)
#define smp_mb__before_atomic() smp_mb()
#define smp_mb__after_atomic() smp_mb()
#define smp_load_acquire(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, value) __atomic_store_n(p, value, __ATOMIC_RELEASE)
#define cpu_relax() barrier()

#define xchg(p, value) __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST)
/* What was there: old, if value is there now. */
#define cmpxchg(p, old, value)                                                         \
	(__extension__({                                                               \
		__typeof__(*(p)) uslab_old = (old);                                    \
                                                                                       \
		__atomic_compare_exchange_n(p, &uslab_old, value, 0, __ATOMIC_SEQ_CST, \
					    __ATOMIC_SEQ_CST);                         \
		uslab_old;                                                             \
	}))
/* Whether value is there now; if not *old is what was there. */
#define try_cmpxchg(p, old, value) \
	__atomic_compare_exchange_n(p, old, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

/* ---- counters ---- */

#define USLAB_ATOMIC_FETCH(name, type, number, op)                            \
	static inline void name##_##op(number n, type *v)                     \
	{                                                                     \
		__atomic_fetch_##op(&v->counter, n, __ATOMIC_RELAXED);        \
	}                                                                     \
	static inline number name##_fetch_##op(number n, type *v)             \
	{                                                                     \
		return __atomic_fetch_##op(&v->counter, n, __ATOMIC_SEQ_CST); \
	}                                                                     \
	static inline number name##_fetch_##op##_relaxed(number n, type *v)   \
	{                                                                     \
		return __atomic_fetch_##op(&v->counter, n, __ATOMIC_RELAXED); \
	}
#define USLAB_ATOMIC_RETURN(name, type, number, op, step)                       \
	static inline number name##_##op##_return(number n, type *v)            \
	{                                                                       \
		return __atomic_##op##_fetch(&v->counter, n, __ATOMIC_SEQ_CST); \
	}                                                                       \
	static inline bool name##_##op##_and_test(number n, type *v)            \
	{                                                                       \
		return name##_##op##_return(n, v) == 0;                         \
	}                                                                       \
	static inline void name##_##step(type *v)                               \
	{                                                                       \
		name##_##op(1, v);                                              \
	}                                                                       \
	static inline number name##_##step##_return(type *v)                    \
	{                                                                       \
		return name##_##op##_return(1, v);                              \
	}                                                                       \
	static inline number name##_fetch_##step(type *v)                       \
	{                                                                       \
		return name##_fetch_##op(1, v);                                 \
	}                                                                       \
	static inline bool name##_##step##_and_test(type *v)                    \
	{                                                                       \
		return name##_##step##_return(v) == 0;                          \
	}
#define USLAB_ATOMIC_ACCESS(name, type, number)                               \
	static inline number name##_read(const type *v)                       \
	{                                                                     \
		return __atomic_load_n(&v->counter, __ATOMIC_RELAXED);        \
	}                                                                     \
	static inline number name##_read_acquire(const type *v)               \
	{                                                                     \
		return __atomic_load_n(&v->counter, __ATOMIC_ACQUIRE);        \
	}                                                                     \
	static inline void name##_set(type *v, number n)                      \
	{                                                                     \
		__atomic_store_n(&v->counter, n, __ATOMIC_RELAXED);           \
	}                                                                     \
	static inline void name##_set_release(type *v, number n)              \
	{                                                                     \
		__atomic_store_n(&v->counter, n, __ATOMIC_RELEASE);           \
	}                                                                     \
	static inline number name##_xchg(type *v, number n)                   \
	{                                                                     \
		return xchg(&v->counter, n);                                  \
	}                                                                     \
	static inline number name##_cmpxchg(type *v, number old, number n)    \
	{                                                                     \
		return cmpxchg(&v->counter, old, n);                          \
	}                                                                     \
	static inline bool name##_try_cmpxchg(type *v, number *old, number n) \
	{                                                                     \
		return try_cmpxchg(&v->counter, old, n);                      \
	}
/* unless: adds n, if the number is another one than that; if_positive: only if it stays >= 0. */
#define USLAB_ATOMIC_UNLESS(name, type, number)                                        \
	static inline number name##_fetch_add_unless(type *v, number n, number unless) \
	{                                                                              \
		number old = name##_read(v);                                           \
                                                                                       \
		while (old != unless && !name##_try_cmpxchg(v, &old, old + n))         \
			;                                                              \
		return old;                                                            \
	}                                                                              \
	static inline bool name##_add_unless(type *v, number n, number unless)         \
	{                                                                              \
		return name##_fetch_add_unless(v, n, unless) != unless;                \
	}                                                                              \
	static inline bool name##_inc_not_zero(type *v)                                \
	{                                                                              \
		return name##_add_unless(v, 1, 0);                                     \
	}                                                                              \
	static inline number name##_dec_if_positive(type *v)                           \
	{                                                                              \
		number old = name##_read(v);                                           \
                                                                                       \
		while (old > 0 && !name##_try_cmpxchg(v, &old, old - 1))               \
			;                                                              \
		return old - 1;                                                        \
	}
#define USLAB_ATOMIC(name, type, number)                  \
	USLAB_ATOMIC_ACCESS(name, type, number)           \
	USLAB_ATOMIC_FETCH(name, type, number, add)       \
	USLAB_ATOMIC_FETCH(name, type, number, sub)       \
	USLAB_ATOMIC_FETCH(name, type, number, and)       \
	USLAB_ATOMIC_FETCH(name, type, number, or)        \
	USLAB_ATOMIC_FETCH(name, type, number, xor)       \
	USLAB_ATOMIC_RETURN(name, type, number, add, inc) \
	USLAB_ATOMIC_RETURN(name, type, number, sub, dec) \
	USLAB_ATOMIC_UNLESS(name, type, number)

USLAB_ATOMIC(atomic, atomic_t, int)
USLAB_ATOMIC(atomic64, atomic64_t, s64)
USLAB_ATOMIC(atomic_long, atomic_long_t, long)

#endif /* USLAB_LINUX_ATOMIC_H */
