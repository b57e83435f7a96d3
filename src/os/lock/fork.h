/* SPDX-License-Identifier: MIT */
/*
 * os/lock/fork.h - hooks around fork
 *
 * Data:       none; libc keeps the list of hooks.
 * Invariants: none.
 * Locks:      libc's lock of its list of streams.
 * Flow:       called by cache/; calls pthread_atfork and glibc's _IO_list_lock.
 */
#ifndef OS_FORK_H
#define OS_FORK_H

#include "base/compiler.h"

/*
 * From now on each fork() calls prepare before, then parent in the parent and child in the child
 * (any of them may be NULL). Hooks registered later prepare earlier and resume later. libc may
 * allocate: call it when the allocator works, with no lock held. Returns 0 or -ENOMEM.
 * vfork, clone and _Fork call no hooks.
 */
int os_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void));

/*
 * glibc's fork() takes the lock of libc's list of streams after all prepare hooks have run.
 * Whoever holds it (fflush(NULL), fopen, fclose in another thread) may be about to allocate, and
 * would wait for a lock that our hook took: so the hook takes this one first. It is recursive.
 * Nothing where libc has none.
 */
void os_fork_lock_streams(void);
void os_fork_unlock_streams(void); /* in the parent */
void os_fork_reset_streams(void);  /* in the child */

/* Is this the only thread of the process? false when libc does not say. */
bool os_is_alone(void);

#endif /* OS_FORK_H */
