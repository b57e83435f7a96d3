/* SPDX-License-Identifier: MIT */
/*
 * page/undivided.c - free pages in a row that are not divided into blocks
 *
 * Why:        docs/adr/0092.
 * Data:       the descriptor of the first page, of type UNDIVIDED: range_pages, range_dirty and the
 *             lists of page/ranges.c, which it is on as any range; nr_pages is range_dirty, stamp
 *             as of a free block. zone.nr_undivided.
 * Invariants: a range is undivided as a whole, or all of it is in blocks. An undivided one has
 *             RANGE_LEAST pages at least, and fewer than a chunk: so it holds no block of the
 *             highest order, and all of its dirty pages are counted. All its other descriptors have
 *             type NONE. Checked by zone_check_undivided().
 * Locks:      zone.lock.
 * Flow:       called by buddy.c, buddy_range.c, purge.c and buddy_check.c; calls buddy.c, ranges.c.
 *
 * A page run of 144 pages is some ten blocks. To put them on lists and take them off again touches
 * three descriptors for each, and who takes and frees page runs needs none of them. So page runs
 * that are freed stay one range until somebody wants a block that no list has, or a purge begins.
 * Programs without page runs of that length have no such range.
 */
#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "page/zone.h"

#define LOOKS 64u /* ranges that are looked at for one that has a block */

BUILD_ASSERT(UNDIVIDED_MOST < RANGE_MOST);

/* ---- a range --------------------------------------------------------------------------------- */

static inline bool is_undivided(unsigned long start, unsigned long nr_pages)
{
	return nr_pages >= RANGE_LEAST && page_at(start)->type == PAGE_UNDIVIDED;
}

static void forget_range(struct buddy_zone *zone, struct page *page)
{
	store_relaxed(&page->type, PAGE_NONE);
	zone->nr_undivided--;
}

/* Free pages that are on no list, all of a range. */
static void set_undivided(struct buddy_zone *zone, struct zone_range range, unsigned long nr_dirty,
			  uint32_t stamp)
{
	struct page *page = page_at(range.start);

	page->order = 0;
	page->nr_pages = (uint32_t)nr_dirty;
	page->stamp = stamp;
	store_relaxed(&page->head, (uint32_t)range.start);
	store_relaxed(&page->type, PAGE_UNDIVIDED);
	zone_list_range_locked(range, nr_dirty);
	zone->nr_undivided++;
}

/* They stay a range. */
static void put_in_blocks(struct buddy_zone *zone, unsigned long index, struct zone_dirty d,
			  uint32_t stamp)
{
	unsigned long end = index + d.of;

	while (index < end) {
		unsigned int order = zone_order_at(index, end);

		zone_put_block_locked(zone, index, order, zone_dirty_part(d, index, 1ul << order),
				      stamp);
		index += 1ul << order;
	}
}

void zone_divide_locked(struct buddy_zone *zone, struct page *page)
{
	struct zone_dirty d = { page->range_dirty, page->range_pages };

	forget_range(zone, page);
	put_in_blocks(zone, zone_index_of(page), d, page->stamp);
}

/* ---- pages become free ----------------------------------------------------------------------- */

/* Of the ranges before and behind pages that became free. */
struct neighbours {
	unsigned long undivided; /* pages */
	unsigned long divided;
};

static void count_neighbour(struct neighbours *n, unsigned long start, unsigned long nr_pages)
{
	if (is_undivided(start, nr_pages))
		n->undivided += nr_pages;
	else
		n->divided += nr_pages;
}

/*
 * Are they to be one range? Where that needs blocks to be taken off their lists, these are not more
 * than the page run.
 */
static bool may_join(const struct neighbours *n, unsigned long nr_pages, bool run)
{
	unsigned long all = n->undivided + n->divided + nr_pages;

	if (all < RANGE_LEAST || all > UNDIVIDED_MOST)
		return false;
	if (run && nr_pages >= RANGE_LEAST && n->divided <= nr_pages)
		return true;
	return n->undivided > n->divided;
}

/* What becomes one range. */
struct joined {
	unsigned long nr_dirty;
	unsigned long most_dirty; /* of one part, whose age is that of all, as where blocks merge */
	uint32_t stamp;
};

/* A range before or behind, undivided or in blocks, is on no list any more. */
static void join_part(struct buddy_zone *zone, unsigned long start, unsigned long nr_pages,
		      struct joined *joined)
{
	unsigned long end = start + nr_pages;
	unsigned long dirty = zone_range_dirty_locked(start, nr_pages);

	zone_unlist_range_locked(start, nr_pages);
	joined->nr_dirty += dirty;
	if (dirty && dirty >= joined->most_dirty) {
		joined->most_dirty = dirty;
		joined->stamp = page_at(start)->stamp;
	}
	if (is_undivided(start, nr_pages)) {
		forget_range(zone, page_at(start));
		return;
	}
	while (start < end) {
		struct page *page = page_at(start);

		zone_remove_block_locked(zone, page);
		start += 1ul << page->order;
	}
}

static void divide_neighbour(struct buddy_zone *zone, unsigned long start, unsigned long nr_pages)
{
	if (is_undivided(start, nr_pages))
		zone_divide_locked(zone, page_at(start));
}

bool zone_join_locked(struct buddy_zone *zone, unsigned long index, struct zone_dirty d, bool run)
{
	unsigned long middle = index + d.of;
	struct zone_range range = zone_range_around_locked(page_at(index)->node, index, middle);
	struct joined joined = { d.nr, d.nr, zone->clock };
	struct neighbours n = { 0, 0 };

	count_neighbour(&n, range.start, index - range.start);
	count_neighbour(&n, middle, range.end - middle);
	if (!may_join(&n, d.of, run) || middle > zone_next_edge(index)) {
		divide_neighbour(zone, range.start, index - range.start);
		divide_neighbour(zone, middle, range.end - middle);
		return false;
	}
	join_part(zone, range.start, index - range.start, &joined);
	join_part(zone, middle, range.end - middle, &joined);
	set_undivided(zone, range, joined.nr_dirty, joined.stamp);
	return true;
}

/* ---- pages are taken ------------------------------------------------------------------------- */

/* What stays of a range, d the dirty pages of all of it. Returns how many of it are dirty. */
static unsigned long leave_undivided(struct buddy_zone *zone, unsigned long start,
				     unsigned long end, struct zone_dirty d)
{
	unsigned long nr_pages = end - start;
	unsigned long nr_dirty = nr_pages ? zone_dirty_part(d, start, nr_pages) : 0;

	if (nr_pages >= RANGE_LEAST)
		set_undivided(zone, (struct zone_range){ start, end }, nr_dirty, zone->clock);
	else
		put_in_blocks(zone, start, (struct zone_dirty){ nr_dirty, nr_pages }, zone->clock);
	return nr_dirty;
}

bool zone_cut_locked(struct buddy_zone *zone, unsigned long index, unsigned long end,
		     unsigned long *nr_dirty)
{
	unsigned long start = zone_range_start_locked(page_at(index)->node, index);
	struct page *page = page_at(start);
	struct zone_dirty d = { page->range_dirty, page->range_pages };

	if (page->type != PAGE_UNDIVIDED)
		return false;
	zone_unlist_range_locked(start, d.of);
	forget_range(zone, page);
	*nr_dirty = d.nr - leave_undivided(zone, start, index, d) -
		    leave_undivided(zone, end, start + d.of, d);
	return true;
}

/* ---- blocks are wanted ----------------------------------------------------------------------- */

static bool has_block(const struct page *page, unsigned int order)
{
	unsigned long start = zone_index_of(page);
	unsigned long first = ALIGN_UP(start, 1ul << order);

	return page->type == PAGE_UNDIVIDED && first + (1ul << order) <= start + page->range_pages;
}

/* Any that is as long has a block of that order. */
static unsigned long long_enough(unsigned int order)
{
	return MAX((2ul << order) - 1, RANGE_LEAST);
}

/* One that is long enough, or has one by chance; NULL: none of those that were looked at. */
static struct page *find_locked(unsigned int node, unsigned int kind, unsigned int order)
{
	struct page *page = zone_first_range_locked(node, kind, long_enough(order));
	unsigned int looks = LOOKS;

	if (page && has_block(page, order))
		return page;
	page = zone_first_range_locked(node, kind, MAX(1ul << order, RANGE_LEAST));
	while (page && !has_block(page, order) && --looks)
		page = zone_next_range_locked(node, kind, page);
	return page && looks ? page : NULL;
}

/*
 * No list has a block as large: so each range that is long enough is undivided, the first one, too.
 */
static void divide_any_locked(struct buddy_zone *zone, unsigned int node, unsigned int order)
{
	struct page *page = find_locked(node, RANGE_RESIDENT, order);

	if (!page)
		page = find_locked(node, RANGE_CLEAN, order);
	if (page)
		zone_divide_locked(zone, page);
	else
		zone_divide_all_locked(zone);
}

void zone_divide_for_locked(struct buddy_zone *zone, unsigned int order)
{
	unsigned int node = (unsigned int)(zone - buddy_zones);
	uint32_t orders = zone->orders >> order << order;
	struct page *page;
	unsigned int at;

	if (order == BUDDY_MAX_ORDER)
		return;
	if (!orders) {
		divide_any_locked(zone, node, order);
		return;
	}
	at = (unsigned int)__builtin_ctz(orders);
	if (at == order && !list_empty(&zone->free[at][BUDDY_DIRTY]))
		return;
	page = zone_first_range_locked(node, RANGE_RESIDENT, long_enough(order));
	if (page && page->type == PAGE_UNDIVIDED &&
	    (page->range_pages < 1ul << at || list_empty(&zone->free[at][BUDDY_DIRTY])))
		zone_divide_locked(zone, page);
}

void zone_divide_all_locked(struct buddy_zone *zone)
{
	unsigned int node = (unsigned int)(zone - buddy_zones);

	for (unsigned int kind = 0; kind < RANGE_KINDS; kind++) {
		struct page *page = zone_first_range_locked(node, kind, RANGE_LEAST);

		for (; page && zone->nr_undivided; page = zone_next_range_locked(node, kind, page))
			if (page->type == PAGE_UNDIVIDED)
				zone_divide_locked(zone, page);
	}
}

/* ---- check ----------------------------------------------------------------------------------- */

unsigned long zone_check_undivided(unsigned int node, unsigned long *nr_dirty)
{
	const struct buddy_zone *zone = &buddy_zones[node];
	unsigned long count = 0;
	unsigned long pages = 0;

	for (unsigned long i = 0; i < load_relaxed(&page_map.nr_pages); i++) {
		const struct page *page = page_at(i);

		if (page->type != PAGE_UNDIVIDED || page->node != node)
			continue;
		CHECK(page->range_pages >= RANGE_LEAST && page->range_pages <= UNDIVIDED_MOST);
		CHECK(page->head == i && page->nr_pages == page->range_dirty);
		for (unsigned long j = 0; j < page->range_pages; j++) {
			CHECK(zone_has_free(i + j) && (j == 0 || page[j].type == PAGE_NONE));
			CHECK(page_map.class[i + j] == USLAB_ID_NONE && !page[j].classed);
		}
		count++;
		pages += page->range_pages;
		*nr_dirty += page->range_dirty;
	}
	CHECK(count == zone->nr_undivided);
	return pages;
}
