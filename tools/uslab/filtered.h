/* SPDX-License-Identifier: MIT */
/*
 * uslab/filtered.h - does a process have a filter of system calls, which may end it for what a tool asks of it
 */
#ifndef TOOLS_FILTERED_H
#define TOOLS_FILTERED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum filtered {
	FILTERED_NOT, /* by nothing that ends it: by none, or by those only that were there at its start */
	FILTERED_SINCE,	  /* a thread has more (seccomp(2)), or the strict mode */
	FILTERED_UNKNOWN, /* it has some, and whether they were there at its start is not known */
};

/*
 * What the threads of the process have, the worst of them; at_start as os_filters (os/filter.h). What a filter does
 * with a call that it does not let through cannot be seen from outside. FILTERED_NOT also where
 * nothing can be read.
 */
enum filtered filtered_process(pid_t pid, uint32_t at_start);

/* The same, of a folder like /proc/PID/task. */
enum filtered filtered_threads(const char *folder, uint32_t at_start);

#endif /* TOOLS_FILTERED_H */
