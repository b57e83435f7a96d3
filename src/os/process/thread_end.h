/* SPDX-License-Identifier: MIT */
/*
 * os/process/thread_end.h - a call at the end of a thread
 *
 * Data:       one key of libc's for data of threads.
 * Invariants: the function is called by a thread that has asked for it, when that ends, once.
 * Locks:      none of ours.
 * Flow:       called by cache/group/group.c; calls pthread_key_create(3).
 */
#ifndef OS_THREAD_END_H
#define OS_THREAD_END_H

#include "base/compiler.h"

/* What is called. Once, before any os_thread_end_ask(). 0 or -EAGAIN, -ENOMEM. */
cold int os_thread_end_init(void (*fn)(void));

/*
 * This thread asks for it; libc may allocate memory for that, so no lock may be held. 0 or -errno.
 */
cold int os_thread_end_ask(void);

#endif /* OS_THREAD_END_H */
