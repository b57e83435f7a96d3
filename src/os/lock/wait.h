/* SPDX-License-Identifier: MIT */
/*
 * os/lock/wait.h - a thread sleeps until a word changes, or for a moment
 *
 * Data:       none; the word is the caller's.
 * Invariants: errno is the same before and after. Neither is a cancellation point.
 * Locks:      none may be held by who sleeps. Who changes the word and who reads it order that by a
 *             lock of their own.
 * Flow:       called by api/mempool_api.c, cache/, debug/report/report_policy.c and rcu.c; calls
 *             futex(2).
 */
#ifndef OS_WAIT_H
#define OS_WAIT_H

#include "base/compiler.h"

#define OS_WAKE_ALL (~0u)

/*
 * Sleeps while *word is value, at most so many milliseconds. It may return at any time before:
 * callers look again whether there is what they wait for.
 */
void os_wait(const unsigned int *word, unsigned int value, unsigned int ms);

/*
 * Wakes so many threads that sleep there, once the word was changed. The word may be gone by now.
 */
void os_wake(const unsigned int *word, unsigned int nr);

#define OS_NAP_LEAST_US 20u
#define OS_NAP_MOST_US 1000u

/*
 * For who waits until another thread leaves something, and is not woken then: sleeps, each time
 * twice as long, and looks again. *us is 0 the first time. Threads of any lower priority run
 * meanwhile, which sched_yield(2) does not let them.
 */
void os_nap(unsigned int *us);

#endif /* OS_WAIT_H */
