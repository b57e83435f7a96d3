/* SPDX-License-Identifier: MIT */
/*
 * page/buddy_try.c - blocks of pages for calls that must not wait
 *
 * Why:        docs/adr/0048.
 * Data:       wanted, by node: what no free block was large enough for.
 * Invariants: those of page/buddy.h. No system call: no chunk is committed, nothing is purged. A
 *             purge that is due by then happens at one of the next ordinary frees; a chunk is
 *             committed by the next ordinary call that does deferred work.
 * Locks:      zone.lock, which is tried but by buddy_replenish(); a purge of the zone may be under
 *             way. wanted is atomic, and a hint.
 * Flow:       called by api/init.c, engine/ and nested.c; calls buddy.c.
 */
#include "page/zone.h"

static unsigned int wanted[OS_MAX_NODES]; /* an order plus one; 0: nothing */

/* The next call of this thread that may wait commits a chunk (page/nested.h). */
static cold void want(unsigned int node, unsigned int order)
{
	store_relaxed(&wanted[node], order + 1);
	lock_set_flags(LOCK_DEFERRED);
}

struct page *buddy_try_alloc(unsigned int node, unsigned int order)
{
	struct buddy_zone *zone = &buddy_zones[node];
	struct page *page;

	if (order > BUDDY_MAX_ORDER || node >= buddy_nr_nodes || !lock_try(&zone->lock))
		return NULL;
	page = zone_take_locked(zone, order, BUDDY_NO_LANE);
	if (page && page->nr_pages < 1ul << order)
		zone_note_clean_locked(zone, (1ul << order) - page->nr_pages);
	lock_release(&zone->lock);
	if (page)
		zone_notify_alloc(page, order);
	else
		want(node, order);
	return page;
}

void buddy_provide(unsigned int node, unsigned int order)
{
	struct buddy_zone *zone = &buddy_zones[node];

	if (realtime_is_on()) /* what was made ready is all that there is to be */
		return;
	lock_acquire(&zone->lock);
	if (!(zone->orders >> order))
		zone_grow_locked(zone, node);
	lock_release(&zone->lock);
}

void buddy_replenish(void)
{
	for (unsigned int node = 0; node < buddy_nr_nodes; node++) {
		unsigned int next = load_relaxed(&wanted[node]) ? xchg(&wanted[node], 0u) : 0;

		if (next) /* else another thread has it */
			buddy_provide(node, next - 1);
	}
}

bool buddy_try_free(struct page *page, unsigned int order)
{
	struct buddy_zone *zone = &buddy_zones[page->node];
	unsigned long nr_pages = 1ul << order;

	if (!lock_try(&zone->lock))
		return false;
	zone_retire(page, nr_pages);
	zone_note_peak_locked(zone);
	zone_set_dirty(zone_index_of(page), nr_pages, true);
	zone_free_locked(zone, page, order, nr_pages);
	lock_release(&zone->lock);
	return true;
}
