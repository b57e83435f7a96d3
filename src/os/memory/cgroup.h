/* SPDX-License-Identifier: MIT */
/*
 * os/memory/cgroup.h - how much memory the process' cgroup has, and may have; how long its tasks
 * wait for some (PSI)
 *
 * Data:       files that stay open.
 * Invariants: no allocation; errno is preserved. What a file says is a number or nothing.
 * Locks:      none: one thread opens; any may read.
 * Flow:       called by cache/reclaim/ahead.c; calls os/process/file.h.
 */
#ifndef OS_CGROUP_H
#define OS_CGROUP_H

#include "os/process/file.h"

/* Of the process' cgroup of the memory controller, version 2 or 1, or of the nearest above it that
 * has a limit. */
struct os_cgroup {
	struct os_kept used; /* memory.current, memory.usage_in_bytes */
	struct os_kept high; /* memory.high, memory.soft_limit_in_bytes */
	struct os_kept max;  /* memory.max, memory.limit_in_bytes */
	struct os_kept stat; /* memory.stat */
};

/* Bytes. */
struct os_cgroup_use {
	size_t used; /* without pages of files, which the kernel takes back first */
	size_t most; /* the less of high and max; SIZE_MAX: there is no limit */
};

/* 0; -ENOENT: there is no such cgroup, or it cannot be read. */
int os_cgroup_open(struct os_cgroup *group);
/* false: it cannot be read. */
bool os_cgroup_look(const struct os_cgroup *group, struct os_cgroup_use *use);

/*
 * Pressure stall information of the machine, or of the process' cgroup of version 2: with a trigger
 * the descriptor has something urgent to read (POLLPRI) when some task waited for stall_us within
 * window_us. 0: so it is; -ENOENT: there is no such file; -EPERM, ...: no trigger, but what the
 * file says can be read. Without privileges the kernel (6.5 or newer) has triggers for windows of
 * whole 2 seconds only: such a one is made then, of the same share.
 */
enum os_psi { OS_PSI_MACHINE, OS_PSI_CGROUP };
int os_psi_open(struct os_kept *psi, enum os_psi which, unsigned int stall_us,
		unsigned int window_us);
/* How long some task has waited so far, microseconds; 0: it cannot be read. */
uint64_t os_psi_total(const struct os_kept *psi);

#endif /* OS_CGROUP_H */
