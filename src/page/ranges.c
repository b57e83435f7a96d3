/* SPDX-License-Identifier: MIT */
/*
 * page/ranges.c - ranges of free pages by their length, so that page/fit.c need not look for them
 *
 * Why:        docs/adr/0057.
 * Data:       page_map.dirty; for each zone and kind lists of ranges by length, and a bit for each
 *             list that is not empty. A range is described by the descriptor of its first page,
 *             which is the head of a free block: struct page.next_range and the three after it.
 * Invariants: a range is as many free pages of a zone in a row as there are, of one chunk or of
 *             several, but none goes beyond a multiple of RANGE_CHUNKS chunks. Each of RANGE_LEAST
 *             pages or more is on the list of its length (the last list: that long or longer), of
 *             kind RANGE_RESIDENT if one of its pages may be resident; no other is. Where a range
 *             begins and ends is what the free bits say. range_dirty is carried on where ranges
 *             merge and split, so dirty bits of pages in ranges do not change. Checked by
 *             zone_check_ranges().
 * Locks:      zone.lock. A neighbouring chunk of another node is not looked into.
 * Flow:       called by buddy.c and buddy_range.c whenever pages became free or are so no longer,
 *             by fit.c, for bits by zone.h, low.c and purge_blocks.c, and by buddy_check.c; calls
 *             meta.c.
 *
 * Shorter ranges are on no list, so a slab that comes or goes between others costs a look at some
 * words of bits.
 */
#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "page/meta.h"
#include "page/zone.h"

/* That many are walked over at most where a range begins or ends: bounds the time of a call. */
#define RANGE_CHUNKS 16ul

struct ranges {
	unsigned long has[RANGE_KINDS][RANGE_MOST / 64]; /* bit i: a range of i + 1 pages */
	uint32_t first[RANGE_KINDS][RANGE_MOST];	 /* of i + 1 pages: index + 1; 0: none */
};

static struct ranges ranges_of_first;
static struct ranges *ranges_of[OS_MAX_NODES]; /* const once their zone is there */

bool zone_make_ranges(unsigned int node)
{
	ranges_of[node] = node ? meta_alloc(sizeof(struct ranges)) : &ranges_of_first;
	return ranges_of[node];
}

/* ---- bits ------------------------------------------------------------------------------------ */

/* The bits of the first and of the last word that belong to pages from index on, or up to end. */
static inline unsigned long mask_from(unsigned long index)
{
	return ~0ul << index % 64;
}

static inline unsigned long mask_to(unsigned long end)
{
	return ~0ul >> (64 - end % 64) % 64;
}

unsigned long zone_count_dirty(unsigned long index, unsigned long nr_pages)
{
	const unsigned long *word = &page_map.dirty[index / 64];
	const unsigned long *last;
	unsigned long mask = mask_from(index);
	unsigned long count = 0;

	if (!nr_pages)
		return 0;
	last = &page_map.dirty[(index + nr_pages - 1) / 64];
	for (; word < last; word++, mask = ~0ul)
		/* most often all or none are */
		count += likely(*word + 1 < 2 && mask == ~0ul) ? *word & 64
							       : bits_count(*word & mask);
	return count + bits_count(*last & mask & mask_to(index + nr_pages));
}

void zone_set_bits(unsigned long *bits, unsigned long index, unsigned long nr_pages, bool on)
{
	unsigned long *word = &bits[index / 64];
	unsigned long mask = mask_from(index);
	unsigned long *last;

	if (!nr_pages)
		return;
	last = &bits[(index + nr_pages - 1) / 64];
	for (; word < last; word++, mask = ~0ul)
		*word = on ? *word | mask : *word & ~mask;
	mask &= mask_to(index + nr_pages);
	*last = on ? *last | mask : *last & ~mask;
}

/* ---- where a range begins and ends ----------------------------------------------------------- */

static inline bool is_of(unsigned long chunk, unsigned int node)
{
	return likely(buddy_nr_nodes == 1) || page_at(chunk << BUDDY_MAX_ORDER)->node == node;
}

/* All of its pages are: then they are one block. */
static inline bool chunk_is_free(unsigned long chunk)
{
	const struct page *page = page_at(chunk << BUDDY_MAX_ORDER);

	return load_relaxed(&page->type) == PAGE_BUDDY && page->order == BUDDY_MAX_ORDER;
}

/* The first of the free pages in a row before page index; index: none is free. */
static unsigned long start_of(unsigned int node, unsigned long index)
{
	unsigned long word = index / 64;
	unsigned long used = ~page_map.free[word] & ((1ul << index % 64) - 1);

	while (!used) {
		if (word % CHUNK_WORDS == 0) {
			unsigned long chunk = word / CHUNK_WORDS;

			if (chunk % RANGE_CHUNKS == 0 || !is_of(chunk - 1, node))
				return word * 64;
			if (chunk_is_free(chunk - 1)) {
				word -= CHUNK_WORDS;
				continue;
			}
		}
		used = ~page_map.free[--word];
	}
	return word * 64 + 64 - (unsigned long)__builtin_clzl(used);
}

/*
 * The end of the free pages in a row from page index on; index: it is not free. start is where
 * their range begins, or what there was of it before, which is on its list still if it is on one:
 * then it knows its length.
 */
static unsigned long end_of(unsigned int node, unsigned long start, unsigned long index)
{
	unsigned long words = load_acquire(&page_map.nr_pages) / 64; /* pairs with arena_grow() */
	unsigned long word = index / 64;
	unsigned long used = 0;

	if (index % 64)
		used = ~page_map.free[word++] & ~0ul << index % 64;
	while (!used) {
		if (word * 64 - start >= RANGE_LEAST)
			return start + page_at(start)->range_pages;
		if (word % CHUNK_WORDS == 0) {
			unsigned long chunk = word / CHUNK_WORDS;

			if (word >= words || chunk % RANGE_CHUNKS == 0 || !is_of(chunk, node))
				return word * 64;
			if (chunk_is_free(chunk)) {
				word += CHUNK_WORDS;
				continue;
			}
		}
		used = ~page_map.free[word++];
	}
	return (word - 1) * 64 + (unsigned long)__builtin_ctzl(used);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static inline unsigned int kind_of(const struct page *page)
{
	return page->range_dirty ? RANGE_RESIDENT : RANGE_CLEAN;
}

static inline unsigned long list_of(unsigned long nr_pages)
{
	return MIN(nr_pages, RANGE_MOST) - 1;
}

/* Those of long ranges are not counted: they are taken for resident. */
static inline uint32_t range_dirty(unsigned long nr_pages, unsigned long nr_dirty)
{
	return (uint32_t)(nr_pages > RANGE_MOST ? RANGE_MOST : nr_dirty);
}

/* nr_dirty: of its pages, if it is not a long one. */
static void add(struct ranges *r, unsigned long start, unsigned long nr_pages,
		unsigned long nr_dirty)
{
	struct page *page = page_at(start);
	unsigned long list = list_of(nr_pages);
	uint32_t *first;

	if (nr_pages < RANGE_LEAST)
		return;
	page->range_pages = (uint32_t)nr_pages;
	page->range_dirty = range_dirty(nr_pages, nr_dirty);
	first = &r->first[kind_of(page)][list];
	page->prev_range = 0;
	page->next_range = *first;
	if (*first)
		page_at(*first - 1)->prev_range = (uint32_t)start + 1;
	*first = (uint32_t)start + 1;
	r->has[kind_of(page)][list / 64] |= 1ul << list % 64;
}

static void drop(struct ranges *r, unsigned long start, unsigned long nr_pages)
{
	const struct page *page = page_at(start);
	unsigned long list = list_of(nr_pages);
	unsigned int kind;

	if (nr_pages < RANGE_LEAST)
		return;
	kind = kind_of(page);
	ASSERT(page->range_pages == nr_pages);
	if (page->next_range)
		page_at(page->next_range - 1)->prev_range = page->prev_range;
	if (page->prev_range) {
		page_at(page->prev_range - 1)->next_range = page->next_range;
		return;
	}
	r->first[kind][list] = page->next_range;
	if (!page->next_range)
		r->has[kind][list / 64] &= ~(1ul << list % 64);
}

/* Of a range that is still on its list, if it is on one. */
static unsigned long dirty_of_range(unsigned long start, unsigned long nr_pages)
{
	return nr_pages < RANGE_LEAST ? zone_count_dirty(start, nr_pages)
				      : page_at(start)->range_dirty;
}

/* Pages index .. middle, which lie in one range now. */
static void note_freed(struct ranges *r, unsigned int node, unsigned long index,
		       unsigned long middle, unsigned long nr_dirty)
{
	unsigned long start = start_of(node, index);
	unsigned long end = end_of(node, middle, middle);

	if (end - start < RANGE_LEAST)
		return;
	nr_dirty += dirty_of_range(start, index - start) + dirty_of_range(middle, end - middle);
	drop(r, start, index - start);
	drop(r, middle, end - middle);
	add(r, start, end - start, nr_dirty);
}

/* What is left of a range, d its dirty pages. */
static void add_part(struct ranges *r, unsigned long start, unsigned long nr_pages,
		     struct zone_dirty d)
{
	if (nr_pages >= RANGE_LEAST)
		add(r, start, nr_pages,
		    nr_pages > RANGE_MOST ? 0 : zone_dirty_part(d, start, nr_pages));
}

/* Pages index .. middle, which lay in one range. */
static void note_taken(struct ranges *r, unsigned int node, unsigned long index,
		       unsigned long middle)
{
	unsigned long start = start_of(node, index);
	unsigned long end = end_of(node, start, middle);
	struct zone_dirty d = { 0, end - start };

	if (d.of < RANGE_LEAST)
		return;
	d.nr = page_at(start)->range_dirty;
	drop(r, start, d.of);
	add_part(r, start, index - start, d);
	add_part(r, middle, end - middle, d);
}

static unsigned long next_edge(unsigned long index)
{
	return ALIGN_UP(index + 1, RANGE_CHUNKS << BUDDY_MAX_ORDER);
}

void zone_note_freed_locked(unsigned int node, unsigned long index, struct zone_dirty d)
{
	unsigned long end = index + d.of;

	for (; index < end; index = next_edge(index)) {
		unsigned long middle = MIN(end, next_edge(index));

		note_freed(ranges_of[node], node, index, middle,
			   middle - index == d.of ? d.nr
						  : zone_dirty_part(d, index, middle - index));
	}
}

void zone_note_taken_locked(unsigned int node, unsigned long index, unsigned long nr_pages)
{
	unsigned long end = index + nr_pages;

	for (; index < end; index = next_edge(index))
		note_taken(ranges_of[node], node, index, MIN(end, next_edge(index)));
}

/* ---- for a search ---------------------------------------------------------------------------- */

struct page *zone_first_range_locked(unsigned int node, unsigned int kind, unsigned long nr_pages)
{
	const struct ranges *r = ranges_of[node];
	unsigned long list = list_of(nr_pages);
	unsigned long word = list / 64;
	unsigned long bits = r->has[kind][word] & ~0ul << list % 64;

	while (!bits) {
		if (++word == RANGE_MOST / 64)
			return NULL;
		bits = r->has[kind][word];
	}
	return page_at(r->first[kind][word * 64 + (unsigned long)__builtin_ctzl(bits)] - 1);
}

/* ---- check ----------------------------------------------------------------------------------- */

/* What the lists hold; whether each of it is a range is seen by its pages. */
static unsigned long count_listed(unsigned int node)
{
	const struct ranges *r = ranges_of[node];
	unsigned long count = 0;

	for (unsigned int kind = 0; kind < RANGE_KINDS; kind++) {
		for (unsigned long list = 0; list < RANGE_MOST; list++) {
			uint32_t prev = 0;
			uint32_t at = r->first[kind][list];

			CHECK((r->has[kind][list / 64] >> list % 64 & 1) == !!at);
			for (; at; prev = at, at = page_at(at - 1)->next_range, count++) {
				const struct page *page = page_at(at - 1);

				CHECK(page->prev_range == prev && page->type == PAGE_BUDDY);
				CHECK(page->node == node && kind_of(page) == kind);
				CHECK(list_of(page->range_pages) == list);
			}
		}
	}
	return count;
}

static bool is_free(unsigned long index, unsigned int node)
{
	return page_at(index)->node == node && zone_has_free(index);
}

/* Pages start .. end. Returns whether they are on a list. */
static bool check_range(unsigned long start, unsigned long end)
{
	const struct page *page = page_at(start);

	if (end - start < RANGE_LEAST)
		return false;
	CHECK(page->range_pages == end - start);
	CHECK(page->range_dirty == range_dirty(end - start, zone_count_dirty(start, end - start)));
	return true;
}

void zone_check_ranges(unsigned int node)
{
	unsigned long nr_pages = load_acquire(&page_map.nr_pages); /* pairs with arena_grow() */
	unsigned long count = 0;
	unsigned long start = 0;

	for (unsigned long i = 0; i <= nr_pages; i++) {
		bool goes_on = i < nr_pages && is_free(i, node);

		if (goes_on && i % (RANGE_CHUNKS << BUDDY_MAX_ORDER))
			continue;
		count += check_range(start, i);
		start = goes_on ? i : i + 1;
	}
	CHECK(count == count_listed(node));
}
