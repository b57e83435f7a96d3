/* SPDX-License-Identifier: MIT */
/*
 * os/ticker.h - one thread that calls a function again and again
 *
 * Data:       the function and the time between two calls.
 * Invariants: at most one such thread in a process.
 * Locks:      none.
 * Flow:       called by cache/reap.c; calls pthread_create.
 */
#ifndef OS_TICKER_H
#define OS_TICKER_H

/*
 * From now on a detached thread of that name (a constant, 15 bytes at most), which takes no signals, calls fn
 * every interval_ms. Again: the same thread, with what is said now. A child of fork() has no such
 * thread until it calls this itself. libc may allocate: call it when the allocator works, with no
 * lock held. 0; -EINVAL: interval_ms is 0; -EAGAIN, ...: no thread could be made.
 */
int os_ticker_start(const char *name, unsigned int interval_ms, void (*fn)(void));

#endif /* OS_TICKER_H */
