/* SPDX-License-Identifier: MIT */
/*
 * page/buddy_range.c - pages in a row, of any number, out of free blocks and back into them
 *
 * Why:        docs/adr/0028, docs/adr/0057.
 * Data:       none of its own.
 * Invariants: those of page/buddy.h. The bits and counts of all pages of a range change at once,
 *             before its blocks are put on lists, or after they were taken off.
 * Locks:      zone.lock.
 * Flow:       called by run.c, pcp_runs.c, fit.c, low.c, purge_lazy.c and
 *             debug/kfence/kfence_pool.c; calls buddy.c, ranges.c, and purge.c when the limit is
 *             exceeded.
 *
 * A page run of 144 pages is some ten blocks: what can be done for all of it is not done for each.
 */
#include "arch/cpu.h"
#include "base/assert.h"
#include "os/instrument/memcheck.h"
#include "page/zone.h"

/* ---- free ------------------------------------------------------------------------------------ */

/*
 * Pages are about to become free: the descriptors of their blocks, of those blocks' buddies, and of
 * what lies behind them, which begins no chunk that may not be there, are asked for together. Where
 * caches are cold, each merge would wait for one.
 */
static void prefetch_merges_locked(unsigned long index, unsigned long end)
{
	if (end % (1ul << BUDDY_MAX_ORDER) && zone_has_free(end))
		arch_prefetch_write(page_at(end));
	while (index < end) {
		unsigned int order = zone_order_at(index, end);
		unsigned long buddy = index ^ (1ul << order);

		arch_prefetch_write(page_at(index));
		if (order < BUDDY_MAX_ORDER && zone_has_free(buddy))
			arch_prefetch_write(page_at(buddy));
		index += 1ul << order;
	}
}

/*
 * Frees pages in the largest aligned blocks, ascending, without a word to page/ranges.c. d: of all
 * of them; their dirty bits are right.
 */
static void free_range_locked(struct buddy_zone *zone, unsigned long index, struct zone_dirty d)
{
	unsigned long end = index + d.of;

	prefetch_merges_locked(index, end);
	zone_set_bits(page_map.free, index, d.of, true);
	zone->stats.nr_free += d.of;
	zone_add_dirty_locked(zone, d.nr);
	while (index < end) {
		unsigned int order = zone_order_at(index, end);

		zone_merge_block_locked(zone, index, order, zone_dirty_part(d, index, 1ul << order),
					zone->clock);
		index += 1ul << order;
	}
}

/* Their descriptors lead to no block any more. */
static void free_pages(struct page *page, unsigned long nr_pages, bool dirty)
{
	unsigned long index = zone_index_of(page);
	struct buddy_zone *zone = &buddy_zones[page->node];
	struct zone_dirty d = { nr_pages, nr_pages };

	lock_acquire(&zone->lock);
	zone_note_peak_locked(zone);
	if (dirty)
		zone_set_dirty(index, nr_pages, true);
	else
		d.nr = zone_count_dirty(index, nr_pages);
	free_range_locked(zone, index, d);
	zone_hold_locked(zone, d.nr - nr_pages); /* those nobody wrote to are held no more */
	zone_note_freed_locked(page->node, index, d);
	if (unlikely(zone_unlock_after_free(zone)))
		zone_purge_slow(zone);
}

void buddy_free_range(struct page *page, unsigned long nr_pages, bool dirty)
{
	if (nr_pages == 0) /* then page may be the first one behind the committed descriptors */
		return;
	zone_retire(page, nr_pages);
	free_pages(page, nr_pages, dirty);
}

void buddy_free_run(struct page *page, unsigned long nr_pages, bool dirty)
{
	if (nr_pages == 0)
		return;
	zone_retire_run(page, nr_pages);
	free_pages(page, nr_pages, dirty);
}

void zone_give_run(struct page *page, unsigned long nr_pages)
{
	free_pages(page, nr_pages, true);
}

/* ---- claiming pages where they are ----------------------------------------------------------- */

struct page *zone_find_free_locked(unsigned long index)
{
	struct page *page = page_at(index);
	unsigned int order;

	if (load_relaxed(&page->type) == PAGE_BUDDY)
		return page;
	for (order = 1; order <= BUDDY_MAX_ORDER; order++) {
		page = zone_free_block(ALIGN_DOWN(index, 1ul << order), order);

		if (page)
			return page;
	}
	return NULL;
}

static bool range_is_free_locked(unsigned int node, unsigned long index, unsigned long end)
{
	while (index < end) {
		struct page *page;

		/* The neighbouring chunk may be of another node, whose lock is not held. */
		if (page_at(index)->node != node)
			return false;
		page = zone_find_free_locked(index);
		if (!page)
			return false;
		index = zone_index_of(page) + (1ul << page->order);
	}
	return true;
}

/*
 * Pages that stay free of a block that is on no list any more, d its dirty ones: the rest of it is
 * in use now, so none of them merge. Returns how many of them are dirty.
 */
static unsigned long put_rest_locked(struct buddy_zone *zone, unsigned long index,
				     unsigned long end, struct zone_dirty d)
{
	unsigned long nr_dirty = 0;

	while (index < end) {
		unsigned int order = zone_order_at(index, end);
		unsigned long part = zone_dirty_part(d, index, 1ul << order);

		zone_put_block_locked(zone, index, order, part, zone->clock);
		nr_dirty += part;
		index += 1ul << order;
	}
	return nr_dirty;
}

/* Where most of the free blocks begin that they lie in: these are as large as they can be. */
static void prefetch_blocks(unsigned long index, unsigned long end)
{
	for (; index < end; index += 1ul << zone_order_at(index, end))
		arch_prefetch_write(page_at(index));
}

void zone_claim_locked(struct buddy_zone *zone, unsigned long index, unsigned long end)
{
	unsigned long nr_dirty = 0;
	unsigned long i = index;

	prefetch_blocks(index, end);
	while (i < end) {
		struct page *page = zone_find_free_locked(i);
		unsigned long start = zone_index_of(page);
		unsigned long next = start + (1ul << page->order);
		struct zone_dirty d = { page->nr_pages, next - start };

		zone_remove_block_locked(zone, page);
		nr_dirty += d.nr;
		if (start < i)
			nr_dirty -= put_rest_locked(zone, start, i, d);
		if (next > end)
			nr_dirty -= put_rest_locked(zone, end, next, d);
		i = next;
	}
	zone_set_bits(page_map.free, index, end - index, false);
	zone->stats.nr_free -= end - index;
	zone_add_dirty_locked(zone, -nr_dirty);
	zone_note_taken_locked(page_at(index)->node, index, end - index);
}

bool buddy_claim_range(struct page *page, unsigned long nr_pages, bool *zeroed)
{
	unsigned long index = zone_index_of(page);
	unsigned long end = index + nr_pages;
	struct buddy_zone *zone;
	unsigned long dirty;
	bool ok;

	if (end > load_relaxed(&page_map.nr_pages))
		return false;
	zone = &buddy_zones[page->node];
	lock_acquire(&zone->lock);
	ok = range_is_free_locked(page->node, index, end);
	dirty = ok ? zone_count_dirty(index, nr_pages) : 0;
	ok = ok && zone_admit_locked(zone, nr_pages - dirty);
	if (ok) {
		if (zeroed)
			*zeroed = dirty == 0 && zone_is_zero(index, nr_pages);
		zone_claim_locked(zone, index, end);
		if (dirty < nr_pages)
			zone_limit_fell(zone);
		zone->stats.nr_alloc++;
	}
	lock_release(&zone->lock);
	if (ok && unlikely(os_memcheck_on))
		os_memcheck_forget(page_address(page), nr_pages * PAGE_SIZE);
	return ok;
}
