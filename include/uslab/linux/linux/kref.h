/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/kref.h - counts of references with a function that is called at the last one
 */
#ifndef USLAB_LINUX_KREF_H
#define USLAB_LINUX_KREF_H

#include <linux/refcount.h>

struct kref {
	refcount_t refcount;
};

#define KREF_INIT(n)                         \
	{                                    \
		.refcount = REFCOUNT_INIT(n) \
	}

static inline void kref_init(struct kref *kref)
{
	refcount_set(&kref->refcount, 1);
}

static inline unsigned int kref_read(const struct kref *kref)
{
	return refcount_read(&kref->refcount);
}

static inline void kref_get(struct kref *kref)
{
	refcount_inc(&kref->refcount);
}

static inline __must_check bool kref_get_unless_zero(struct kref *kref)
{
	return refcount_inc_not_zero(&kref->refcount);
}

/* Returns 1 if release was called. */
static inline int kref_put(struct kref *kref, void (*release)(struct kref *kref))
{
	bool last = refcount_dec_and_test(&kref->refcount);

	if (last)
		release(kref);
	return last;
}

/* release is called with the lock held, and unlocks it. */
static inline int kref_put_mutex(struct kref *kref, void (*release)(struct kref *kref),
				 struct mutex *lock)
{
	bool last = refcount_dec_and_mutex_lock(&kref->refcount, lock);

	if (last)
		release(kref);
	return last;
}

static inline int kref_put_lock(struct kref *kref, void (*release)(struct kref *kref),
				spinlock_t *lock)
{
	bool last = refcount_dec_and_lock(&kref->refcount, lock);

	if (last)
		release(kref);
	return last;
}

#endif /* USLAB_LINUX_KREF_H */
