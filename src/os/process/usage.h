/* SPDX-License-Identifier: MIT */
/*
 * os/process/usage.h - what the process has used so far: CPU time, page faults
 *
 * Data:       none.
 * Invariants: none of the three ever falls within a process.
 * Locks:      none.
 * Flow:       called by page/refault_rate.c; makes a system call, os/process/filter.h.
 */
#ifndef OS_USAGE_H
#define OS_USAGE_H

#include <stdint.h>

#include "base/compiler.h"

/* Of all threads, those that have ended as well. */
struct os_usage {
	uint64_t cpu_us;    /* in the program and in the system */
	uint64_t system_us; /* of that, in the system: as exact as the kernel's ticks, 1 to 10 ms */
	uint64_t faults;    /* that took no input or output: new pages, most of them */
};

/*
 * false: not known. A filter of system calls may end the program for the call: it is made only
 * where os_filter_lets_through(). Context: any; errno is preserved.
 */
bool os_usage(struct os_usage *usage);

#endif /* OS_USAGE_H */
