/* SPDX-License-Identifier: MIT */
/*
 * os/rcu/rcu.h - the RCU that the program has bound, and what waits for its grace periods
 *
 * Why:        docs/adr/0045.
 * Data:       the functions of the RCU (<uslab/rcu.h>), const once they are bound; for each kind
 *             a chain of items that wait, linked through themselves, and one of those for which a
 *             grace period is under way.
 * Invariants: an item is in one chain, from os_rcu_defer() until its release function is called,
 *             and a grace period begins and ends between the two. At most one for each kind is
 *             under way. Nothing is allocated. Checked by os_rcu_check().
 * Locks:      one for each kind (RANK_RCU), under which nothing else is taken. The RCU's functions
 *             and release functions are called without any.
 * Flow:       called by api/, cache/, engine/typesafe.c, front/sheaves_rcu.c and page/; calls
 *             os/lock/, and what uslab_set_rcu() was given.
 */
#ifndef OS_RCU_H
#define OS_RCU_H

#include "base/compiler.h"
#include "os/rcu/item.h"

struct lock;
struct uslab_rcu_ops;

/* What waits; each kind has one release function. */
enum os_rcu_kind {
	OS_RCU_PAGES,	/* page/pcp.c: slabs of type-safe caches */
	OS_RCU_OBJECTS, /* engine/typesafe.c: objects of engines that share pages */
	OS_RCU_BATCHES, /* cache/grace/batch.c: what kfree_rcu() was given */
	OS_RCU_HEADS,	/* the same, without memory for a batch */
	OS_RCU_SHEAVES, /* the same, in a sheaf of the front sheaves */
	OS_RCU_KINDS
};

/* Frees items, all of a chain, oldest first. Any thread; no lock held. */
typedef void (*os_rcu_release)(struct os_rcu_item *first);

/* 0, also with the same functions again; -EBUSY: others are bound. */
int os_rcu_bind(const struct uslab_rcu_ops *ops);
bool os_rcu_is_bound(void);

/*
 * item waits from now on, for a grace period that begins at the next os_rcu_submit(), or when the
 * one that is under way has ended. Its thread does that when it holds no lock (nested_call()). Any
 * locks may be held that come before RANK_RCU; not for nested calls (page/nested.h).
 */
void os_rcu_defer(enum os_rcu_kind kind, struct os_rcu_item *item, os_rcu_release release);

/* Hands what waits to the RCU. Cheap if nothing does. Context: no lock held. */
void os_rcu_submit(void);

/*
 * Waits until all is released that waited before. Nothing if no RCU is bound. Context: no lock
 * held, no reader.
 */
void os_rcu_wait(enum os_rcu_kind kind);

/* Waits for a grace period. Context: as above, and an RCU is bound. */
void os_rcu_synchronize(void);

/* Is is() true for an item that waits? It is called under the lock, newest items first. */
bool os_rcu_find(enum os_rcu_kind kind, bool (*is)(const struct os_rcu_item *item, const void *arg),
		 const void *arg);

/* Is a release function at work? */
bool os_rcu_releases(enum os_rcu_kind kind);

/* For fork: prepare before any lock is taken, the others when all are released. */
void os_rcu_fork_prepare(void);
void os_rcu_fork_parent(void);
void os_rcu_fork_child(void);
void os_rcu_each_lock(void (*act)(struct lock *l));
void os_rcu_check(void);

#endif /* OS_RCU_H */
