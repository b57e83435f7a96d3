/* SPDX-License-Identifier: MIT */
/*
 * page/realtime.c - memory that is made ready ahead, so that calls need nothing of the system
 *
 * Data:       see realtime.h.
 * Invariants: see realtime.h.
 * Locks:      zone.lock while a chunk is added.
 * Flow:       see realtime.h; calls os/memory/resident.h.
 *
 * Pages that are made ready are resident, so they count as dirty: whoever needs zeros writes them,
 * in a time that follows from the size, and not only when it happens to be a page's second use.
 */
#include "page/realtime.h"

#include <errno.h>

#include "base/bits.h"
#include "os/cpu/cpu.h"
#include "os/memory/resident.h"
#include "page/arena.h"
#include "page/meta.h"
#include "page/zone.h"

/* Metadata is mostly arrays of CPUs and depots: a few of these for each cache. */
#define META_BYTES (1ul << 20)
#define META_BYTES_PER_CPU (64ul << 10)

struct realtime_counters realtime_counters;

/* Resident, and locked if possible. false: not locked. */
static bool make_ready(void *start, size_t size)
{
	os_populate(start, size);
	return !os_lock(start, size);
}

static void prepare_span(void *start, size_t size, void *all_locked)
{
	if (!make_ready(start, size))
		*(bool *)all_locked = false;
}

/* A chunk more. false: out of memory. */
static bool add_chunk(unsigned int node)
{
	struct buddy_zone *zone = &buddy_zones[node];
	struct page *chunk;

	lock_acquire(&zone->lock);
	chunk = arena_grow(node);
	if (chunk) {
		size_t size = PAGE_SIZE << BUDDY_MAX_ORDER;

		if (make_ready(page_address(chunk), size))
			realtime_counters.locked += size;
		zone->stats.nr_total += 1ul << BUDDY_MAX_ORDER;
		zone_set_dirty((unsigned long)(chunk - page_map.pages), 1ul << BUDDY_MAX_ORDER,
			       true);
		zone_free_locked(zone, chunk, BUDDY_MAX_ORDER, 1ul << BUDDY_MAX_ORDER);
		realtime_counters.bytes += size;
	}
	lock_release(&zone->lock);
	return chunk;
}

static bool add_chunks(size_t bytes)
{
	size_t chunk = PAGE_SIZE << BUDDY_MAX_ORDER;
	size_t each = DIV_ROUND_UP(DIV_ROUND_UP(bytes, buddy_nr_nodes), chunk);

	for (size_t i = 0; i < each; i++)
		for (unsigned int node = 0; node < buddy_nr_nodes; node++)
			if (!add_chunk(node))
				return false;
	return true;
}

int realtime_start(size_t bytes)
{
	bool enough = add_chunks(bytes);
	bool locked = realtime_counters.locked == realtime_counters.bytes;
	size_t size = META_BYTES + os_topology.nr_cpu_ids * META_BYTES_PER_CPU;
	void *meta = meta_prepare(size);

	if (meta)
		prepare_span(meta, size, &locked);
	arena_each_table(prepare_span, &locked);
	os_lock_image();
	if (!enough || !meta)
		return -ENOMEM;
	return locked ? 0 : -EPERM;
}
