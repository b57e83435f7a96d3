/* SPDX-License-Identifier: MIT */
/*
 * inspect/cpu_stats.h - event counters and cpu slabs of one cache by CPU (spec 4.15, 6.3)
 *
 * Data:       struct cpu_stats of the caller, one for each CPU.
 * Invariants: node numbers are below snapshot_totals.nodes, or -1; no list is followed.
 * Locks:      none; the process goes on meanwhile.
 * Flow:       called by tools, for a cache at a time; snapshot_take() comes first; reads through
 *             s->reader, which must still be usable. A snapshot has only the sums: these would be
 *             most of its size.
 */
#ifndef INSPECT_CPU_STATS_H
#define INSPECT_CPU_STATS_H

#include "inspect/snapshot.h"

struct cpu_stats {
	uint32_t stat[NR_ENGINE_STATS];
	int slab_node;		    /* node of the cpu slab; -1: there is none */
	unsigned int partial_slabs; /* on the CPU's own partial list */
	int partial_node;	    /* node of the first of them, taken for all as in the kernel */
};

/*
 * Reads the counters of cache index `cache` of the snapshot; cpus[] has totals.cpus elements. All
 * zero for a row that is no cache. 0, or the error of the reader: -ESRCH, -EPERM.
 */
int cpu_stats_read(const struct snapshot *s, unsigned int cache, struct cpu_stats *cpus);

#endif /* INSPECT_CPU_STATS_H */
