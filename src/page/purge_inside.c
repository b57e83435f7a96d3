/* SPDX-License-Identifier: MIT */
/*
 * page/purge_inside.c - gives the descriptors inside of large free blocks back to the system
 *
 * Why:        docs/adr/0065.
 * Data:       the CLEAN and BARE lists of a zone.
 * Invariants: of a free block only the first descriptor says anything; the others have type NONE,
 *             as zeros have. So those on other pages than the first one's may go. Only of node 0:
 *             the descriptors of others say their node. A block of less than zone_bare_order() has
 *             no such page. Halves of a bare block that is split for a request are bare; the
 *             rest of one that pages were claimed in is not, nor is what has merged, since the
 *             first descriptors of both lay on resident pages.
 * Locks:      as in purge.c: zone.purge_lock is held, zone.lock is dropped over each system call,
 *             and the block is on no list then.
 * Flow:       called by purge.c and purge_lazy.c; calls buddy.c, os/memory/.
 *
 * A chunk in which one slab has stayed keeps 5 of its 16 pages of descriptors. Chunks without a
 * page in use are purge_tables.c's, which leaves none.
 */
#include "base/bits.h"
#include "os/lock/lock.h"
#include "os/memory/vm.h"
#include "page/zone.h"

static struct page *pick_locked(struct buddy_zone *zone)
{
	for (unsigned int order = BUDDY_MAX_ORDER; order-- > zone_bare_order();) {
		struct list_head *list = &zone->free[order][BUDDY_CLEAN];

		if (!list_empty(list))
			return list_first(list, struct page, lru);
	}
	return NULL;
}

/* false: the system refused (locked memory); the block is where it was. */
static bool purge_locked(struct buddy_zone *zone, struct page *page)
{
	unsigned int order = page->order;
	unsigned long nr_pages = 1ul << order;
	size_t first = os_page_size();
	bool done;

	zone_take_block_locked(zone, page);
	zone->nr_purging += nr_pages;
	lock_release(&zone->lock);
	done = os_purge((char *)page + first, nr_pages * sizeof(*page) - first) == 0;
	lock_acquire(&zone->lock);
	zone->nr_purging -= nr_pages;
	zone_return_block_locked(zone, page, 0, 0);
	if (done)
		zone_set_bare_locked(zone, page, order);
	return done;
}

bool zone_purge_inside_locked(struct buddy_zone *zone, unsigned int most)
{
	struct page *page;

	if (zone != &buddy_zones[0])
		return false;
	while (most-- > 0) {
		page = pick_locked(zone);
		if (!page || !purge_locked(zone, page))
			return false;
	}
	return true;
}
