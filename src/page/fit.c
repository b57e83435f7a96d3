/* SPDX-License-Identifier: MIT */
/*
 * page/fit.c - finds free pages for a page run, where the fewest become newly resident
 *
 * Why:        docs/adr/0028, docs/adr/0057.
 * Data:       zone.fit_purged, fit_refaults, fit_used.
 * Invariants: a search looks at LOOK_RANGES ranges at most, and at LOOK_STARTS places in each.
 * Locks:      zone.lock, over a search.
 * Flow:       called by buddy.c, pcp_runs.c and run.c; calls ranges.c, buddy.c, purge.c.
 *
 * A block of a power of two is quickly found, but its rest fits few other page runs, and its place
 * depends on its order: page runs of all sizes would fault in pages of their own while those that
 * others left are purged. Here page runs lie side by side, as in a classic heap: of all ranges of
 * free pages the one with the most resident pages is taken, of equals the smallest. page/ranges.c
 * has them by length, so the first one that has enough resident pages in a row is that one.
 */
#include "base/assert.h"
#include "base/bits.h"
#include "os/cpu/nodes.h"
#include "os/instrument/memcheck.h"
#include "os/instrument/probe.h"
#include "page/zone.h"

#define LOOK_RANGES 64u	  /* that are compared */
#define LOOK_STARTS 8u	  /* places in one range that are compared */
#define LOOK_PAGES 2048ul /* of a long range: its first ones */

struct look {
	unsigned long want; /* pages */
	/* the best place so far: */
	unsigned long index;
	unsigned long clean; /* pages of it that are not resident */
	unsigned long range; /* pages of the range it lies in; 0: none was found */
};

/* ---- a range --------------------------------------------------------------------------------- */

/* d: of the whole range */
static void compare(struct look *l, unsigned long index, struct zone_dirty d)
{
	unsigned long clean = l->want - zone_dirty_part(d, index, l->want);
	unsigned long range = d.of;

	if (l->range && (clean > l->clean || (clean == l->clean && range >= l->range)))
		return;
	l->index = index;
	l->clean = clean;
	l->range = range;
}

/* Only a smaller range can be better. */
static bool is_resident(const struct look *l)
{
	return l->range && !l->clean;
}

/* The next page from index on whose dirty bit is that; end: none. */
static unsigned long next_dirty(unsigned long index, unsigned long end, bool dirty)
{
	while (index < end) {
		unsigned long word = page_map.dirty[index / 64];
		unsigned long base = ALIGN_DOWN(index, 64ul);

		word = (dirty ? word : ~word) & ~0ul << index % 64;
		if (word)
			return MIN(base + (unsigned long)__builtin_ctzl(word), end);
		index = base + 64;
	}
	return end;
}

/* Finds the best place in a range, whose first page that is. */
static void look_at_range(struct look *l, const struct page *page)
{
	unsigned long range = page->range_pages;
	unsigned long start = zone_index_of(page);
	unsigned long last = start + MIN(range, LOOK_PAGES) - l->want;
	unsigned long index = start;
	struct zone_dirty d = { page->range_dirty, range };

	/* it cannot be better */
	if (l->range && range >= l->range && page->range_dirty <= l->want - l->clean)
		return;
	compare(l, start, d);
	for (unsigned int i = 0; i < LOOK_STARTS && index < last && !is_resident(l); i++) {
		index = next_dirty(next_dirty(index, last, false), last, true);
		compare(l, index, d);
	}
	if (!is_resident(l))
		compare(l, last, d);
}

/* ---- a zone ---------------------------------------------------------------------------------- */

/* Of those with resident pages: from the smallest on, until one has enough of them. */
static void look_at_resident(struct look *l, unsigned int node, unsigned int looks)
{
	struct page *page = zone_first_range_locked(node, RANGE_RESIDENT, l->want);

	while (page) {
		unsigned long pages = page->range_pages;

		look_at_range(l, page);
		if (is_resident(l) || !--looks)
			return;
		if (page->next_range)
			page = page_at(page->next_range - 1);
		else if (pages >= RANGE_MOST)
			return;
		else
			page = zone_first_range_locked(node, RANGE_RESIDENT, pages + 1);
	}
}

static bool find_locked(unsigned int node, struct look *l, unsigned int looks)
{
	struct page *clean;

	look_at_resident(l, node, looks);
	if (l->range && l->clean < l->want)
		return true;
	clean = zone_first_range_locked(node, RANGE_CLEAN, l->want);
	if (clean && (!l->range || clean->range_pages < l->range)) {
		l->index = zone_index_of(clean);
		l->clean = l->want;
		l->range = clean->range_pages;
	}
	return l->range;
}

/* As zone_note_clean_locked(), for page runs. fit_used: resident pages that were kept were used. */
static void note_locked(struct buddy_zone *zone, const struct look *l)
{
	unsigned long again = MIN(l->clean, zone->fit_purged);

	zone_tick_locked(zone);
	if (l->clean < l->want)
		zone->fit_used = zone->clock;
	zone_note_rise_locked(zone, l->clean);
	refaults_note(again);
	zone->fit_purged -= again;
	zone->purged_lately -= MIN(again, zone->purged_lately);
	zone->slow_purged -= MIN(again, zone->slow_purged);
	zone->fit_refaults = MIN(zone->fit_refaults + again, 2 * zone->stats.nr_peak);
}

/* ---- alloc ----------------------------------------------------------------------------------- */

cold void zone_probe_blocks(unsigned long index, unsigned long nr_pages,
			    void (*probe)(const void *page, unsigned long index,
					  unsigned int order))
{
	while (nr_pages) {
		unsigned int order = zone_order_at(index, index + nr_pages);

		probe(page_at(index), index, order);
		index += 1ul << order;
		nr_pages -= 1ul << order;
	}
}

void zone_notify_run(struct page *page, unsigned long nr_pages)
{
	if (unlikely(os_memcheck_on))
		os_memcheck_forget(page_address(page), nr_pages * PAGE_SIZE);
	if (unlikely(uslab_mm_page_alloc_semaphore))
		zone_probe_blocks(zone_index_of(page), nr_pages, os_probe_page_alloc);
}

struct page *buddy_alloc_fit(unsigned long nr_pages, bool *zeroed)
{
	struct look l = { .want = nr_pages };
	unsigned int node = os_current_node();
	struct buddy_zone *zone = &buddy_zones[node];
	bool purge = false;
	bool found;

	ASSERT(nr_pages >= RANGE_LEAST && nr_pages <= RANGE_MOST);
	lock_acquire(&zone->lock);
	found = find_locked(node, &l, LOOK_RANGES) && zone_admit_locked(zone, l.clean);
	if (found) {
		zone_claim_locked(zone, l.index, l.index + nr_pages);
		zone->stats.nr_alloc++;
		note_locked(zone, &l);
		purge = l.clean && zone_purge_due(zone);
	}
	lock_release(&zone->lock);
	if (unlikely(purge))
		zone_purge_slow(zone);
	if (!found)
		return NULL;
	if (zeroed)
		*zeroed = l.clean == nr_pages && zone_is_zero(l.index, nr_pages);
	zone_notify_run(page_at(l.index), nr_pages);
	return page_at(l.index);
}

/* realtime: nothing is purged, and no clock is looked at */
static struct page *alloc_first(unsigned int node, unsigned long nr_pages, bool *zeroed)
{
	struct look l = { .want = nr_pages };
	struct buddy_zone *zone = &buddy_zones[node];
	bool found;

	lock_acquire(&zone->lock);
	found = find_locked(node, &l, 1) && zone_admit_locked(zone, l.clean);
	if (found) {
		zone_claim_locked(zone, l.index, l.index + nr_pages);
		zone->stats.nr_alloc++;
	}
	lock_release(&zone->lock);
	if (!found)
		return NULL;
	if (zeroed)
		*zeroed = l.clean == nr_pages && zone_is_zero(l.index, nr_pages);
	zone_notify_run(page_at(l.index), nr_pages);
	return page_at(l.index);
}

struct page *buddy_alloc_first(unsigned long nr_pages, bool *zeroed)
{
	unsigned int home = os_current_node();
	struct page *page = NULL;

	for (unsigned int i = 0; i < buddy_nr_nodes && !page; i++)
		page = alloc_first(os_nodes.order[home][i], nr_pages, zeroed);
	return page;
}
