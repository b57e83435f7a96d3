/* SPDX-License-Identifier: MIT */
/*
 * page/purge.c - gives free pages back to the system: at once above a limit, else after a delay
 *
 * Data:       the two limits; per zone: clock, aged, purge_after, stamps of free blocks.
 * Invariants: while a purge has a block off its list it holds zone.purge_lock, so whoever holds
 *             that lock (fork, an allocation about to fail) finds every free block on a list.
 * Locks:      zone.purge_lock (RANK_PURGE), in it zone.lock (RANK_PAGE), which is dropped over each
 *             system call. An automatic purge only tries the purge lock: if it is held, another
 *             thread purges already.
 * Flow:       called by page/, api/, cache/ and malloc/; calls keep.c, os/memory/vm.c.
 *
 * A system call takes some 0.5 us before its first page, so the largest blocks are purged first,
 * and within an order those that have been free for longest: the tail of the list, but for the few
 * that page/buddy.c put there because their buddy is free. Where page runs had many refaults age
 * comes before size: the largest blocks are those that the next page runs need.
 */
#include <limits.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "os/time/clock.h"
#include "os/memory/vm.h"
#include "page/buddy.h"
#include "page/pcp.h"
#include "page/zone.h"

/*
 * Pages that a purge goes below the limit (or a quarter of it), so that a heap at its limit does
 * not purge at every free.
 */
#define PURGE_BATCH 256ul

/*
 * Where page runs had many refaults, only the end of a block is purged, but at least this many
 * pages, so that the system call pays; else whole blocks are.
 */
#define PURGE_PART 64ul
#define PURGE_PART_REFAULTS 1024ul /* pages */
#define PURGE_OLD_ORDER 2u	   /* by age no smaller blocks are purged */

#define CLOCK_SHIFT 4	 /* milliseconds to units of zone.clock */
#define OLD_BLOCKS 64	 /* that one search for old blocks purges at most: bounds a free's time */
#define OLD_LOOKS 8	 /* blocks from a list's tail that it examines */
#define RETRY_CLOCKS 64u /* about a second, when the system refused (locked memory) */

unsigned long zone_purge_limit = ZONE_LIMIT_AUTO;
uint32_t zone_purge_delay = BUDDY_PURGE_DELAY_MS >> CLOCK_SHIFT;
uint32_t zone_half_life = 64 >> CLOCK_SHIFT;

void buddy_set_purge(size_t limit_bytes, unsigned int delay_ms)
{
	store_relaxed(&zone_purge_limit,
		      limit_bytes == SIZE_MAX ? ZONE_LIMIT_AUTO : limit_bytes >> PAGE_SHIFT);
	store_relaxed(&zone_purge_delay, delay_ms >> CLOCK_SHIFT);
	keep_set_limit(delay_ms > 0 ? limit_bytes : 0);
}

static unsigned long halve(unsigned long pages, uint32_t halvings)
{
	return halvings < 64 ? pages >> halvings : 0;
}

/* For page runs, which are larger and fewer: over longer times. */
static void halve_since(unsigned long *pages, uint32_t *since, uint32_t now)
{
	uint32_t halvings = (now - *since) / (8 * load_relaxed(&zone_half_life));

	if (!halvings)
		return;
	*since = now;
	*pages = halve(*pages, halvings);
}

void zone_tick_locked(struct buddy_zone *zone)
{
	uint32_t now = (uint32_t)(os_clock_ms() >> CLOCK_SHIFT);
	uint32_t halvings = (now - zone->halved) / load_relaxed(&zone_half_life);

	zone->clock = now;
	if (!halvings)
		return;
	zone->halved = now;
	zone->purged_lately = halve(zone->purged_lately, halvings);
	zone->refaults = halve(zone->refaults, halvings);
	halve_since(&zone->fit_purged, &zone->fit_halved, now);
	halve_since(&zone->fit_refaults, &zone->fit_used, now);
}

/* Blocks below the system's page size (64 KiB on some machines) cannot be purged. */
static unsigned int lowest_order(void)
{
	return get_order(os_page_size());
}

static struct page *pick_largest_locked(struct buddy_zone *zone)
{
	unsigned int lowest = lowest_order();
	unsigned int order = BUDDY_MAX_ORDER + 1;

	while (order-- > lowest)
		if (!list_empty(&zone->free[order][BUDDY_DIRTY]))
			return list_last(&zone->free[order][BUDDY_DIRTY], struct page, lru);
	return NULL;
}

static bool has_refaults(const struct buddy_zone *zone)
{
	return zone->fit_refaults >= PURGE_PART_REFAULTS;
}

/* Of the lists' last blocks, or NULL. */
static struct page *pick_oldest_locked(struct buddy_zone *zone)
{
	unsigned int order = MAX(lowest_order(), PURGE_OLD_ORDER);
	struct page *oldest = NULL;

	for (; order <= BUDDY_MAX_ORDER; order++) {
		struct list_head *list = &zone->free[order][BUDDY_DIRTY];
		struct page *page = list_last(list, struct page, lru);

		if (!list_empty(list) &&
		    (!oldest || zone->clock - page->stamp >= zone->clock - oldest->stamp))
			oldest = page;
	}
	return oldest;
}

/* The next one to purge above the limit, or NULL. */
static struct page *pick_locked(struct buddy_zone *zone)
{
	struct page *page = has_refaults(zone) ? pick_oldest_locked(zone) : NULL;

	return page ? page : pick_largest_locked(zone);
}

static struct page *pick_old_locked(struct buddy_zone *zone)
{
	uint32_t delay = load_relaxed(&zone_purge_delay);
	unsigned int lowest = lowest_order();
	unsigned int order = BUDDY_MAX_ORDER + 1;

	while (order-- > lowest) {
		struct list_head *list = &zone->free[order][BUDDY_DIRTY];
		struct list_head *pos = list->prev;
		unsigned int looks;

		for (looks = 0; pos != list && looks < OLD_LOOKS; looks++, pos = pos->prev) {
			struct page *page = list_entry(pos, struct page, lru);

			if (zone->clock - page->stamp >= delay)
				return page;
		}
	}
	return NULL;
}

/*
 * The part of a block from its first to its last dirty page, of that the last pages, most at most,
 * in whole pages of the system.
 */
static void dirty_span(struct page *page, unsigned long most, char **start, size_t *size)
{
	unsigned long index = (unsigned long)(page - page_map.pages);
	unsigned long end = index + (1ul << page->order);
	unsigned long first = index;
	unsigned long last = end;
	size_t system_page = os_page_size();
	uintptr_t from;

	while (first < end && zone_count_dirty(first, 1) == 0)
		first++;
	while (last > first && zone_count_dirty(last - 1, 1) == 0)
		last--;
	first = MAX(first, last - MIN(last, most));
	from = ALIGN_DOWN((uintptr_t)page_address(page_at(first)), system_page);
	*start = (char *)from;
	*size = ALIGN_UP((uintptr_t)page_map.base + (last << PAGE_SHIFT), system_page) - from;
}

/*
 * Purges one free block, or most pages at its end. Context: purge_lock, zone->lock, which is
 * dropped meanwhile. false: the system refused; the block is back on its list, dirty as before.
 */
static bool purge_block_locked(struct buddy_zone *zone, struct page *page, unsigned long most)
{
	unsigned long index = (unsigned long)(page - page_map.pages);
	unsigned int order = page->order;
	unsigned long nr_dirty = page->nr_pages;
	unsigned long purged;
	char *start;
	size_t size;
	bool done;

	zone_take_block_locked(zone, page);
	zone->nr_purging = 1ul << order;
	dirty_span(page, most, &start, &size);
	lock_release(&zone->lock);
	done = os_purge(start, size) == 0;
	lock_acquire(&zone->lock);
	if (done) {
		zone_set_dirty(page_index(start), size >> PAGE_SHIFT, false);
		purged = nr_dirty - zone_count_dirty(index, 1ul << order);
		zone->stats.nr_purged += purged;
		zone->purged_lately += purged;
		zone->fit_purged += purged;
		nr_dirty -= purged;
	}
	zone->nr_purging = 0;
	zone_free_locked(zone, page, order, nr_dirty);
	return done;
}

/* How many pages of the next block to purge, when excess pages are above the limit. */
static unsigned long most_locked(const struct buddy_zone *zone, unsigned long excess)
{
	return has_refaults(zone) ? MAX(excess, PURGE_PART) : ULONG_MAX;
}

/* Purges the largest or oldest blocks until no more than keep pages are dirty. false: could not. */
static bool purge_down_to_locked(struct buddy_zone *zone, unsigned long keep)
{
	/* Other threads go on freeing: their blocks must not make this loop endless. */
	unsigned long budget = zone->stats.nr_dirty;

	while (zone->stats.nr_dirty > keep && budget-- > 0) {
		unsigned long most = most_locked(zone, zone->stats.nr_dirty - keep);
		struct page *page = pick_locked(zone);

		if (!page || !purge_block_locked(zone, page, most))
			return false;
	}
	return true;
}

static bool purge_old_locked(struct buddy_zone *zone)
{
	unsigned int budget = OLD_BLOCKS;
	struct page *page;

	zone->aged = zone->clock;
	while (budget-- > 0 && (page = pick_old_locked(zone)))
		if (!purge_block_locked(zone, page, ULONG_MAX))
			return false;
	return true;
}

/* Kept mappings of large blocks go first: one call takes many pages. Context: purge_lock. */
static void release_kept(struct buddy_zone *zone)
{
	unsigned long waiting;
	unsigned long idle;
	unsigned long limit;

	lock_acquire(&zone->lock);
	idle = zone_idle(zone);
	waiting = idle - MIN(idle, zone->stats.nr_dirty);
	limit = zone_dirty_limit(zone);
	lock_release(&zone->lock);
	if (idle > limit)
		keep_purge(MIN(idle - limit, waiting) << PAGE_SHIFT);
	keep_release_old(load_relaxed(&zone_purge_delay) << CLOCK_SHIFT);
}

cold void zone_purge_slow(struct buddy_zone *zone)
{
	unsigned long limit;
	bool ok = true;

	if (!lock_try(&zone->purge_lock))
		return;
	if (load_relaxed(&keep_counters.count) > 0)
		release_kept(zone);
	lock_acquire(&zone->lock);
	limit = zone_dirty_limit(zone);
	if (zone->stats.nr_dirty > limit)
		ok = purge_down_to_locked(zone, limit - MIN(limit / 4, PURGE_BATCH));
	if (ok && zone_aging_due(zone))
		ok = purge_old_locked(zone);
	if (!ok)
		zone->purge_after = zone->clock + RETRY_CLOCKS;
	lock_release(&zone->lock);
	lock_release(&zone->purge_lock);
}

void buddy_rebalance(void)
{
	unsigned int node;

	for (node = 0; node < buddy_nr_nodes; node++) {
		struct buddy_zone *zone = &buddy_zones[node];
		bool purge;

		lock_acquire(&zone->lock);
		zone_note_peak_locked(zone);
		zone_tick_locked(zone);
		purge = zone_purge_due(zone) || zone_aging_due(zone);
		lock_release(&zone->lock);
		if (purge)
			zone_purge_slow(zone);
	}
}

/* Purges up to *excess pages, and lowers *excess by those purged. Returns their bytes. */
static size_t trim_zone(struct buddy_zone *zone, unsigned long *excess)
{
	unsigned long before;
	unsigned long done;

	lock_acquire(&zone->purge_lock);
	lock_acquire(&zone->lock);
	before = zone->stats.nr_purged;
	purge_down_to_locked(zone, zone->stats.nr_dirty - MIN(zone->stats.nr_dirty, *excess));
	done = zone->stats.nr_purged - before;
	lock_release(&zone->lock);
	lock_release(&zone->purge_lock);
	*excess -= MIN(*excess, done);
	return done << PAGE_SHIFT;
}

size_t buddy_trim(size_t keep_bytes)
{
	unsigned long keep = keep_bytes >> PAGE_SHIFT;
	struct buddy_stats stats;
	unsigned long excess = 0;
	size_t kept = load_relaxed(&keep_counters.bytes);
	size_t bytes = 0;
	unsigned int node;

	pcp_drain();
	for (node = 0; node < buddy_nr_nodes; node++) {
		buddy_stats(node, &stats);
		excess += stats.nr_dirty;
	}
	excess += kept >> PAGE_SHIFT;
	excess -= MIN(excess, keep);
	if (keep)
		bytes = keep_release(excess << PAGE_SHIFT);
	else
		bytes = MIN(keep_release(SIZE_MAX), kept); /* clean ranges are addresses only */
	excess -= MIN(excess, bytes >> PAGE_SHIFT);
	for (node = 0; node < buddy_nr_nodes && excess > 0 && !realtime_is_on(); node++)
		bytes += trim_zone(&buddy_zones[node], &excess);
	return bytes;
}
