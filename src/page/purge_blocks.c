/* SPDX-License-Identifier: MIT */
/*
 * page/purge_blocks.c - purges some free blocks at once
 *
 * Data:       struct purge_batch of the caller.
 * Invariants: while a block is in a batch it is on no list, zone.purge_lock is held, and its pages
 *             count in zone.nr_purging.
 * Locks:      zone.purge_lock, in it zone.lock, which is dropped over the system call, and for a
 *             moment after some blocks.
 * Flow:       called by purge.c and purge_lazy.c; calls buddy.c, purge_lazy.c, ranges.c,
 *             os/memory/.
 */
#include "base/bits.h"
#include "os/memory/vm.h"
#include "page/zone.h"

#define BLOCKS_IN_ONE_GO 32 /* with zone.lock held */

static void let_others_in_locked(struct buddy_zone *zone, unsigned int i)
{
	if ((i + 1) % BLOCKS_IN_ONE_GO)
		return;
	lock_release(&zone->lock);
	lock_acquire(&zone->lock);
}

static inline bool is_dirty(unsigned long index)
{
	return page_map.dirty[index / 64] >> index % 64 & 1;
}

/*
 * The part of a block from its first to its last dirty page, of that the last pages, most at most,
 * in whole pages of the system. Are these all dirty pages?
 */
static bool dirty_span(struct page *page, unsigned long most, char **start, size_t *size)
{
	unsigned long index = zone_index_of(page);
	unsigned long end = index + (1ul << page->order);
	unsigned long first = index;
	unsigned long last = end;
	size_t system_page = os_page_size();
	uintptr_t from;
	bool whole;

	while (first < end && !is_dirty(first))
		first++;
	while (last > first && !is_dirty(last - 1))
		last--;
	whole = last - first <= most;
	first = MAX(first, last - MIN(last, most));
	from = ALIGN_DOWN((uintptr_t)page_address(page_at(first)), system_page);
	*start = (char *)from;
	*size = ALIGN_UP((uintptr_t)page_map.base + (last << PAGE_SHIFT), system_page) - from;
	return whole;
}

/*
 * Beside dirty pages clean ones may be resident, which the system made one huge page with them, at
 * the first fault or later (khugepaged): they go together, where the block has all of that.
 */
static void widen(struct page *page, struct os_range *range)
{
	uintptr_t start = (uintptr_t)page_address(page);
	uintptr_t from = ALIGN_DOWN((uintptr_t)range->start, OS_HUGE_PAGE);
	uintptr_t to = ALIGN_UP((uintptr_t)range->start + range->size, OS_HUGE_PAGE);

	if (from < start || to > start + (PAGE_SIZE << page->order))
		return;
	range->start = (char *)from;
	range->size = to - from;
}

static void take_locked(struct buddy_zone *zone, struct purge_batch *batch, struct page *page,
			struct os_range range)
{
	zone_take_block_locked(zone, page);
	zone->nr_purging += 1ul << page->order;
	batch->block[batch->nr] = page;
	batch->range[batch->nr] = range;
	let_others_in_locked(zone, batch->nr++);
}

void purge_batch_add_locked(struct buddy_zone *zone, struct purge_batch *batch, struct page *page,
			    unsigned long most)
{
	struct os_range range;
	bool whole = dirty_span(page, most, (char **)&range.start, &range.size);

	batch->pages += range.size >> PAGE_SHIFT;
	if (whole && !batch->lazily)
		widen(page, &range);
	take_locked(zone, batch, page, range);
}

void purge_batch_add_whole_locked(struct buddy_zone *zone, struct purge_batch *batch,
				  struct page *page)
{
	batch->pages += 1ul << page->order;
	take_locked(zone, batch, page,
		    (struct os_range){ page_address(page), PAGE_SIZE << page->order });
}

/* Back on its list; purged: what was to be purged of it was. */
static void put_back_locked(struct buddy_zone *zone, const struct purge_batch *batch,
			    unsigned int i, bool purged)
{
	struct page *page = batch->block[i];
	const struct os_range *range = &batch->range[i];
	unsigned long index = zone_index_of(page);
	unsigned long was_dirty = page->nr_pages;
	unsigned long nr_dirty = was_dirty;
	unsigned int order = page->order;

	if (purged) {
		zone_set_dirty(page_index(range->start), range->size >> PAGE_SHIFT, false);
		if (zone_lazy)
			zone_set_lazy_locked(page_index(range->start), range->size >> PAGE_SHIFT,
					     batch->lazily);
		nr_dirty = zone_count_dirty(index, 1ul << order);
		zone->stats.nr_purged += was_dirty - nr_dirty;
		zone->purged_lately += was_dirty - nr_dirty;
		zone->slow_purged += was_dirty - nr_dirty;
		zone->fit_purged += was_dirty - nr_dirty;
		zone->fallen += was_dirty - nr_dirty;
	}
	zone->nr_purging -= 1ul << order;
	zone_return_block_locked(zone, page, nr_dirty, was_dirty);
}

/* Returns how many, from the first on. */
static unsigned int purge_lazily(const struct purge_batch *batch)
{
	unsigned int done = 0;

	while (done < batch->nr &&
	       os_purge_lazily(batch->range[done].start, batch->range[done].size) == 0)
		done++;
	return done;
}

bool purge_batch_end_locked(struct buddy_zone *zone, struct purge_batch *batch)
{
	unsigned int done;

	lock_release(&zone->lock);
	done = batch->lazily ? purge_lazily(batch) : os_purge_ranges(batch->range, batch->nr);
	lock_acquire(&zone->lock);
	for (unsigned int i = 0; i < batch->nr; i++) {
		put_back_locked(zone, batch, i, i < done);
		let_others_in_locked(zone, i);
	}
	return done == batch->nr;
}
