/* SPDX-License-Identifier: MIT */
/*
 * unit/page/low_test.c - what lies far up, and the lowest free blocks, against a look at each page
 */
#include <limits.h>

#include "base/atomic.h"
#include "chunks.h"
#include "page/low.h"
#include "page/zone.h"

#define CHUNKS 40ul

/* An arena that was full: its first pages are in use still, and no other is resident. */
static void start(unsigned long pages)
{
	fresh_arena();
	fill(CHUNKS);
	empty_pages(pages, CHUNKS * CHUNK);
	buddy_trim(0);
	CHILD_CHECK(buddy_zones[0].held == pages);
}

static bool is_free(unsigned long index)
{
	return page_map.free[index / 64] >> index % 64 & 1;
}

IN_CHILD(nothing_is_far_in_an_arena_in_use)
{
	fresh_arena();
	CHILD_CHECK(page_far(0) == ULONG_MAX);
	fill(CHUNKS);
	CHILD_CHECK(page_far(0) == ULONG_MAX);
	empty(CHUNKS / 2, CHUNKS);
	buddy_trim(0);
	CHILD_CHECK(page_far(0) == ULONG_MAX);
}

IN_CHILD(four_times_and_four_chunks)
{
	start(CHUNK);
	CHILD_CHECK(page_far(0) == 8 * CHUNK);
	CHILD_CHECK(page_far(CHUNK / 2) == 6 * CHUNK);
	CHILD_CHECK(page_far(CHUNK) == 4 * CHUNK && page_far(2 * CHUNK) == 4 * CHUNK);
	empty_pages(32, CHUNK); /* what is free and resident counts */
	CHILD_CHECK(page_far(0) == 8 * CHUNK);
	buddy_trim(0);
	CHILD_CHECK(page_far(0) == 4 * CHUNK + 4 * 32);
}

/* The boundary is that of the arena's end. */
IN_CHILD(as_long_as_the_arena)
{
	start((CHUNKS - 4) * CHUNK / 4);
	CHILD_CHECK(page_far(0) == ULONG_MAX);
	CHILD_CHECK(page_far(1) == CHUNKS * CHUNK - 4);
}

IN_CHILD(several_nodes_have_none)
{
	start(CHUNK);
	CHILD_CHECK(page_far(0) != ULONG_MAX);
	buddy_init(2);
	CHILD_CHECK(page_far(0) == ULONG_MAX);
}

/* Each order from the lowest free place on, aligned; a chunk in use lies between. */
IN_CHILD(the_lowest_come_first)
{
	start(32);
	CHILD_CHECK(index_of(buddy_alloc_low(0, 8 * CHUNK)) == 32);
	CHILD_CHECK(index_of(buddy_alloc_low(0, 8 * CHUNK)) == 33);
	CHILD_CHECK(index_of(buddy_alloc_low(2, 8 * CHUNK)) == 36);
	CHILD_CHECK(index_of(buddy_alloc_low(1, 8 * CHUNK)) == 34);
	CHILD_CHECK(index_of(buddy_alloc_low(4, 8 * CHUNK)) == 48);
	CHILD_CHECK(index_of(buddy_alloc_low(5, 8 * CHUNK)) == 64);
	CHILD_CHECK(index_of(buddy_alloc_low(5, 8 * CHUNK)) == 96);
	CHILD_CHECK(index_of(buddy_alloc_low(3, 8 * CHUNK)) ==
		    128); /* not 40: the search goes on */
	buddy_check();
	CHILD_CHECK(!buddy_alloc_low(6, 8 * CHUNK));
}

/* Chunks without descriptors are no free blocks, but they are there. */
IN_CHILD(bare_chunks_come_next)
{
	start(CHUNK + 32);
	CHILD_CHECK(list_empty(&buddy_zones[0].free[BUDDY_MAX_ORDER][BUDDY_CLEAN]));
	for (unsigned long i = CHUNK + 32; i < 2 * CHUNK; i += 32)
		CHILD_CHECK(index_of(buddy_alloc_low(5, 3 * CHUNK)) == i);
	CHILD_CHECK(!buddy_alloc_low(5, 2 * CHUNK));
	CHILD_CHECK(index_of(buddy_alloc_low(5, 3 * CHUNK)) == 2 * CHUNK);
	CHILD_CHECK(index_of(buddy_alloc_low(5, 3 * CHUNK)) == 2 * CHUNK + 32);
	CHILD_CHECK(buddy_zones[0].held == CHUNK + CHUNK + 2 * 32);
	buddy_check();
}

/* None below: NULL, and from then on nothing is far, until use has changed. */
IN_CHILD(none_is_found)
{
	start(CHUNK);
	CHILD_CHECK(!buddy_alloc_low(3, CHUNK));
	CHILD_CHECK(page_far(0) == ULONG_MAX);
	empty_pages(CHUNK - CHUNK / 16, CHUNK);
	buddy_trim(0);
	CHILD_CHECK(page_far(0) == ULONG_MAX); /* a 16th less */
	empty_pages(CHUNK - CHUNK / 4, CHUNK - CHUNK / 16);
	buddy_trim(0);
	CHILD_CHECK(page_far(0) == 4 * CHUNK + 3 * CHUNK);
	CHILD_CHECK(index_of(buddy_alloc_low(3, CHUNK)) == CHUNK - CHUNK / 4);
	buddy_check();
}

static unsigned long count_free_blocks(unsigned long end, unsigned int order)
{
	unsigned long count = 0;

	for (unsigned long i = 0; i < end; i += 1ul << order) {
		unsigned long n = 0;

		while (n < 1ul << order && is_free(i + n))
			n++;
		count += n == 1ul << order;
	}
	return count;
}

/* The search goes on from the start of the arena, and finds every block below. */
IN_CHILD(it_finds_what_there_is)
{
	unsigned int seed = 7;
	struct page *page;

	start(CHUNK);
	for (unsigned long i = 0; i < CHUNK; i += 32)
		page_set_block(page_at(i), PAGE_SLAB, 32);
	for (unsigned long i = 0; i < CHUNK; i++) /* in pieces of one page */
		if (i / 32 % 4 == 0 || rand_r(&seed) % 8)
			give(i, 0);
	for (unsigned int order = 6; order-- > 0;) {
		unsigned long there = count_free_blocks(CHUNK, order);

		CHILD_CHECK(there > 0);
		for (; (page = buddy_alloc_low(order, CHUNK)); there--)
			CHILD_CHECK(index_of(page) % (1ul << order) == 0 && index_of(page) < CHUNK);
		CHILD_CHECK(there == 0);
		buddy_check();
	}
	CHILD_CHECK(count_free_blocks(CHUNK, 0) == 0);
}

/* What it takes counts as other blocks do. */
IN_CHILD(counts)
{
	struct buddy_stats before, after;
	struct page *page;

	start(32);
	buddy_stats(0, &before);
	page = buddy_alloc_low(3, 8 * CHUNK);
	buddy_stats(0, &after);
	CHILD_CHECK(page && after.nr_free == before.nr_free - 8 &&
		    after.nr_alloc == before.nr_alloc + 1);
	CHILD_CHECK(buddy_zones[0].held == 32 + 8);
	buddy_free(page, 3, true);
	buddy_trim(0);
	CHILD_CHECK(buddy_zones[0].held == 32);
	buddy_check();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_far_in_an_arena_in_use),
		cmocka_unit_test(four_times_and_four_chunks),
		cmocka_unit_test(as_long_as_the_arena),
		cmocka_unit_test(several_nodes_have_none),
		cmocka_unit_test(the_lowest_come_first),
		cmocka_unit_test(bare_chunks_come_next),
		cmocka_unit_test(none_is_found),
		cmocka_unit_test(it_finds_what_there_is),
		cmocka_unit_test(counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
