/* SPDX-License-Identifier: MIT */
/*
 * inspect/cpu_stats.h - what each CPU has of one cache: event counters, cpu slabs (spec 4.15, 6.3)
 *
 * Data:       struct cpu_stats of the caller, one for each CPU.
 * Invariants: node numbers are below snapshot_totals.nodes, or -1; no list is followed.
 * Locks:      none; the process goes on meanwhile.
 * Flow:       called by tools, for a cache at a time; snapshot_take() comes first; reads through
 *             s->reader, which must still be usable. A snapshot has the sums only: this would be
 *             most of its size.
 */
#ifndef INSPECT_CPU_STATS_H
#define INSPECT_CPU_STATS_H

#include "inspect/snapshot.h"

struct cpu_stats {
	uint32_t stat[NR_SLUB_STATS];
	int slab_node;		    /* node of the cpu slab; -1: there is none */
	unsigned int partial_slabs; /* on the CPU's own partial list */
	int partial_node; /* node of the first of them, which stands for all as in the kernel */
};

/*
 * Reads what the CPUs have of cache index `cache` of the snapshot; cpus[] has room for totals.cpus.
 * A row that is no cache has nothing. 0, or what the reader says: -ESRCH, -EPERM.
 */
int cpu_stats_read(const struct snapshot *s, unsigned int cache, struct cpu_stats *cpus);

#endif /* INSPECT_CPU_STATS_H */
