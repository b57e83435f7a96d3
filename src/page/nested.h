/* SPDX-License-Identifier: MIT */
/*
 * page/nested.h - calls from a signal handler that interrupted this library
 *
 * Why:        docs/adr/0018.
 * Data:       a list of frees that were put off.
 * Invariants: every function which a handler may call asks nested_call() before it takes
 *             a lock. If that says yes it takes none: it fails, or is served from the
 *             reserve (page/reserve.h), or what is to be freed is put off until its
 *             thread is outside again.
 * Locks:      none: exchanges. Safe in a signal handler, whatever that interrupted.
 * Flow:       called by api/kmalloc_api.c, cache/, debug/report/report_policy.c, front/cpuslab.c,
 *             front/queues_claim.c and malloc/; calls os/lock/lock.h, reserve.c, and what
 *             nested_defer() was given.
 *
 * A handler that interrupted the program elsewhere, or this library where it holds no lock, is
 * no nested call: whatever the interrupted call holds nobody else can see, and locks of
 * other threads become free.
 */
#ifndef PAGE_NESTED_H
#define PAGE_NESTED_H

#include "base/compiler.h"
#include "os/lock/lock.h"

/*
 * Frees p, which owner (may be NULL) says more about; as the call that was
 * put off, caller included.
 */
typedef void (*nested_give)(void *owner, void *p, const void *caller);

bool nested_look(void);

/*
 * Is this call not to take a lock? If not, and this thread put off frees, does these now.
 * Context: no lock held, unless by a call that was interrupted.
 */
static always_inline bool nested_call(void)
{
	return unlikely(!lock_is_plain()) && nested_look();
}

/*
 * Puts a free off, or what else is to be done without a lock. Without memory for that p is lost,
 * and counted: false. Context: a nested call.
 */
cold bool nested_defer(nested_give give, void *owner, void *p, const void *caller);

/*
 * Does what was put off, in that order, also by other threads. Context: no nested call, no lock
 * held.
 */
void nested_settle(void);

/* Frees that are put off, and objects that were lost. */
unsigned long nested_waiting(void);
unsigned long nested_lost(void);

#endif /* PAGE_NESTED_H */
