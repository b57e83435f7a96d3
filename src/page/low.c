/* SPDX-License-Identifier: MIT */
/*
 * page/low.c - which pages lie far above what the memory in use needs, and the lowest free ones
 *
 * Why:        docs/adr/0065.
 * Data:       page_map.free; where the next search begins; what was held when one failed.
 * Invariants: see low.h.
 * Locks:      zone.lock of node 0.
 * Flow:       see low.h; calls buddy.c, purge_tables.c.
 */
#include "page/low.h"

#include <limits.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "page/zone.h"

#define FAR_TIMES 4ul /* what is in use; its descriptors are a 64th of that then */
#define FAR_CHUNKS 4ul
#define LOOK_WORDS 1024ul /* of 64 pages each: bounds the time of a search */

static unsigned long next_word; /* zone.lock of node 0 */
static unsigned long failed;	/* zone.held when a search found nothing; atomic */

unsigned long page_far(unsigned long leaving)
{
	unsigned long held = load_relaxed(&buddy_zones[0].held);
	unsigned long stays = held - MIN(held, leaving);
	unsigned long far = FAR_TIMES * stays + (FAR_CHUNKS << BUDDY_MAX_ORDER);
	unsigned long at = load_relaxed(&failed);

	if (likely(far >= load_relaxed(&page_map.nr_pages)) || buddy_nr_nodes > 1)
		return ULONG_MAX;
	return held - at + at / 8 < at / 4 ? ULONG_MAX : far;
}

/* The bits of a word at which an aligned block of that order is free. */
static unsigned long free_blocks(unsigned long word, unsigned int order)
{
	static const unsigned long starts[LOW_MOST_ORDER + 1] = {
		~0ul,
		0x5555555555555555ul,
		0x1111111111111111ul,
		0x0101010101010101ul,
		0x0001000100010001ul,
		0x0000000100000001ul,
	};

	for (unsigned int i = 0; i < order; i++)
		word &= word >> (1u << i);
	return word & starts[order];
}

/* The index of a free block below that page, or ULONG_MAX. */
static unsigned long find_locked(unsigned int order, unsigned long far)
{
	unsigned long words = far / 64;

	for (unsigned long i = 0; i < MIN(words, LOOK_WORDS); i++, next_word++) {
		unsigned long blocks;

		if (next_word >= words)
			next_word = 0;
		blocks = free_blocks(page_map.free[next_word], order);
		if (blocks)
			return next_word * 64 + (unsigned long)__builtin_ctzl(blocks);
	}
	return ULONG_MAX;
}

/* Likewise; also in the lowest chunk without descriptors, which gets them again. */
static unsigned long find_or_restore_locked(struct buddy_zone *zone, unsigned int order,
					    unsigned long far)
{
	unsigned long index = find_locked(order, far);
	unsigned long bare = zone_lowest_bare_locked(zone);

	if (index == ULONG_MAX && bare < far && zone_restore_locked(zone)) {
		next_word = bare / 64;
		index = bare;
	}
	return index;
}

struct page *buddy_alloc_low(unsigned int order, unsigned long far)
{
	struct buddy_zone *zone = &buddy_zones[0];
	unsigned long nr_pages = 1ul << order;
	unsigned long index;
	unsigned long nr_clean;

	if (order > LOW_MOST_ORDER)
		return NULL;
	lock_acquire(&zone->lock);
	far = MIN(far, page_map.nr_pages);
	index = find_or_restore_locked(zone, order, far);
	nr_clean = index == ULONG_MAX ? 0 : nr_pages - zone_count_dirty(index, nr_pages);
	if (index != ULONG_MAX && !zone_admit_locked(zone, nr_clean))
		index = ULONG_MAX;
	if (index == ULONG_MAX) {
		store_relaxed(&failed, zone->held);
	} else {
		zone_claim_locked(zone, index, index + nr_pages);
		zone->stats.nr_alloc++;
		zone_note_clean_locked(zone, nr_clean);
	}
	lock_release(&zone->lock);
	if (index == ULONG_MAX)
		return NULL;
	zone_notify_alloc(page_at(index), order);
	return page_at(index);
}
