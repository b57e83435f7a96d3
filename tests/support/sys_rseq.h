/* SPDX-License-Identifier: MIT */
/*
 * sys_rseq.h - <sys/rseq.h>, also for a C library or a CPU that has none of it:
 * nobody is registered there
 */
#ifndef TESTS_SUPPORT_SYS_RSEQ_H
#define TESTS_SUPPORT_SYS_RSEQ_H

#include <limits.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bits.h"

#if defined(__GLIBC__) && __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#else
#include <linux/rseq.h>
#define __rseq_size 0u
#define __rseq_offset 0l
#endif

#ifndef RSEQ_SIG
#define RSEQ_SIG 0
#endif

/*
 * From now on this thread has no area: the kernel says of no CPU that the thread is on it, and
 * restarts nothing. False: it had none. With the C library's own area and signature; its size may
 * be that in use, and what it registers has 32 bytes at least (os_rseq_leave()).
 */
static inline bool sys_rseq_unregister(void)
{
	void *area = (char *)__builtin_thread_pointer() + __rseq_offset;

	return !syscall(SYS_rseq, area, MAX(__rseq_size, 32u), RSEQ_FLAG_UNREGISTER, RSEQ_SIG);
}

#endif /* TESTS_SUPPORT_SYS_RSEQ_H */
