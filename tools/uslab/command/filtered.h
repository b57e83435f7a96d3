/* SPDX-License-Identifier: MIT */
/*
 * uslab/command/filtered.h - does a process have a seccomp filter, which may kill it for carrying
 * out a command
 */
#ifndef TOOLS_FILTERED_H
#define TOOLS_FILTERED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define FILTERED_AT_START_ENDS UINT32_MAX /* at_start: OS_FILTERS_END of os/process/filter.h */

/* From good to bad. */
enum filtered {
	FILTERED_NOT,	  /* by nothing that ends it: none, or those that were there at its start */
	FILTERED_UNREAD,  /* too few file descriptors, memory or permissions to look */
	FILTERED_UNKNOWN, /* it has some, and whether they were there at its start is not known */
	FILTERED_SINCE,	  /* a thread has more (seccomp(2)), or the strict mode */
	/* one that was there at its start kills the process for a command */
	FILTERED_ENDS,
};

/*
 * The worst filter of all threads of the process; at_start as os_filters (os/process/filter.h).
 * What a filter does with a call that it does not allow cannot be seen from outside. FILTERED_NOT
 * also if the process has ended.
 */
enum filtered filtered_process(pid_t pid, uint32_t at_start);

/* The same, of a folder like /proc/PID/task. */
enum filtered filtered_threads(const char *folder, uint32_t at_start);

#endif /* TOOLS_FILTERED_H */
