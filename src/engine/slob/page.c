/* SPDX-License-Identifier: MIT */
/*
 * engine/slob/page.c - blocks in one page: first fit, insert, merge (spec 1.2, 1.4, 1.5)
 *
 * Data:       struct run_of_units, a free block as read from the page.
 * Invariants: ascending order, no two free blocks touch, their sizes add up to the page's free
 *             bytes. slob_page_is_whole().
 * Locks:      the caller's.
 * Flow:       called by check.c and heap.c. Touches nothing but the page and its descriptor.
 *
 * What is read from the page was within the program's reach. So each link is looked at before it
 * is followed: blocks must ascend and end in the page. It costs a comparison per block, keeps every
 * walk finite and every write in the page. The kernel has none of it.
 */
#include "base/assert.h"
#include "base/bits.h"
#include "engine/slob/slob.h"

#define NONE SLOB_PAGE_UNITS /* as a unit number: behind the last one */

/* A free block, all in units. */
struct piece {
	unsigned int at;
	unsigned int size;
	unsigned int next; /* where the next free block begins; NONE: it is the last */
};

static inline int16_t *unit_at(const struct page *page, unsigned int at)
{
	return (int16_t *)page_address(page) + at;
}

static inline unsigned int unit_of(const void *p)
{
	return (unsigned int)((uintptr_t)p % PAGE_SIZE / SLOB_UNIT);
}

static inline unsigned int first_piece(const struct page *page)
{
	return page->freelist ? unit_of(page->freelist) : NONE;
}

/* false: no free block can look like that. */
static inline bool read_piece(const struct page *page, unsigned int at, struct piece *p)
{
	const int16_t *unit = unit_at(page, at);

	*p = (struct piece){ .at = at, .size = 1, .next = (unsigned int)-unit[0] };
	if (unit[0] > 1 && at + (unsigned int)unit[0] <= SLOB_PAGE_UNITS) {
		p->size = (unsigned int)unit[0];
		p->next = (unsigned int)unit[1];
	}
	return likely(p->next <= SLOB_PAGE_UNITS && p->next >= at + p->size);
}

static inline void write_piece(struct page *page, struct piece p)
{
	int16_t *unit = unit_at(page, p.at);

	if (p.size > 1) {
		unit[0] = (int16_t)p.size;
		unit[1] = (int16_t)p.next;
	} else {
		unit[0] = (int16_t)-p.next;
	}
}

/* Lets what comes before a place in the list (size 0: nothing) point to unit next. */
static inline void link_piece(struct page *page, struct piece prev, unsigned int next)
{
	if (prev.size) {
		prev.next = next;
		write_piece(page, prev);
	} else {
		page->freelist = next == NONE ? NULL : unit_at(page, next);
	}
}

void slob_page_init(struct page *page)
{
	write_piece(page, (struct piece){ .at = 0, .size = SLOB_PAGE_UNITS, .next = NONE });
	page->freelist = page_address(page);
	page->counters = PAGE_SIZE;
}

/* Cuts units [from, end) out of a free block; what is left before and behind stays free. */
static inline void cut_piece(struct page *page, struct piece prev, struct piece p,
			     unsigned int from, unsigned int end)
{
	unsigned int next = p.next;

	if (end < p.at + p.size) {
		write_piece(page, (struct piece){ end, p.at + p.size - end, next });
		next = end;
	}
	if (from > p.at)
		write_piece(page, (struct piece){ p.at, from - p.at, next });
	else
		link_piece(page, prev, next);
}

/* The first unit of a block of this shape that begins at unit at or behind. */
static inline unsigned int align_unit(unsigned int at, const struct slob_shape *shape)
{
	unsigned int byte = at * (unsigned int)SLOB_UNIT + shape->header;

	return (ALIGN_UP(byte, shape->align) - shape->header) / (unsigned int)SLOB_UNIT;
}

/* The sizes that were read add up to the free bytes where the list ends. */
void *slob_page_take(struct page *page, const struct slob_shape *shape)
{
	unsigned int units = (unsigned int)DIV_ROUND_UP(shape->size, SLOB_UNIT);
	unsigned int left = slob_page_free_bytes(page) / (unsigned int)SLOB_UNIT;
	struct piece prev = { 0 };
	unsigned int at = first_piece(page);

	while (at != NONE) {
		unsigned int from = align_unit(at, shape);
		struct piece p;

		if (unlikely(!read_piece(page, at, &p) || p.size > left ||
			     (p.next == NONE && p.size != left)))
			return SLOB_BROKEN;
		if (from + units <= at + p.size) {
			cut_piece(page, prev, p, from, from + units);
			page->counters -= units * SLOB_UNIT;
			return unit_at(page, from);
		}
		left -= p.size;
		prev = p;
		at = p.next;
	}
	return NULL;
}

enum slob_put slob_page_put(struct page *page, void *block, unsigned int size)
{
	unsigned int units = (unsigned int)DIV_ROUND_UP(size, SLOB_UNIT);
	struct piece p = { unit_of(block), units, first_piece(page) };
	struct piece prev = { 0 };
	struct piece behind;

	while (p.next < p.at) {
		if (unlikely(!read_piece(page, p.next, &prev)))
			return SLOB_PUT_BROKEN;
		p.next = prev.next;
	}
	if (unlikely(prev.at + prev.size > p.at || p.at + units > p.next ||
		     slob_page_free_bytes(page) + units * SLOB_UNIT > PAGE_SIZE))
		return SLOB_PUT_AGAIN;
	if (p.at + units == p.next && p.next != NONE) {
		if (unlikely(!read_piece(page, p.next, &behind)))
			return SLOB_PUT_BROKEN;
		p.size += behind.size;
		p.next = behind.next;
	}
	if (prev.size && prev.at + prev.size == p.at) {
		prev.size += p.size;
		prev.next = p.next;
		write_piece(page, prev);
	} else {
		write_piece(page, p);
		link_piece(page, prev, p.at);
	}
	page->counters += units * SLOB_UNIT;
	return SLOB_PUT;
}

bool slob_page_is_whole(const struct page *page)
{
	unsigned int at = first_piece(page);
	unsigned int units = 0;
	struct piece p;

	while (at != NONE) {
		if (!read_piece(page, at, &p) || (p.next != NONE && p.next == p.at + p.size))
			return false;
		units += p.size;
		at = p.next;
	}
	return units * SLOB_UNIT == slob_page_free_bytes(page);
}
