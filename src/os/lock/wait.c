/* SPDX-License-Identifier: MIT */
/*
 * os/lock/wait.c - a thread sleeps until a word changes, or for a moment
 *
 * Data:       none.
 * Invariants: see wait.h.
 * Locks:      none.
 * Flow:       see wait.h; calls futex(2).
 */
#include "os/lock/wait.h"

#include <limits.h>
#include <linux/futex.h>
#include <time.h>

#include "base/bits.h"
#include "os/sys.h"

void os_wait(const unsigned int *word, unsigned int value, unsigned int ms)
{
	struct timespec left = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	os_syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &left);
}

void os_wake(const unsigned int *word, unsigned int nr)
{
	os_syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, nr > INT_MAX ? INT_MAX : (int)nr);
}

/* By futex(2), which filters of system calls (seccomp) let pass where there are locks. */
void os_nap(unsigned int *us)
{
	unsigned int word = 0; /* on the stack: nobody wakes it */
	struct timespec left;

	*us = *us ? MIN(2 * *us, OS_NAP_MOST_US) : OS_NAP_LEAST_US;
	left = (struct timespec){ .tv_nsec = (long)*us * 1000 };
	os_syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &left);
}
