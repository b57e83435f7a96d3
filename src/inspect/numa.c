/* SPDX-License-Identifier: MIT */
/*
 * inspect/numa.c - the nodes of the machine that a process runs on, all caches together
 *
 * Data:       struct snapshot of the caller.
 * Invariants: none of one node only; a node's number is below SNAPSHOT_MAX_NODES.
 * Locks:      none.
 * Flow:       called by inspect/pages.c and inspect/snapshot.c.
 */
#include "base/bits.h"
#include "page/numa.h"
#include "inspect/internal.h"

BUILD_ASSERT(SNAPSHOT_MAX_NODES == OS_MAX_NODES);

static void count_slab(struct snapshot_machine_node *node, const struct page *page)
{
	union {
		uint64_t word;
		struct slab_counters is;
	} counters = { .word = page->counters };
	unsigned long inuse = MIN(counters.is.inuse, counters.is.objects);

	node->slabs++;
	node->slab_bytes += PAGE_SIZE << page->order;
	node->objects += inuse;
	node->free_objects += counters.is.objects - inuse;
}

void snapshot_node_block(struct snapshot *s, const struct page *page)
{
	struct snapshot_machine_node *node = &s->node[page->node % SNAPSHOT_MAX_NODES];

	switch (page->type) {
	case PAGE_SLAB:
		count_slab(node, page);
		break;
	case PAGE_HEAP:
		node->slabs++;
		node->slab_bytes += PAGE_SIZE;
		break;
	case PAGE_RUN:
		node->run_bytes += (unsigned long)page->nr_pages << PAGE_SHIFT;
		break;
	case PAGE_BUDDY:
	case PAGE_LISTED:
	case PAGE_KEPT:
		node->free_bytes += page_free_pages(page) << PAGE_SHIFT;
		node->dirty_bytes += (unsigned long)page->nr_pages << PAGE_SHIFT;
		break;
	default:
		break;
	}
}

void snapshot_numa(struct snapshot *s)
{
	struct numa_counters counters;

	if (!s->root.numa || s->totals.nodes < 2)
		return;
	for (unsigned int i = 0; i < s->totals.nodes; i++) {
		struct snapshot_machine_node *node = &s->node[i];

		if (!snapshot_read(s, s->root.numa + i * sizeof(counters), &counters,
				   sizeof(counters)))
			return;
		node->numa_hit = counters.hit;
		node->numa_miss = counters.miss;
		node->numa_foreign = counters.foreign;
		node->interleave_hit = counters.interleave_hit;
		node->local_node = counters.local;
		node->other_node = counters.other;
		node->remote_frees = counters.remote_frees;
	}
}
