/* SPDX-License-Identifier: MIT */
/*
 * page/purge_tables.c - gives the descriptors of chunks without a page in use back to the system
 *
 * Why:        docs/adr/0065.
 * Data:       which chunks are bare: those whose descriptors were given back.
 * Invariants: a bare chunk is as one that the arena has yet to grow by: no page of it is counted
 *             as resident, its descriptors, class bytes and bits are zero. So it is on no list, and
 *             who looks at one of its descriptors meanwhile, by an address that is no object's any
 *             more, sees a page of type NONE. Only of node 0: the descriptors of others say their
 *             node.
 * Locks:      as in purge.c: zone.purge_lock is held, zone.lock is dropped over each system call,
 *             and the chunk is neither on its list nor bare then. bare: zone.lock of node 0.
 * Flow:       called by buddy.c, low.c, purge.c and purge_lazy.c; calls buddy.c, os/memory/.
 *
 * 64 KiB for each 4 MiB: after a burst of 1 GiB 16 MiB would stay. A zone that has no block for a
 * request takes a bare chunk, the lowest, before the arena grows.
 */
#include <limits.h>

#include "base/bits.h"
#include "os/lock/lock.h"
#include "os/memory/vm.h"
#include "page/zone.h"

#define CHUNK_PAGES (1ul << BUDDY_MAX_ORDER)
#define CHUNKS (USLAB_MAX_ARENA >> PAGE_SHIFT >> BUDDY_MAX_ORDER)
#define LOOKS 4 /* chunks at the head of the list that have to stay */

static unsigned long bare[CHUNKS / 64]; /* one bit for each chunk of the arena */
static unsigned long nr_bare;

/* What was purged lazily may be resident still, and its bits have to say so. */
static bool may_go(const struct page *chunk)
{
	return chunk->node == 0 &&
	       zone_is_zero((unsigned long)(chunk - page_map.pages), CHUNK_PAGES);
}

static struct page *pick_locked(struct buddy_zone *zone)
{
	struct list_head *list = &zone->free[BUDDY_MAX_ORDER][BUDDY_CLEAN];
	struct list_head *pos = list->next;

	for (unsigned int looks = 0; pos != list && looks < LOOKS; looks++, pos = pos->next) {
		struct page *chunk = list_entry(pos, struct page, lru);

		if (may_go(chunk))
			return chunk;
	}
	return NULL;
}

/* ---- class bytes: a page of the system has those of several chunks ---- */

/* The first of these, if all but the chunk itself are bare; *mask: the others. */
static bool others_are_bare(unsigned long chunk, unsigned long *first, unsigned long *mask)
{
	unsigned long chunks = MAX(os_page_size() / CHUNK_PAGES, 1ul);

	*first = ALIGN_DOWN(chunk, chunks);
	*mask = bits_mask(*first % 64, chunks) & ~(1ul << chunk % 64);
	return (bare[*first / 64] & *mask) == *mask;
}

/* The others are not taken meanwhile: they are not bare while the lock is dropped. */
static void purge_classes_locked(struct buddy_zone *zone, unsigned long chunk)
{
	unsigned long first, mask;
	size_t page = os_page_size();

	if (page < CHUNK_PAGES || !others_are_bare(chunk, &first, &mask))
		return;
	bare[first / 64] &= ~mask;
	nr_bare -= bits_count(mask);
	lock_release(&zone->lock);
	os_purge(page_map.class + first * CHUNK_PAGES, page);
	lock_acquire(&zone->lock);
	bare[first / 64] |= mask;
	nr_bare += bits_count(mask);
}

/* ---- chunks ---- */

static void add_locked(struct buddy_zone *zone, const struct page *chunk)
{
	unsigned long i = (unsigned long)(chunk - page_map.pages) / CHUNK_PAGES;

	purge_classes_locked(zone, i);
	bare[i / 64] |= 1ul << i % 64;
	nr_bare++;
}

unsigned long zone_lowest_bare_locked(const struct buddy_zone *zone)
{
	unsigned long word = 0;

	if (zone != &buddy_zones[0] || likely(!nr_bare))
		return ULONG_MAX;
	while (!bare[word])
		word++;
	return (word * 64 + (unsigned long)__builtin_ctzl(bare[word])) * CHUNK_PAGES;
}

struct page *zone_take_bare_locked(const struct buddy_zone *zone)
{
	unsigned long index = zone_lowest_bare_locked(zone);
	unsigned long chunk = index / CHUNK_PAGES;

	if (index == ULONG_MAX)
		return NULL;
	bare[chunk / 64] &= bare[chunk / 64] - 1;
	nr_bare--;
	return page_at(index);
}

/* false: the system refused (locked memory); the chunk is on its list as before. */
static bool purge_locked(struct buddy_zone *zone, struct page *chunk)
{
	bool done;

	zone_take_block_locked(zone, chunk);
	zone->stats.nr_total -= CHUNK_PAGES;
	lock_release(&zone->lock);
	done = os_purge(chunk, CHUNK_PAGES * sizeof(*chunk)) == 0;
	lock_acquire(&zone->lock);
	if (done) {
		add_locked(zone, chunk);
	} else {
		zone->stats.nr_total += CHUNK_PAGES;
		chunk->order = BUDDY_MAX_ORDER; /* a part may be gone */
		zone_return_block_locked(zone, chunk, 0, 0);
	}
	return done;
}

bool zone_purge_tables_locked(struct buddy_zone *zone, unsigned int most)
{
	struct page *chunk;

	while (most-- > 0) {
		chunk = pick_locked(zone);
		if (!chunk || !purge_locked(zone, chunk))
			return false;
	}
	return true;
}
