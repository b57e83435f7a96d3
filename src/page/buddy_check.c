/* SPDX-License-Identifier: MIT */
/*
 * page/buddy_check.c - what holds of free blocks, on quiet zones
 *
 * Data:       none of its own.
 * Invariants: see page/buddy.h and page/buddy.c.
 * Locks:      zone.lock of each zone in turn.
 * Flow:       called by checks of the whole library, and by tests; calls ranges.c and pcp.c.
 */
#include "base/assert.h"
#include "base/atomic.h"
#include "page/pcp.h"
#include "page/pcp_runs.h"
#include "page/zone.h"

static bool is_free(unsigned long index)
{
	return page_map.free[index / 64] & bits_mask(index % 64, 1);
}

static bool is_block(const struct page *page, unsigned int order)
{
	return page->type == PAGE_BUDDY && page->order == order;
}

/* By the bits. */
static unsigned long count_free(unsigned int node)
{
	unsigned long count = 0;

	for (unsigned long i = 0; i < load_relaxed(&page_map.nr_pages); i++)
		count += page_at(i)->node == node && is_free(i);
	return count;
}

/* One free block. Returns its pages; adds to *nr_dirty. */
static unsigned long check_block(unsigned int node, struct page *page, unsigned int order,
				 unsigned int list, unsigned long *nr_dirty)
{
	unsigned long index = zone_index_of(page);
	unsigned long nr_pages = 1ul << order;
	unsigned long i;

	CHECK(page->type == PAGE_BUDDY && page->order == order && page->node == node);
	CHECK(page->head == index && index % nr_pages == 0);
	CHECK(index + nr_pages <= load_relaxed(&page_map.nr_pages));
	CHECK(page->nr_pages == zone_count_dirty(index, nr_pages));
	CHECK((list == BUDDY_DIRTY) == (page->nr_pages > 0));
	CHECK(list != BUDDY_BARE || (order >= zone_bare_order() && node == 0));
	CHECK(order == BUDDY_MAX_ORDER || !is_block(page_at(index ^ nr_pages), order));
	for (i = 0; i < nr_pages; i++) {
		CHECK(is_free(index + i));
		CHECK(i == 0 || page[i].type == PAGE_NONE);
		CHECK(page_map.class[index + i] == USLAB_ID_NONE && !page[i].classed);
	}
	*nr_dirty += page->nr_pages;
	return nr_pages;
}

static void check_zone(unsigned int node)
{
	struct buddy_zone *zone = &buddy_zones[node];
	unsigned long nr_dirty = 0;
	unsigned long nr_free = 0;
	unsigned int order;
	unsigned int list;
	struct list_head *pos;

	for (order = 0; order <= BUDDY_MAX_ORDER; order++) {
		for (list = 0; list < BUDDY_LISTS; list++) {
			list_for_each(pos, &zone->free[order][list]) {
				CHECK(pos->next->prev == pos && pos->prev->next == pos);
				CHECK(zone->orders & (1u << order));
				nr_free += check_block(node, list_entry(pos, struct page, lru),
						       order, list, &nr_dirty);
			}
		}
		CHECK(!!(zone->orders & (1u << order)) ==
		      !(list_empty(&zone->free[order][BUDDY_DIRTY]) &&
			list_empty(&zone->free[order][BUDDY_CLEAN]) &&
			list_empty(&zone->free[order][BUDDY_BARE])));
	}
	CHECK(nr_free == zone->stats.nr_free && nr_free <= zone->stats.nr_total);
	CHECK(nr_free == count_free(node));
	zone_check_ranges(node);
	CHECK(nr_dirty == zone->stats.nr_dirty);
	CHECK(zone->nr_purging || zone->held == zone->stats.nr_total - nr_free + nr_dirty);
}

void buddy_check(void)
{
	unsigned int node;

	for (node = 0; node < buddy_nr_nodes; node++) {
		lock_acquire(&buddy_zones[node].lock);
		check_zone(node);
		lock_release(&buddy_zones[node].lock);
	}
	pcp_check();
	pcp_runs_check();
}
