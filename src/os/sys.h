/* SPDX-License-Identifier: MIT */
/*
 * os/sys.h - system calls for this floor: -errno as the result, errno itself untouched
 *
 * Data:       struct os_cpumask, a set of CPU numbers as the kernel takes it.
 * Invariants: errno is the same before and after.
 * Locks:      none.
 * Flow:       included by os/ only.
 *
 * libc's read, write, open and close are cancellation points. malloc and free are not, so this
 * floor goes past them: a thread cancelled while it holds one of our locks would stop the others.
 */
#ifndef OS_SYS_H
#define OS_SYS_H

#include "base/compiler.h"
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* os_syscall(SYS_name, arguments...): the kernel's result, or -errno. */
#define os_syscall(...)                             \
	({                                          \
		int os_errno = errno;               \
		long os_ret = syscall(__VA_ARGS__); \
                                                    \
		if (os_ret == -1) {                 \
			os_ret = -errno;            \
			errno = os_errno;           \
		}                                   \
		os_ret;                             \
	})

#define OS_CPUMASK_BITS 8192u /* the most that any kernel is built for */
#define OS_WORD_BITS 64u

struct os_cpumask {
	unsigned long word[OS_CPUMASK_BITS / OS_WORD_BITS];
};

#endif /* OS_SYS_H */
