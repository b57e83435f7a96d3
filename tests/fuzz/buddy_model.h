/* SPDX-License-Identifier: MIT */
/*
 * fuzz/buddy_model.h - the rules by which a zone places blocks, in plain arrays
 *
 * The model knows the rules of placement and nothing of the code: for each order a plain array of
 * free blocks in list order, for each page whether it is free and whether it was written to.
 */
#ifndef FUZZ_BUDDY_MODEL_H
#define FUZZ_BUDDY_MODEL_H

#include <stdbool.h>
#include <string.h>

#include "base/bits.h"
#include "page/buddy.h"
#include "page/page.h"
#include "page/zone.h"

#define ORDERS (BUDDY_MAX_ORDER + 1)
#define CHUNK (1ul << BUDDY_MAX_ORDER)
#define CHUNKS 3ul /* the model grows no further: keeps buddy_check() quick */
#define PAGES (CHUNKS * CHUNK)

struct order_list {
	unsigned long block[PAGES];
	unsigned long n;
};

static struct order_list lists[ORDERS]; /* head first */
static bool is_free[PAGES];
static bool dirty[PAGES];
static bool bare[CHUNKS];   /* chunks without descriptors: not free, taken as new ones */
static bool inside[PAGES];  /* free blocks without descriptors but for the first page's */
static unsigned long grown; /* pages */

static inline unsigned long count_dirty(unsigned long index, unsigned long n)
{
	unsigned long count = 0;

	while (n-- > 0)
		count += dirty[index++];
	return count;
}

static inline void list_drop(struct order_list *list, unsigned long at)
{
	if (!list->n) /* never: for compilers that wonder */
		return;
	list->n--;
	memmove(&list->block[at], &list->block[at + 1], (list->n - at) * sizeof(list->block[0]));
}

static inline void list_put(struct order_list *list, unsigned long at, unsigned long index)
{
	memmove(&list->block[at + 1], &list->block[at], (list->n - at) * sizeof(list->block[0]));
	list->block[at] = index;
	list->n++;
}

static inline long list_find(unsigned int order, unsigned long index)
{
	unsigned long i;

	for (i = 0; i < lists[order].n; i++)
		if (lists[order].block[i] == index)
			return (long)i;
	return -1;
}

/* The part of its list that a block is in: dirty pages, none, no descriptors either. */
static inline int part_of(unsigned long index, unsigned int order)
{
	return count_dirty(index, 1ul << order) > 0 ? 0 : 1 + inside[index];
}

/* Head or tail is meant within its part. */
static inline void model_put_in(unsigned long index, unsigned int order, bool tail, bool no_inside)
{
	struct order_list *list = &lists[order];
	unsigned long at = 0;
	int part;

	inside[index] = no_inside;
	part = part_of(index, order);
	while (at < list->n && part_of(list->block[at], order) < part + tail)
		at++;
	list_put(list, at, index);
}

static inline void model_put(unsigned long index, unsigned int order, bool tail)
{
	model_put_in(index, order, tail, false);
}

static inline void model_free(unsigned long index, unsigned int order)
{
	unsigned long parent;
	unsigned long i;
	long at;

	for (i = 0; i < 1ul << order; i++)
		is_free[index + i] = true;
	while (order < BUDDY_MAX_ORDER && (at = list_find(order, index ^ (1ul << order))) >= 0) {
		list_drop(&lists[order], (unsigned long)at);
		index &= ~(1ul << order);
		order++;
	}
	/* Its parent's buddy is free: likely to merge. */
	parent = index & ~(1ul << order);
	model_put(index, order, order <= 8 && list_find(order + 1, parent ^ (2ul << order)) >= 0);
}

static inline void model_free_range(unsigned long index, unsigned long n)
{
	while (n > 0) {
		unsigned int order = 0;

		while (order < BUDDY_MAX_ORDER && (index & ((2ul << order) - 1)) == 0 &&
		       2ul << order <= n)
			order++;
		model_free(index, order);
		index += 1ul << order;
		n -= 1ul << order;
	}
}

static inline void mark_used(unsigned long index, unsigned long n)
{
	while (n-- > 0)
		is_free[index++] = false;
}

/* A chunk more: the lowest of those that are bare, or a new one. false: there is none. */
static inline bool model_grow(void)
{
	unsigned long chunk = 0;

	while (chunk < CHUNKS && !bare[chunk])
		chunk++;
	if (chunk == CHUNKS) {
		chunk = grown / CHUNK;
		if (grown == PAGES)
			return false;
		grown += CHUNK;
	}
	bare[chunk] = false;
	model_free(chunk * CHUNK, BUDDY_MAX_ORDER);
	return true;
}

/* The page that an allocation must return; -1: the model may grow no further. */
static inline long model_alloc(unsigned int order)
{
	unsigned int from = order;
	unsigned long index;

	while (from < ORDERS && lists[from].n == 0)
		from++;
	if (from == ORDERS) {
		if (!model_grow())
			return -1;
		return model_alloc(order);
	}
	index = lists[from].block[0];
	list_drop(&lists[from], 0);
	while (from-- > order)
		model_put_in(index + (1ul << from), from, false,
			     inside[index] && from >= zone_bare_order());
	mark_used(index, 1ul << order);
	return (long)index;
}

static inline void model_claim(unsigned long index, unsigned long n)
{
	unsigned long end = index + n;
	unsigned long i = index;

	while (i < end) {
		unsigned int order = 0;
		unsigned long start;
		unsigned long next;
		long at;

		while ((at = list_find(order, i & ~((1ul << order) - 1))) < 0)
			order++;
		start = lists[order].block[at];
		next = start + (1ul << order);
		list_drop(&lists[order], (unsigned long)at);
		model_free_range(start, i - start);
		if (next > end)
			model_free_range(end, next - end);
		i = next;
	}
	mark_used(index, n);
}

/* All chunks that are free and clean. */
static inline void model_strip(void)
{
	struct order_list *chunks = &lists[BUDDY_MAX_ORDER];
	unsigned long i = 0;

	while (i < chunks->n) {
		unsigned long index = chunks->block[i];

		if (count_dirty(index, CHUNK)) {
			i++;
			continue;
		}
		list_drop(chunks, i);
		mark_used(index, CHUNK);
		bare[index / CHUNK] = true;
	}
}

/* Descriptors of smaller blocks. */
static inline void model_strip_inside(void)
{
	for (unsigned int order = BUDDY_MAX_ORDER; order-- > zone_bare_order();) {
		unsigned long i = 0;

		while (i < lists[order].n) {
			unsigned long index = lists[order].block[i];

			if (part_of(index, order) == 1) {
				list_drop(&lists[order], i);
				model_put_in(index, order, false, true);
			} else {
				i++;
			}
		}
	}
}

/*
 * Largest order first, in an order the last of those that have dirty pages; then descriptors.
 */
static inline size_t model_trim(unsigned long keep)
{
	unsigned long before = 0;
	unsigned long now;
	unsigned long i;

	for (i = 0; i < grown; i++)
		before += is_free[i] && dirty[i];
	now = before;
	while (now > keep) {
		unsigned int order = BUDDY_MAX_ORDER;
		unsigned long index;

		while (lists[order].n == 0 || count_dirty(lists[order].block[0], 1ul << order) == 0)
			order--;
		for (i = 0; i + 1 < lists[order].n &&
			    count_dirty(lists[order].block[i + 1], 1ul << order) > 0;
		     i++)
			;
		index = lists[order].block[i];
		list_drop(&lists[order], i);
		now -= count_dirty(index, 1ul << order);
		memset(&dirty[index], 0, 1ul << order);
		model_free(index, order);
	}
	if (before > keep || !keep) {
		model_strip();
		model_strip_inside();
	}
	return (before - now) << PAGE_SHIFT;
}

#endif /* FUZZ_BUDDY_MODEL_H */
