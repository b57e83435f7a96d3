/* SPDX-License-Identifier: MIT */
/*
 * page/numa.c - on which node pages were wanted, and on which they were found
 *
 * Why:        docs/adr/0062.
 * Data:       see numa.h.
 * Invariants: see numa.h.
 * Locks:      see numa.h.
 * Flow:       see numa.h.
 */
#include "page/numa.h"

struct numa_counters numa_counters[OS_MAX_NODES];
unsigned long numa_node_pages;

void numa_count(const struct os_place *place, const struct page *page, unsigned long nr_pages)
{
	struct numa_counters *here = &numa_counters[page->node];

	if (likely(os_topology.nr_nodes == 1))
		return;
	if (page->node == place->first) {
		fetch_add(&here->hit, nr_pages);
		if (place->interleaved)
			fetch_add(&here->interleave_hit, nr_pages);
	} else {
		fetch_add(&here->miss, nr_pages);
		fetch_add(&numa_counters[place->first].foreign, nr_pages);
	}
	if (page->node == os_current_node())
		fetch_add(&here->local, nr_pages);
	else
		fetch_add(&here->other, nr_pages);
}
