/* SPDX-License-Identifier: MIT */
/*
 * page/nested.h - calls from a signal handler that interrupted this library
 *
 * Why:        docs/adr/0018.
 * Data:       a list of deferred frees.
 * Invariants: every function that a handler may call checks nested_call() before it takes a lock.
 *             If that is true it takes none: it fails, or is served from the reserve
 *             (page/reserve.h), or the free is deferred until its thread is outside again.
 * Locks:      none: exchanges. Safe in a signal handler, whatever that interrupted.
 * Flow:       called by api/kmalloc_api.c, api/mempool_api.c, cache/,
 *             debug/report/report_policy.c, front/cpuslab.c, front/cpuslab_local.c,
 *             front/queues_claim.c, front/sheaves.c, front/sheaves_all.c and malloc/; calls
 *             os/lock/lock.h, reserve.c, and what nested_defer() was given.
 *
 * A call of a handler that interrupted the program elsewhere, or this library where it holds no
 * lock, is not nested: what the interrupted call owns no other thread can see, and locks of other
 * threads will be released.
 */
#ifndef PAGE_NESTED_H
#define PAGE_NESTED_H

#include "base/compiler.h"
#include "os/lock/lock.h"

/* Does what was deferred, a free mostly. owner, p and caller are those given to nested_defer(). */
typedef void (*nested_give)(void *owner, void *p, const void *caller);

bool nested_look(void);

/*
 * true: this call must not take a lock. Else frees that this thread has deferred are done now.
 * Context: no lock held, unless by a call that was interrupted.
 */
static always_inline bool nested_call(void)
{
	return unlikely(!lock_is_plain()) && nested_look();
}

/*
 * Defers a free, or another call that needs locks. false: no memory; p is lost, and counted.
 * Context: a nested call.
 */
cold bool nested_defer(nested_give give, void *owner, void *p, const void *caller);

/*
 * The same for a call that only tries locks (lock_tries_begin()), with NULL for owner: on a list of
 * its own, since that may be away for a moment, in nested_retry(). No cache may wait for what is on
 * it to be done, as kmem_cache_destroy() does for other frees. Context: any.
 */
cold bool nested_defer_tried(nested_give give, void *p, const void *caller);
/*
 * Calls give for at most max of these; true: it is done. The others stay. Context: any.
 */
typedef bool (*nested_try)(void *p, const void *caller);
void nested_retry(nested_try give, unsigned int max);

/*
 * Does what was deferred, in order, also by other threads; what waits for a grace period of RCU is
 * handed to that, and pages that tries have missed are fetched (page/buddy_try.c). Context: no
 * nested call, no lock held.
 */
void nested_settle(void);

/* Deferred frees, and objects that were lost. */
unsigned long nested_waiting(void);
unsigned long nested_lost(void);

#endif /* PAGE_NESTED_H */
