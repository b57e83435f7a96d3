/* SPDX-License-Identifier: MIT */
/*
 * page/buddy_stats.c - how many pages are in use, and free
 *
 * Data:       none of its own.
 * Invariants: none.
 * Locks:      zone.lock, for a node's counts. Those of pages that CPUs keep are read without any.
 * Flow:       see page/buddy.h; calls pcp.c, pcp_runs.c.
 */
#include "base/atomic.h"
#include "page/pcp.h"
#include "page/pcp_runs.h"
#include "page/zone.h"

void buddy_stats(unsigned int node, struct buddy_stats *stats)
{
	struct buddy_zone *zone = &buddy_zones[node];
	struct pcp_stats listed = pcp_stats(node);
	unsigned long runs = pcp_runs_stats(node).pages;

	lock_acquire(&zone->lock);
	*stats = zone->stats;
	lock_release(&zone->lock);
	stats->nr_free += listed.nr_pages + runs;
	stats->nr_dirty += listed.nr_dirty + runs;
}

unsigned long buddy_used(void)
{
	unsigned long used = load_relaxed(&large_counters.bytes) >> PAGE_SHIFT;

	for (unsigned int node = 0; node < buddy_nr_nodes; node++) {
		struct buddy_zone *zone = &buddy_zones[node];

		lock_acquire(&zone->lock);
		used += zone_used_here(zone);
		lock_release(&zone->lock);
	}
	return used;
}
