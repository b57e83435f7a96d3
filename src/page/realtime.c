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
#include "os/instrument/memcheck.h"
#include "os/memory/resident.h"
#include "page/arena.h"
#include "page/meta.h"
#include "page/zone.h"

/* Metadata is mostly arrays of CPUs and depots: a few of these for each cache. */
#define META_BYTES (1ul << 20)
#define META_BYTES_PER_CPU (64ul << 10)

#define CHUNK_BYTES (PAGE_SIZE << BUDDY_MAX_ORDER)

struct realtime_counters realtime_counters;

/* *locked becomes false where that fails, and no more is locked then. */
static void lock_all(void *start, size_t size, bool *locked)
{
	if (*locked && os_lock(start, size))
		*locked = false;
}

/* Resident, and locked as above. */
static void make_ready(void *start, size_t size, void *locked)
{
	os_populate(start, size);
	lock_all(start, size, locked);
}

static void unlock(void *start, size_t size, void *unused)
{
	(void)unused;
	os_unlock(start, size);
}

/* A chunk more. false: out of memory; what could not be made resident is there all the same. */
static bool add_chunk(unsigned int node, bool *locked)
{
	struct buddy_zone *zone = &buddy_zones[node];
	struct page *chunk;
	bool ready = false;

	lock_acquire(&zone->lock);
	chunk = arena_grow(node);
	if (chunk) {
		ready = !os_populate(page_address(chunk), CHUNK_BYTES);
		/* it stays as it is: to join pages the system takes them away for a moment */
		os_small_pages(page_address(chunk), CHUNK_BYTES);
		if (ready)
			lock_all(page_address(chunk), CHUNK_BYTES, locked);
		if (unlikely(os_memcheck_on))
			os_memcheck_close(page_address(chunk), CHUNK_BYTES, OS_HIDE_FROM_ALL);
		zone_count_chunk_locked(zone);
		zone_set_dirty((unsigned long)(chunk - page_map.pages), 1ul << BUDDY_MAX_ORDER,
			       true);
		zone_free_locked(zone, chunk, BUDDY_MAX_ORDER, 1ul << BUDDY_MAX_ORDER);
		realtime_counters.bytes += ready ? CHUNK_BYTES : 0;
	}
	lock_release(&zone->lock);
	return ready;
}

/* false: there is less. */
static bool add_chunks(size_t bytes, size_t most, bool *locked)
{
	size_t each = DIV_ROUND_UP(DIV_ROUND_UP(bytes, buddy_nr_nodes), CHUNK_BYTES);

	for (size_t i = 0; i < each; i++)
		for (unsigned int node = 0; node < buddy_nr_nodes; node++)
			if (realtime_counters.bytes + CHUNK_BYTES > most ||
			    !add_chunk(node, locked))
				return false;
	return true;
}

/* The image comes last, so that only what is ours is ever unlocked. */
static void end_locks(bool locked, void *meta, size_t meta_size)
{
	if (locked) {
		realtime_counters.locked = realtime_counters.bytes;
		os_lock_image();
		return;
	}
	os_unlock(page_map.base, arena_size());
	if (meta)
		os_unlock(meta, meta_size);
	arena_each_table(unlock, NULL);
}

int realtime_start(size_t bytes, size_t most)
{
	bool locked = true;
	bool enough = add_chunks(bytes, most, &locked);
	size_t size = META_BYTES + os_topology.nr_cpu_ids * META_BYTES_PER_CPU;
	void *meta = meta_prepare(size);

	if (meta)
		make_ready(meta, size, &locked);
	arena_each_table(make_ready, &locked);
	os_populate_image();
	end_locks(locked, meta, size);
	return enough && meta ? 0 : -ENOMEM;
}
