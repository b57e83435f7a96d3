/* SPDX-License-Identifier: MIT */
/*
 * cache/callback.h - calls of functions of the program that make room: one at a time in each thread
 *
 * Data:       callback_inside: what this thread runs; a count of threads for each function.
 * Invariants: a count is that of the threads that are in the function, or about to call it.
 * Locks:      a count is raised under cache_lock, under which its owner is found; so who has taken
 *             the owner off its list under that lock, and waits, is waited for by nobody.
 * Flow:       called by pressure.c and reclaim/shrinker.c; calls os/lock/wait.h.
 */
#ifndef CACHE_CALLBACK_H
#define CACHE_CALLBACK_H

#include "base/atomic.h"
#include "cache/internal.h"
#include "os/lock/wait.h"

/* The count of the function that this thread runs; NULL: none. */
extern __thread uintptr_t *callback_inside __attribute__((tls_model("initial-exec")));

/* cache_lock is held; it is released. */
static inline void callback_enter_locked(uintptr_t *running)
{
	fetch_add(running, 1);
	callback_inside = running;
	lock_release(&cache_lock);
}

static inline void callback_leave(uintptr_t *running)
{
	callback_inside = NULL;
	__atomic_fetch_sub(running, 1, __ATOMIC_RELEASE); /* pairs with callback_wait() */
}

/* Until no other thread runs it. It sleeps: the other one may have a lower priority. */
static inline void callback_wait(const uintptr_t *running)
{
	unsigned int us = 0;

	while (callback_inside != running &&
	       load_acquire(running)) /* pairs with callback_leave() */
		os_nap(&us);
}

/* In a child of fork(): no other thread runs it. */
static inline void callback_forked(uintptr_t *running)
{
	store_relaxed(running, callback_inside == running);
}

#endif /* CACHE_CALLBACK_H */
