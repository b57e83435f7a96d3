/* SPDX-License-Identifier: MIT */
/*
 * os/process/thread_end.c - a call at the end of a thread
 *
 * Data:       key, and what is called.
 * Invariants: const after os_thread_end_init().
 * Locks:      none.
 * Flow:       see thread_end.h; called back by libc, which knows of a thread by a value that is not
 *             NULL.
 */
#include "os/process/thread_end.h"

#include <pthread.h>

static pthread_key_t key;
static void (*at_end)(void);

static void ends(void *value)
{
	(void)value;
	at_end();
}

int os_thread_end_init(void (*fn)(void))
{
	at_end = fn;
	return -pthread_key_create(&key, ends);
}

int os_thread_end_ask(void)
{
	return -pthread_setspecific(key, (void *)1);
}
