/* SPDX-License-Identifier: MIT */
/*
 * report/usage.c - how many bytes this process has in slabs
 *
 * Data:       none of its own.
 * Invariants: see report/usage.h.
 * Locks:      none; the zones' counters are read without their locks, as tools outside do.
 * Flow:       called by tools; reads page/buddy.c and page/run.c.
 */
#include "report/usage.h"

#include "base/atomic.h"
#include "page/buddy.h"
#include "page/run.h"

void usage_read(struct usage *usage)
{
	unsigned long large = load_relaxed(&run_counters.pages);
	unsigned long used = 0;

	for (unsigned int node = 0; node < buddy_nr_nodes; node++) {
		const struct buddy_stats *stats = &buddy_zones[node].stats;

		used += load_relaxed(&stats->nr_total) - load_relaxed(&stats->nr_free);
	}
	/* Read at different times: another thread may have come between. */
	usage->slab_bytes = used > large ? (used - large) * PAGE_SIZE : 0;
	usage->large_bytes = large * PAGE_SIZE;
}
