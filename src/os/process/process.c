/* SPDX-License-Identifier: MIT */
/*
 * os/process/process.c - who this thread is, and how its process ends
 *
 * Data:       the number of each thread.
 * Invariants: errno is preserved.
 * Locks:      none.
 * Flow:       see process.h; calls os/sys.h.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "os/lock/lock.h"
#include "os/process/process.h"
#include "os/sys.h"

/*
 * Remembered per thread, since a system call for each tracked object would be a quarter of its
 * cost. A child of fork() has another number; one of vfork() must not come here.
 */
static __thread unsigned int thread_id;

unsigned int os_thread_id(void)
{
	if (unlikely(!thread_id))
		thread_id = (unsigned int)os_syscall(SYS_gettid);
	return thread_id;
}

unsigned int os_process_id(void)
{
	return (unsigned int)os_syscall(SYS_getpid);
}

void os_thread_id_forget(void)
{
	thread_id = 0;
}

void os_thread_name(char name[OS_THREAD_NAME_MAX])
{
	memset(name, 0, OS_THREAD_NAME_MAX);
	if (os_syscall(SYS_prctl, PR_GET_NAME, name, 0, 0, 0) < 0 || !name[0])
		memcpy(name, "?", sizeof("?"));
}

uint64_t os_blocked_signals(void)
{
	uint64_t set = 0;

	os_syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &set, sizeof(set));
	return set;
}

void os_exit(int status)
{
	for (;;)
		os_syscall(SYS_exit_group, status);
}

void os_abort(void)
{
	lock_abandon(); /* the program may have a handler */
	abort();
}
