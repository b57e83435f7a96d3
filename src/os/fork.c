/* SPDX-License-Identifier: MIT */
/*
 * os/fork.c - hooks around fork
 *
 * Data:       none; libc keeps the list.
 * Invariants: none.
 * Locks:      none.
 * Flow:       called by api/init.c; calls pthread_atfork.
 */
#include <pthread.h>

#include "os/fork.h"

int os_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
	return -pthread_atfork(prepare, parent, child);
}
