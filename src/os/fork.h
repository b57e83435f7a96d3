/* SPDX-License-Identifier: MIT */
/*
 * os/fork.h - hooks around fork
 *
 * Data:       none; libc keeps the list.
 * Invariants: none.
 * Locks:      none.
 * Flow:       called by api/init.c; calls pthread_atfork.
 */
#ifndef OS_FORK_H
#define OS_FORK_H

/*
 * From now on each fork() calls prepare before, then parent in the parent and child in the child
 * (any of them may be NULL). Hooks registered later prepare earlier and resume later. libc may
 * allocate: call it when the allocator works, with no lock held. Returns 0 or -ENOMEM.
 * vfork, clone and _Fork call no hooks.
 */
int os_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void));

#endif /* OS_FORK_H */
