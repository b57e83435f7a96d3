/* SPDX-License-Identifier: MIT */
/*
 * uslab/group.h - accounting groups: how much memory the objects of a tenant, a request or a
 * plug-in take, and limits for it; for programs that use <uslab/slab.h>, the drop-in malloc, or
 * both
 *
 * A thread enters a group, and what it allocates from then on is charged to that group, and to
 * those above it: objects of caches with SLAB_ACCOUNT, any call with __GFP_ACCOUNT, and with
 * libuslab_malloc.so every malloc(). The charge stays with the object, whoever frees it. As the
 * kernel's memory cgroups do for its slab objects; the calls are this library's own.
 *
 * Caches that groups share, with inline hits: <uslab/account.h>. Why: docs/adr/0061.
 */
#ifndef USLAB_GROUP_H
#define USLAB_GROUP_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef USLAB_API
#define USLAB_API __attribute__((__visibility__("default")))
#endif

/* A handle: no address. One of a group that was destroyed is noticed, and never another's. */
struct uslab_group;

#define USLAB_GROUP_NAME_MAX 63u /* bytes without the NUL */

/**
 * uslab_group_create - makes a group
 * @name:   1 to USLAB_GROUP_NAME_MAX bytes, printable, no slash; copied. Need not be unique
 * @limit:  bytes that the objects of the group, and of those below it, may take; 0: any
 * @parent: the group that is charged as well, and whose limit holds as well; NULL: none
 *
 * Returns NULL with errno: EINVAL (name), ENOENT (no such parent), ENOSPC (there are 65535),
 * ENOMEM, EAGAIN (libc has no key left for the end of threads). Any thread; not in a signal
 * handler.
 */
USLAB_API struct uslab_group *uslab_group_create(const char *name, size_t limit,
						 struct uslab_group *parent);

/**
 * uslab_group_destroy - ends a group
 *
 * What is charged to it stays charged until it is freed, in the view of its parent: its usage has
 * been a part of that all along. Threads that are in it, and groups below it, go on as if they were
 * in its parent, or in none. NULL: nothing is done. Any thread; not in a signal handler.
 */
USLAB_API void uslab_group_destroy(struct uslab_group *group);

/**
 * uslab_group_enter - charges what this thread allocates to a group from now on
 * @group: NULL: to none
 *
 * Returns the group that it was in before, or the next one above if that was destroyed, NULL: none;
 * to be entered again afterwards. A thread
 * that ends leaves its group. A new thread is in none: it enters that of whom it works for. A child
 * of fork() is in the group that its parent's thread was in. If the group was destroyed, the thread
 * is in the next one above, or in none; if there never was such a one, or its number is another's
 * by now, in none, and the former is said on standard error. Signal handlers may call this once the
 * thread has entered some group outside of one; what they enter they have to leave. (Where one
 * interrupts an allocation, and the group is destroyed by another thread at the same time, what is
 * allocated may be charged to a group that was made meanwhile.)
 */
USLAB_API struct uslab_group *uslab_group_enter(struct uslab_group *group);

/*
 * The group that this thread is in, or the next one above if that was destroyed; NULL: none. Any
 * context.
 */
USLAB_API struct uslab_group *uslab_group_current(void);

/*
 * Bytes that are charged to a group and those below it; 0 if there is no such group. Exact while no
 * other thread allocates or frees: what CPUs hold charged ahead is not counted.
 */
USLAB_API size_t uslab_group_usage(struct uslab_group *group);
/*
 * The most that it was, what CPUs held charged ahead included: each up to 64 KiB, and of each size
 * of object 30 at most, but of caches that belong to the group what CPUs and depots hold. So a
 * bound from above, and of use for groups that have far more.
 */
USLAB_API size_t uslab_group_peak(struct uslab_group *group);
/*
 * Sets the limit, as uslab_group_create(). Less than the usage: nothing is freed, and charges fail
 * until it is less. 0; -ENOENT; -EBUSY: in a signal handler that interrupted the library, or a hook
 * for reports.
 */
USLAB_API int uslab_group_set_limit(struct uslab_group *group, size_t limit);

/**
 * struct uslab_group_statistics - a group in numbers
 * @size:    sizeof(struct uslab_group_statistics), set by the caller: what newer versions add comes
 *           behind what there is. On return: the bytes that were filled in
 * @met:     how often a charge met the limit of this group, so that its callback was called
 * @failed:  allocations that failed since that did not help
 * @threads: that are in it now
 * @groups:  below it, at the next level; those that were destroyed count while they have objects,
 *           and until somebody looks after their caches: another group ends, or uslab_trim()
 *
 * Bytes or counts.
 */
struct uslab_group_statistics {
	size_t size;
	size_t usage; /* uslab_group_usage() */
	size_t peak;
	size_t limit; /* 0: none */
	size_t met;
	size_t failed;
	size_t threads;
	size_t groups;
};

/* Fills in *stat, which has its member size. 0; -ENOENT; -EINVAL: size is less than it was ever. */
USLAB_API int uslab_group_stat(struct uslab_group *group, struct uslab_group_statistics *stat);

/*
 * Called when a charge of that many bytes would exceed the limit of the group, by the thread that
 * allocates, with no lock of this library held: it may free objects, or raise the limit. Then the
 * charge is tried once more. Not called again by what it allocates itself. Must return.
 */
typedef void (*uslab_group_callback)(struct uslab_group *group, size_t bytes, void *arg);

struct kmem_cache;

/**
 * kmem_cache_set_group - has the objects of a cache charged to one group, whoever allocates them
 * @s:     a cache that was just made: it has no slabs, and nobody allocates meanwhile
 * @group: the group, also for what threads in other groups, or in none, allocate
 *
 * For a tenant, or a part of the program, that has a cache of its own. Objects are charged when
 * CPUs get them of slabs, many at once: hits cost nothing more, where objects of a cache with
 * SLAB_ACCOUNT take some eight times as long, without <uslab/account.h>. The usage that is told is
 * that of the objects which the program has; what CPUs hold comes back before a limit is met.
 *
 * Until the cache is destroyed the group's number is kept, also if the group is destroyed before:
 * then its own limit is gone, and those above it hold. Its objects are never guarded ones
 * (USLAB_CONF=kfence.sample). Returns 0; -EINVAL: @s is NULL; -ENOENT: there is no such group, or
 * it is one of the other library (uslab_group_create(3), LIBRARIES); -EBUSY: the cache has slabs,
 * or merged with others (SLAB_NO_MERGE keeps them away), or belongs to a group; -EOPNOTSUPP: it has
 * SLAB_ACCOUNT, its engine shares pages among caches (slob, slob:1991, slobseg:pow2), or its front
 * takes whole slabs (cpuslab, sheaves:6.18). Not in libuslab_malloc.so. Any thread; not in a signal
 * handler.
 */
USLAB_API int kmem_cache_set_group(struct kmem_cache *s, struct uslab_group *group);

/* NULL: none. A call that has begun already may still be under way. 0 or -ENOENT. */
USLAB_API int uslab_group_set_callback(struct uslab_group *group, uslab_group_callback callback,
				       void *arg);

#ifdef __cplusplus
}
#endif

#endif /* USLAB_GROUP_H */
