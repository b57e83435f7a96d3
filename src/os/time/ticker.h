/* SPDX-License-Identifier: MIT */
/*
 * os/time/ticker.h - one thread that calls functions again and again
 *
 * Data:       the functions, each with the time between two of its calls; descriptors.
 * Invariants: at most one such thread in a process.
 * Locks:      none.
 * Flow:       called by cache/; calls pthread_create.
 */
#ifndef OS_TICKER_H
#define OS_TICKER_H

#include "base/compiler.h"

#define OS_TICKER_MAX 6 /* functions */
#define OS_TICKER_WATCHES 2

/*
 * From now on a detached thread, which takes no signals, calls fn every interval_ms. The first one
 * to be named says what the thread is called (a constant, 15 bytes at most); again for the same fn:
 * with that interval. The thread ends by itself, within a second or so, when it is the last one of
 * a process whose main thread has ended, so that the process ends with it. A child of fork() has no
 * such thread, and no functions, until it calls this itself, or os_ticker_again(). libc may
 * allocate: call it when the allocator works, with no lock held. 0; -EINVAL: interval_ms is 0;
 * -ENOSPC: there are OS_TICKER_MAX functions; -EAGAIN, ...: no thread could be made.
 */
int os_ticker_start(const char *name, unsigned int interval_ms, void (*fn)(void));

/*
 * That thread also calls fn when there is something urgent to read from a descriptor (POLLPRI),
 * until that is closed or in error. Called by a function of the ticker. false: there are
 * OS_TICKER_WATCHES.
 */
bool os_ticker_watch(int fd, void (*fn)(void));

/*
 * In a child of fork(), before it has other threads. false: the parent had no such thread, or it is
 * this one which forked. keep: its functions stay, and wait for os_ticker_again(); so do those of a
 * parent that waited itself. Takes no lock, and allocates nothing.
 */
bool os_ticker_forked(bool keep);
/* Do they wait? true also for a child of vfork(), which has the memory of its parent. */
bool os_ticker_waits(void);
/* Do they wait for a call of this process? */
bool os_ticker_waits_here(void);
/*
 * Makes the thread for the functions that wait, once. Context and result as os_ticker_start(); 0
 * also if nothing waits.
 */
int os_ticker_again(void);
/* They wait no more, and are not called. */
void os_ticker_give_up(void);

/* Is the caller that thread? */
bool os_ticker_is_here(void);
/* Is there one, in this process? */
bool os_ticker_runs(void);

#endif /* OS_TICKER_H */
