/* SPDX-License-Identifier: MIT */
/*
 * support/limit.h - limits on memory, where a machine may have two CPUs or hundreds
 */
#ifndef SUPPORT_LIMIT_H
#define SUPPORT_LIMIT_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include <uslab/layout.h>

#include "child.h"
#include "os/cpu/cpu.h"

/* Bytes of addresses that the library takes for possible CPUs beyond two. */
static inline size_t limit_of_cpus(void)
{
	struct topology t;

	os_topology_read(&t, "/sys/devices/system", "/proc/self/status", NULL);
	return t.nr_cpu_ids > 2 ? (t.nr_cpu_ids - 2) * 2 * USLAB_WINDOW_SIZE : 0;
}

/*
 * Room for so much more address space, whatever a sanitizer has taken and the machine's CPUs will
 * take: the arena is half of the room at most, less that. In children only, before there is an
 * arena.
 */
static inline void limit_address_space(unsigned long room)
{
	FILE *file = fopen("/proc/self/statm", "r");
	struct rlimit limit;
	unsigned long pages = 0;

	if (!file || fscanf(file, "%lu", &pages) != 1)
		abort();
	fclose(file);
	limit.rlim_cur = pages * (unsigned long)sysconf(_SC_PAGESIZE) + room + 2 * limit_of_cpus();
	limit.rlim_max = limit.rlim_cur;
	child_limit(RLIMIT_AS, &limit);
}

#endif /* SUPPORT_LIMIT_H */
