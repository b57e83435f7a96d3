/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/refcount.h - counts of references, which stay where they are when they overflow
 *
 * A count that would pass INT_MAX, or rise from 0, or fall below it, is saturated: it never gets to
 * 0 again, what it counts is never freed, and a message says so once.
 */
#ifndef USLAB_LINUX_REFCOUNT_H
#define USLAB_LINUX_REFCOUNT_H

#include <limits.h>
#include <stdio.h>

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>

typedef struct refcount_struct {
	atomic_t refs;
} refcount_t;

#define REFCOUNT_INIT(n)               \
	{                              \
		.refs = ATOMIC_INIT(n) \
	}
#define REFCOUNT_MAX INT_MAX
#define REFCOUNT_SATURATED (INT_MIN / 2)

static inline void refcount_set(refcount_t *r, int n)
{
	atomic_set(&r->refs, n);
}

static inline unsigned int refcount_read(const refcount_t *r)
{
	return (unsigned int)atomic_read(&r->refs);
}

static inline void uslab_refcount_saturate(refcount_t *r, const char *why)
{
	static int said;

	refcount_set(r, REFCOUNT_SATURATED);
	if (!__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
		fprintf(stderr, "WARNING: refcount_t: %s\n", why);
}

/* Not from 0: then false. */
static inline __must_check bool refcount_add_not_zero(int n, refcount_t *r)
{
	int old = atomic_fetch_add_unless(&r->refs, n, 0);

	if (old < 0 || old > REFCOUNT_MAX - n)
		uslab_refcount_saturate(r, "saturated; leaking memory.");
	return old != 0;
}

static inline __must_check bool refcount_inc_not_zero(refcount_t *r)
{
	return refcount_add_not_zero(1, r);
}

static inline void refcount_add(int n, refcount_t *r)
{
	if (!refcount_add_not_zero(n, r))
		uslab_refcount_saturate(r, "addition on 0; use-after-free.");
}

static inline void refcount_inc(refcount_t *r)
{
	refcount_add(1, r);
}

/* True: it is 0 now. All that was done before it happened before what is done then. */
static inline __must_check bool refcount_sub_and_test(int n, refcount_t *r)
{
	int old = atomic_fetch_sub(n, &r->refs);

	if (old == n)
		return true;
	if (old < n)
		uslab_refcount_saturate(r, "underflow; use-after-free.");
	return false;
}

static inline __must_check bool refcount_dec_and_test(refcount_t *r)
{
	return refcount_sub_and_test(1, r);
}

/* Not to 0, which is a mistake. */
static inline void refcount_dec(refcount_t *r)
{
	if (refcount_dec_and_test(r))
		uslab_refcount_saturate(r, "decrement hit 0; leaking memory.");
}

static inline __must_check bool refcount_dec_not_one(refcount_t *r)
{
	int old = atomic_read(&r->refs);

	while (old > 1)
		if (atomic_try_cmpxchg(&r->refs, &old, old - 1))
			return true;
	return old != 1;
}

/* True: it is 0 now, and the lock is held. */
static inline __must_check bool refcount_dec_and_mutex_lock(refcount_t *r, struct mutex *lock)
{
	if (refcount_dec_not_one(r))
		return false;
	mutex_lock(lock);
	if (refcount_dec_and_test(r))
		return true;
	mutex_unlock(lock);
	return false;
}

static inline __must_check bool refcount_dec_and_lock(refcount_t *r, spinlock_t *lock)
{
	if (refcount_dec_not_one(r))
		return false;
	spin_lock(lock);
	if (refcount_dec_and_test(r))
		return true;
	spin_unlock(lock);
	return false;
}

#endif /* USLAB_LINUX_REFCOUNT_H */
