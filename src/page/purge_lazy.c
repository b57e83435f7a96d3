/* SPDX-License-Identifier: MIT */
/*
 * page/purge_lazy.c - purge=free: the system takes free pages when it needs some (MADV_FREE)
 *
 * Why:        docs/adr/0065.
 * Data:       zone_lazy: one bit for each page of the arena, set when it is purged so; NULL unless
 *             the option was given.
 * Invariants: a clean page without its bit holds zeros. One with it holds what it held, or zeros,
 *             from one moment to the next as long as nobody writes to it: nobody counts on either.
 *             A page in use keeps its bit, since it may come back as it was handed out.
 * Locks:      a page's bit is changed under zone.lock; no two zones share a word. The owner of a
 *             page reads it without: others in the word change meanwhile, its own does not.
 * Flow:       called by purge.c, purge_blocks.c, zone.h and cache/init.c; calls buddy.c, meta.c,
 *             purge_blocks.c, purge_tables.c, os/memory/.
 */
#include <errno.h>
#include <limits.h>

#include "base/bits.h"
#include "os/memory/vm.h"
#include "page/buddy.h"
#include "page/meta.h"
#include "page/zone.h"

unsigned long *zone_lazy;

int buddy_purge_lazily(void)
{
	zone_lazy = meta_alloc(page_map.limit / 8);
	return zone_lazy ? 0 : -ENOMEM;
}

void zone_set_lazy_locked(unsigned long index, unsigned long nr_pages, bool lazy)
{
	while (nr_pages > 0) {
		unsigned long n = MIN(64 - index % 64, nr_pages);
		unsigned long mask = bits_mask(index % 64, n);
		unsigned long *word = &zone_lazy[index / 64];

		store_relaxed(word, lazy ? *word | mask : *word & ~mask);
		index += n;
		nr_pages -= n;
	}
}

bool zone_none_lazy(unsigned long index, unsigned long nr_pages)
{
	while (nr_pages > 0) {
		unsigned long n = MIN(64 - index % 64, nr_pages);

		if (load_relaxed(&zone_lazy[index / 64]) & bits_mask(index % 64, n))
			return false;
		index += n;
		nr_pages -= n;
	}
	return true;
}

/* ---- all of it, at once ---- */

/* The first free page from *index on that has its bit, of a node; *index moves on to it. */
static bool find_locked(unsigned int node, unsigned long *index)
{
	unsigned long end = load_acquire(&page_map.nr_pages); /* pairs with arena_grow() */

	while (*index < end) {
		unsigned long word = *index / 64;
		unsigned long lazy = 0;

		if (page_at(ALIGN_DOWN(*index, 1ul << BUDDY_MAX_ORDER))->node == node)
			lazy = zone_lazy[word] & page_map.free[word] & ~0ul << *index % 64;
		if (lazy) {
			*index = word * 64 + (unsigned long)__builtin_ctzl(lazy);
			return true;
		}
		*index = (word + 1) * 64;
	}
	return false;
}

/* Purges a whole free block; false: the system refused. As in purge.c, the lock is dropped. */
static bool purge_block_locked(struct buddy_zone *zone, struct page *page)
{
	struct page *block;
	struct os_range range;
	struct purge_batch batch = { .block = &block, .range = &range, .room = 1 };

	purge_batch_add_whole_locked(zone, &batch, page);
	return purge_batch_end_locked(zone, &batch);
}

size_t zone_trim_lazy(unsigned int node)
{
	struct buddy_zone *zone = &buddy_zones[node];
	unsigned long index = 0;
	size_t bytes = 0;

	lock_acquire(&zone->purge_lock);
	lock_acquire(&zone->lock);
	while (find_locked(node, &index)) {
		struct page *page = zone_find_free_locked(index);
		unsigned int order = page->order;

		/* smaller than the system's pages: it stays as it is */
		if (order >= get_order(os_page_size()) && purge_block_locked(zone, page))
			bytes += PAGE_SIZE << order;
		index = (index | ((1ul << order) - 1)) + 1;
	}
	zone_purge_tables_locked(zone, UINT_MAX);
	zone_purge_inside_locked(zone, UINT_MAX);
	lock_release(&zone->lock);
	lock_release(&zone->purge_lock);
	return bytes;
}
