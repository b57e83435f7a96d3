/* SPDX-License-Identifier: MIT */
/*
 * os/process/usage.c - what the process has used so far: CPU time, page faults
 *
 * Data:       none.
 * Invariants: see usage.h.
 * Locks:      none.
 * Flow:       see usage.h.
 */
#include <sys/resource.h>

#include "os/process/filter.h"
#include "os/process/usage.h"
#include "os/sys.h"

static uint64_t microseconds(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

bool os_usage(struct os_usage *usage)
{
	struct rusage r;

	if (!os_filter_lets_through() || os_syscall(SYS_getrusage, RUSAGE_SELF, &r))
		return false;
	usage->system_us = microseconds(r.ru_stime);
	usage->cpu_us = microseconds(r.ru_utime) + usage->system_us;
	usage->faults = (uint64_t)r.ru_minflt;
	return true;
}
