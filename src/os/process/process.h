/* SPDX-License-Identifier: MIT */
/*
 * os/process/process.h - who this thread is, and how its process ends
 *
 * Data:       the number of each thread, asked for once.
 * Invariants: no allocation; errno is preserved; safe in a signal handler.
 * Locks:      none.
 * Flow:       called by die.c, cache/ and debug/; calls getpid(2),
 *             gettid(2), prctl(2), rt_sigprocmask(2), exit_group(2), abort(3).
 */
#ifndef OS_PROCESS_H
#define OS_PROCESS_H

#include "base/compiler.h"

#define OS_THREAD_NAME_MAX 16 /* bytes with the NUL */

/* Number of this process; asked for each time. */
unsigned int os_process_id(void);
/* Number of this thread, as the kernel counts. */
unsigned int os_thread_id(void);
/* In a child of fork(): the thread that forked has another number now. */
void os_thread_id_forget(void);
/* Its name, at least "?". */
void os_thread_name(char name[OS_THREAD_NAME_MAX]);

/* Signals that this thread has blocked: bit n for number n + 1. */
uint64_t os_blocked_signals(void);

/* Ends the process at once: no handlers of the program run. */
_Noreturn void os_exit(int status);
/* With SIGABRT. */
_Noreturn void os_abort(void);

#endif /* OS_PROCESS_H */
