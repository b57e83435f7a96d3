/* SPDX-License-Identifier: MIT */
/*
 * inspect/usage.c - how many bytes this process has in slabs
 *
 * Data:       none of its own.
 * Invariants: see inspect/usage.h.
 * Locks:      none; the zones' counters are read without their locks, as tools outside do.
 * Flow:       see usage.h; reads page/buddy.c, page/run.c and, slowly, the caches' fronts;
 *             calls os/time/clock.c and os/memory/resident.c.
 */
#include "inspect/usage.h"

#include "base/atomic.h"
#include "cache/cache.h"
#include "os/memory/resident.h"
#include "os/time/clock.h"
#include "page/buddy.h"
#include "page/large.h"
#include "page/meta.h"
#include "page/pcp.h"
#include "page/pcp_runs.h"
#include "page/run.h"

void usage_read(struct usage *usage)
{
	unsigned long large = run_live().pages;
	unsigned long used = 0;

	for (unsigned int node = 0; node < buddy_nr_nodes; node++) {
		const struct buddy_stats *stats = &buddy_zones[node].stats;

		used += load_relaxed(&stats->nr_total) - load_relaxed(&stats->nr_free) -
			pcp_stats(node).nr_pages - pcp_runs_stats(node).pages;
	}
	/* Read at different times: other threads may have allocated in between. */
	usage->slab_bytes = used > large ? (used - large) * PAGE_SIZE : 0;
	usage->large_bytes = large * PAGE_SIZE;
	usage->mapped_bytes = load_relaxed(&large_counters.bytes);
}

/* Adds the objects held by a front, in queues or in cpu slabs. */
static void add_held(struct usage_slow *usage, struct cache *c)
{
	uint64_t bytes = c->front.ops->held(&c->front) * c->engine.size;

	if (c->front.ops == &front_cpuslab_ops)
		usage->cpu_slab_bytes += bytes;
	else
		usage->queue_bytes += bytes;
}

/* Of a node: what lists of CPUs took is not asked for yet, what they hand out is. */
static uint64_t blocks_asked_for(unsigned int node)
{
	struct pcp_stats listed = pcp_stats(node);

	return load_relaxed(&buddy_zones[node].stats.nr_alloc) - listed.nr_taken + listed.nr_alloc;
}

void usage_read_slow(struct usage_slow *usage)
{
	struct list_head *pos;

	*usage = (struct usage_slow){ .meta_bytes = load_relaxed(&meta_counters.used) };
	for (unsigned int node = 0; node < buddy_nr_nodes; node++)
		usage->page_blocks += blocks_asked_for(node);
	list_for_each(pos, &cache_list)
		add_held(usage, list_entry(pos, struct cache, list));
}

uint64_t usage_play_time(uint64_t (*us)(void))
{
	uint64_t now = os_clock_us();

	os_clock_play(us);
	return now;
}

uint64_t usage_available_memory(void)
{
	return os_available_memory();
}

uint64_t usage_nr_pages(void)
{
	return load_relaxed(&page_map.nr_pages);
}

uint64_t usage_page_of(const void *p)
{
	return page_index(p);
}

bool usage_page_in_use(uint64_t page)
{
	const struct page *head = page_at(page);

	return head->type != PAGE_NONE && !page_is_free(head);
}
