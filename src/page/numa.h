/* SPDX-License-Identifier: MIT */
/*
 * page/numa.h - on which node pages were wanted, and on which they were found, as numastat(8) says
 *
 * Why:        docs/adr/0062.
 * Data:       counts of each node, since start; how much memory each node of a made-up machine has.
 * Invariants: hit + miss of a node: pages that it gave; local + other likewise. The sums of miss
 *             and of foreign over all nodes are the same.
 * Locks:      none: the counts are atomic, each by itself; the limit is const once there are
 *             threads.
 * Flow:       called by engine/placement.c, front/, run.c and buddy.c; tools read the counts from
 *             outside.
 */
#ifndef PAGE_NUMA_H
#define PAGE_NUMA_H

#include "base/atomic.h"
#include "os/cpu/cpu.h"
#include "os/memory/policy.h"
#include "page/page.h"

/*
 * Of slabs, heaps and page runs that obeyed a policy, in pages; the last one in objects. All zero
 * on a machine of one node.
 */
struct numa_counters {
	unsigned long hit;	      /* given here, and wanted here */
	unsigned long miss;	      /* given here, though another node was wanted */
	unsigned long foreign;	      /* wanted here, and given by another node */
	unsigned long interleave_hit; /* of hit, those of policy INTERLEAVE */
	unsigned long local;	      /* given here to a thread that ran here */
	unsigned long other;	      /* given here to one that ran elsewhere */
	unsigned long remote_frees;   /* objects of here, freed elsewhere, that came home */
} __attribute__((aligned(CACHE_LINE)));

extern struct numa_counters numa_counters[OS_MAX_NODES]; /* by node */

/* Pages that a node of a made-up machine has; 0: as many as there are. */
extern unsigned long numa_node_pages;

/* Some pages of this node were wanted as place says, by this thread, and are the block's. */
void numa_count(const struct os_place *place, const struct page *page, unsigned long nr_pages);

/* n objects of that node came home. */
static inline void numa_count_remote_frees(unsigned int node, unsigned long n)
{
	fetch_add(&numa_counters[node].remote_frees, n);
}

/* Has a node with so many pages room for more? */
static inline bool numa_has_room(unsigned long nr_pages, unsigned long more)
{
	return likely(!numa_node_pages) || nr_pages + more <= numa_node_pages;
}

#endif /* PAGE_NUMA_H */
