/* SPDX-License-Identifier: MIT */
/*
 * page/area.c - CPUs take their pages from different areas
 *
 * Why:        docs/adr/0079.
 * Data:       zone.areas: of each lane the area that it takes new pages from, and how often others
 *             have passed it by. A lane is a CPU, or several whose numbers are congruent; an area
 *             is 256 KiB, aligned: the pages whose descriptors are one page.
 * Invariants: no two lanes have the same area. Nothing else: which block a CPU gets is a matter of
 *             speed.
 * Locks:      zone.lock.
 * Flow:       called by buddy.c.
 *
 * A prefetcher runs over the end of what a CPU walks along, into the next pages. If another CPU
 * writes there, it takes lines from that one which nobody needs. So who cuts a block that is as
 * large as an area makes that its own, and others pass by the small blocks which lie there: they
 * take larger ones. What is free in an area that its lane no longer uses is memory which waits for
 * nothing, so it is anybody's once others have passed it by many times; or at once, if there is
 * nothing else.
 */
#include "base/bits.h"
#include "page/zone.h"

#define AREA_ORDER 6u
#define LOOKS 4u     /* blocks of a list that are looked at */
#define PATIENCE 64u /* so often others pass an area by */

BUILD_ASSERT((sizeof(struct page) << AREA_ORDER) == PAGE_SIZE);

/* 0 is none. */
static inline uint32_t area_of(const struct page *page)
{
	return (uint32_t)((unsigned long)(page - page_map.pages) >> AREA_ORDER) + 1;
}

/* Whose area it lies in; or BUDDY_NO_LANE. */
static unsigned int lane_of(const struct buddy_zone *zone, const struct page *page)
{
	uint32_t area = area_of(page);
	unsigned int i = 0;

	while (i < OS_LANES && zone->areas[i].number != area)
		i++;
	return i;
}

/* One of a list that is nobody else's. *passed: lanes whose areas were passed by, a bit each. */
static struct page *look(struct buddy_zone *zone, struct list_head *list, unsigned int lane,
			 unsigned int *passed)
{
	struct list_head *pos = list->next;

	for (unsigned int looks = 0; looks < LOOKS && pos != list; looks++, pos = pos->next) {
		struct page *page = list_entry(pos, struct page, lru);
		unsigned int other = page->order < AREA_ORDER ? lane_of(zone, page) : BUDDY_NO_LANE;

		if (other == lane)
			zone->areas[lane].passed = 0;
		if (other == lane || other == BUDDY_NO_LANE)
			return page;
		*passed |= 1u << other;
	}
	return NULL;
}

/* Once for each block that another lane gets. */
static void count_passed(struct buddy_zone *zone, unsigned int passed)
{
	for (; passed; passed &= passed - 1) {
		struct buddy_area *area = &zone->areas[__builtin_ctz(passed)];

		if (++area->passed >= PATIENCE)
			area->number = 0;
	}
}

static struct page *find_apart(struct buddy_zone *zone, unsigned int order, unsigned int lane,
			       unsigned int *kind)
{
	uint32_t orders = zone->orders >> order << order;
	struct page *page = NULL;
	unsigned int passed = 0;

	for (; orders && !page; orders &= orders - 1) {
		struct list_head *lists = zone->free[__builtin_ctz(orders)];

		for (*kind = 0; *kind < BUDDY_LISTS; ++*kind) {
			page = look(zone, &lists[*kind], lane, &passed);
			if (page)
				break;
		}
	}
	count_passed(zone, passed);
	return page;
}

/* The block that the kernel would take. */
static struct page *find_first(struct buddy_zone *zone, unsigned int order, unsigned int *kind)
{
	unsigned int at = order + (unsigned int)__builtin_ctz(zone->orders >> order);
	struct list_head *lists = zone->free[at];

	*kind = list_empty(&lists[BUDDY_DIRTY]) ? BUDDY_CLEAN : BUDDY_DIRTY;
	if (unlikely(list_empty(&lists[*kind])))
		*kind = BUDDY_BARE;
	return list_first(&lists[*kind], struct page, lru);
}

struct page *zone_find_locked(struct buddy_zone *zone, unsigned int order, unsigned int lane,
			      unsigned int *kind)
{
	struct page *page = lane == BUDDY_NO_LANE ? NULL : find_apart(zone, order, lane, kind);

	return page ? page : find_first(zone, order, kind);
}

void zone_note_area_locked(struct buddy_zone *zone, const struct page *page, unsigned int from,
			   unsigned int lane)
{
	uint32_t area = area_of(page);

	if (from < AREA_ORDER)
		return;
	for (unsigned int i = 0; i < OS_LANES; i++)
		if (zone->areas[i].number == area)
			zone->areas[i].number = 0;
	if (page->order < AREA_ORDER)
		zone->areas[lane] = (struct buddy_area){ .number = area };
}
