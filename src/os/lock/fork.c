/* SPDX-License-Identifier: MIT */
/*
 * os/lock/fork.c - hooks around fork
 *
 * Why:        docs/adr/0018.
 * Data:       locked: how often the forking thread has locked the list of streams for us.
 * Invariants: locked changes under the lock of the list only, or in a child.
 * Locks:      libc's, of its list of streams.
 * Flow:       see fork.h; calls pthread_atfork and glibc's _IO_list_lock.
 */
#include <pthread.h>

#include "base/atomic.h"
#include "os/lock/fork.h"

/* Of glibc; weak, so that the library also loads where libc has none. */
extern void _IO_list_lock(void) __attribute__((weak));
extern void _IO_list_unlock(void) __attribute__((weak));
extern void _IO_list_resetlock(void) __attribute__((weak));
extern char __libc_single_threaded __attribute__((weak));

static unsigned int locked;

bool os_is_alone(void)
{
	return &__libc_single_threaded && load_relaxed(&__libc_single_threaded);
}

/*
 * Alone nobody else can hold it, and glibc takes it neither, nor resets it in the child: there it
 * stays as it is, since whoever forked may be in the middle of fflush(NULL).
 */
void os_fork_lock_streams(void)
{
	if (os_is_alone() || !_IO_list_lock || !_IO_list_unlock || !_IO_list_resetlock)
		return;
	_IO_list_lock();
	locked++;
}

void os_fork_unlock_streams(void)
{
	if (!locked)
		return;
	locked--;
	_IO_list_unlock();
}

/* As glibc itself: the owner's number is another one here. */
void os_fork_reset_streams(void)
{
	if (!locked)
		return;
	locked = 0;
	_IO_list_resetlock();
}

int os_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
	return -pthread_atfork(prepare, parent, child);
}
