/* SPDX-License-Identifier: MIT */
/*
 * unit/page/fit_test.c - where runs of any number of pages lie, and what waits for them
 */
#include "fake_clock.h"
#include "fake_usage.h"
#include "fixture.h"
#include "page/zone.h"

/* Chunks 0 .. n - 1 taken as pages, so that a test gives back the ranges that it wants. */
static void take_chunks(unsigned int n)
{
	while (n-- > 0)
		CHILD_CHECK(take(BUDDY_MAX_ORDER) >= 0);
}

static void give_range(unsigned long index, unsigned long nr_pages, bool dirty)
{
	buddy_free_range(page_at(index), nr_pages, dirty);
}

/* Page of the arena, or -1. */
static long fit(unsigned long nr_pages)
{
	bool zeroed = false;
	struct page *page = buddy_alloc_fit(nr_pages, &zeroed);

	if (!page)
		return -1;
	CHILD_CHECK(zeroed == (zone_count_dirty(index_of(page), nr_pages) == 0));
	for (unsigned long i = 0; i < nr_pages; i++)
		CHILD_CHECK(page[i].type == PAGE_NONE);
	return (long)index_of(page);
}

IN_CHILD(the_smallest_range_that_is_resident)
{
	fresh_arena();
	take_chunks(1);
	give_range(0, 100, true);
	give_range(200, 30, true);
	give_range(300, 50, true);
	give_range(400, 31, false);
	CHILD_CHECK(fit(30) == 200);
	CHILD_CHECK(fit(31) == 300); /* what fits better is not resident */
	CHILD_CHECK(fit(19) == 331);
	CHILD_CHECK(fit(101) == -1);
	CHILD_CHECK(fit(100) == 0);
	CHILD_CHECK(fit(31) == 400);
	CHILD_CHECK(fit(9) == -1);
	buddy_check();
}

/* Page of the arena, or -1. */
static long first(unsigned long nr_pages)
{
	struct page *page = buddy_alloc_first(nr_pages, NULL);

	buddy_check();
	return page ? (long)index_of(page) : -1;
}

/* With realtime memory: one look, at the smallest range. */
IN_CHILD(the_smallest_range_at_once)
{
	fresh_arena();
	take_chunks(2);
	give_range(3, 12, true);
	give_range(40, 60, true); /* over the end of a word */
	give_range(200, 300, true);
	give_range(1024 - 20, 40, true); /* over the end of a chunk */
	CHILD_CHECK(first(13) == 1024 - 20);
	CHILD_CHECK(first(12) == 3);
	CHILD_CHECK(first(48) == 40);
	CHILD_CHECK(first(28) == 200);
	CHILD_CHECK(first(273) == -1);
	CHILD_CHECK(first(272) == 228);
	CHILD_CHECK(first(27) == 1024 - 7);
	CHILD_CHECK(first(12) == 88);
	CHILD_CHECK(first(9) == -1);
	give_range(0, 1024, true);
	CHILD_CHECK(first(1024) == 0);
}

/* Of every length, at every place. */
IN_CHILD(a_range_wherever_it_is)
{
	fresh_arena();
	take_chunks(2);
	for (unsigned int i = 0; i < rounds(2000); i++) {
		unsigned long length = 9 + i * 7 % 200;
		unsigned long at = i * 131 % (2048 - length);

		give_range(at, length, true);
		CHILD_CHECK(first(length + 1) == -1);
		CHILD_CHECK(first(length) == (long)at);
	}
}

/* A search ends after so many ranges of which none is resident, with the best of these. */
IN_CHILD(a_search_is_bounded)
{
	unsigned long at = 0;

	fresh_arena();
	take_chunks(16);
	for (unsigned long pages = 40; pages < 140; pages++, at += 1 + pages) {
		give_range(at, pages - 1, false);
		give_range(at + pages - 1, 1, true);
	}
	give_range(at, 140, true);
	CHILD_CHECK(fit(40) == 0);
	CHILD_CHECK(fit(140) == (long)at);
	buddy_check();
}

/* Of a range that is resident in part, the place where most of it is. */
IN_CHILD(most_of_it_is_resident)
{
	fresh_arena();
	take_chunks(1);
	give_range(0, 200, false);
	give_range(200, 100, true);
	give_range(300, 100, false);
	CHILD_CHECK(fit(120) == 200);
	give_range(200, 120, true);
	CHILD_CHECK(fit(90) == 200);
	CHILD_CHECK(fit(60) == 290); /* 30 of them; those behind are clean */
	buddy_check();
}

/* Ranges end where a word of bits, a block, a chunk does, or go on. */
IN_CHILD(ranges_of_any_shape)
{
	static const unsigned long starts[] = { 0, 1, 17, 63, 64, 65, 100, 128, 1000, 1020 };
	static const unsigned long sizes[] = { 9, 16, 33, 63, 64, 65, 100, 127, 128, 129, 700 };

	fresh_arena();
	take_chunks(2);
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
			give_range(starts[i], sizes[k], true);
			CHILD_CHECK(fit(sizes[k] + 1) == -1);
			CHILD_CHECK(fit(sizes[k]) == (long)starts[i]);
			CHILD_CHECK(fit(9) == -1);
			buddy_check();
		}
	}
}

/* The pages of the smallest range with that many, as a search of every page finds it; -1: none. */
static long smallest(unsigned long nr_pages)
{
	unsigned long pages = arena_size() >> PAGE_SHIFT;
	unsigned long least = ~0ul;
	unsigned long range = 0;

	for (unsigned long i = 0; i <= pages; i++) {
		if (i < pages && (page_map.free[i / 64] >> i % 64 & 1)) {
			range++;
			continue;
		}
		if (range >= nr_pages && range < least)
			least = range;
		range = 0;
	}
	return least == ~0ul ? -1 : (long)least;
}

/* How many free pages lie in a row around a page. */
static long range_around(unsigned long index)
{
	unsigned long pages = arena_size() >> PAGE_SHIFT;
	unsigned long from = index;

	while (from > 0 && (page_map.free[(from - 1) / 64] >> (from - 1) % 64 & 1))
		from--;
	while (index < pages && (page_map.free[index / 64] >> index % 64 & 1))
		index++;
	return (long)(index - from);
}

/* No range is left out, wherever it begins and ends. */
IN_CHILD(no_range_is_left_out)
{
	unsigned long random = 1;

	fresh_arena();
	buddy_set_purge(SIZE_MAX >> 1, 1u << 30);
	take_chunks(4);
	for (unsigned int round = 0; round < rounds(300); round++) {
		unsigned long start = 0;

		/* All pages are in use here. */
		while (start < 4 * CHUNK) {
			unsigned long size;

			random = random * 6364136223846793005ul + 1442695040888963407ul;
			size = (random >> 33) % (round % 3 ? 24 : 200) + 1;
			start += (random >> 50) % 12 + 1;
			size = MIN(size, 4 * CHUNK - MIN(start, 4 * CHUNK));
			give_range(start, size, true);
			start += size;
		}
		for (unsigned long want = 9; want < 150; want += want / 5) {
			long least = smallest(want);
			long index = fit(want);

			CHILD_CHECK((index < 0) == (least < 0));
			if (index < 0)
				continue;
			give_range((unsigned long)index, want, true);
			CHILD_CHECK(range_around((unsigned long)index) == least);
		}
		buddy_check();
		for (unsigned long i = 0; i < 4 * CHUNK; i++)
			buddy_claim_range(page_at(i), 1, NULL);
	}
}

/* Another node's pages are none, however they lie. */
IN_CHILD(each_node_has_its_own)
{
	os_cpu_init();
	CHILD_CHECK(os_topology_set(4, 2) == 0 && arena_init(os_topology.nr_cpu_ids) == 0);
	buddy_init(2);
	buddy_set_purge(SIZE_MAX >> 1, 1u << 30);
	for (int i = 0; i < 4; i++)
		CHILD_CHECK(buddy_alloc(i % 2, BUDDY_MAX_ORDER, true, NULL));
	for (unsigned long i = 0; i < 4; i++)
		give_range(i * CHUNK, CHUNK, true);
	for (unsigned int cpu = 0; cpu < 4; cpu++) {
		struct page *page;

		os_act_as_cpu((int)cpu);
		/* chunks of a node lie apart */
		CHILD_CHECK(page_at(cpu * CHUNK)->range_pages == CHUNK);
		page = buddy_alloc_fit(CHUNK, NULL);
		CHILD_CHECK(page && page->node == os_cpu_to_node(cpu));
	}
	buddy_check();
}

static unsigned long most_resident; /* pages */

static unsigned long resident_now(void)
{
	const struct buddy_stats *s = &buddy_zones[0].stats;

	return s->nr_total - s->nr_free + s->nr_dirty;
}

/* Blocks of 128 KiB to 1 MiB, one replaced after the other. Returns pages written to. */
static unsigned long replace(char **block, unsigned int blocks, unsigned int rounds)
{
	static unsigned long random = 1;
	unsigned long touched = 0;

	while (rounds-- > 0) {
		unsigned int i;
		size_t size;

		random = random * 6364136223846793005ul + 1442695040888963407ul;
		i = (random >> 33) % blocks;
		size = MIB / 8 + (random >> 20) % (7 * MIB / 8);
		CHILD_CHECK(!block[i] || run_free(block[i]));
		block[i] = run_alloc(size, 0, -1, NULL);
		CHILD_CHECK(block[i]);
		for (size_t at = 0; at < size; at += PAGE_SIZE)
			block[i][at] = 1;
		touched += size / PAGE_SIZE;
		most_resident = MAX(most_resident, resident_now());
		if (rounds % 8 == 0)
			fake_clock_pass(1);
	}
	return touched;
}

/* Pages that became resident: those that are now, and those that were purged. */
static unsigned long made_resident(void)
{
	return resident_now() + buddy_zones[0].stats.nr_purged;
}

/* Most find pages that another one left, and what waits for that is an eighth of the peak. */
IN_CHILD(runs_in_turn_find_their_pages)
{
	static char *block[100];
	unsigned long touched;

	default_arena();
	touched = replace(block, ARRAY_SIZE(block), 8000);
	CHILD_CHECK(made_resident() < touched / 16);
	CHILD_CHECK(most_resident < buddy_zones[0].stats.nr_peak * 9 / 8 + MIB / PAGE_SIZE);
	run_check();
	/* All of it goes when nobody finds use for it, and at once when it is asked for. */
	fake_clock_pass(20000);
	buddy_rebalance();
	CHILD_CHECK(buddy_zones[0].fit_refaults == 0);
	CHILD_CHECK(buddy_zones[0].stats.nr_dirty <= zone_lasting_limit(&buddy_zones[0]));
	replace(block, ARRAY_SIZE(block), 500);
	buddy_trim(0);
	CHILD_CHECK(buddy_zones[0].stats.nr_dirty == 0);
	buddy_check();
}

/* One at a time: its pages, whatever its size. */
IN_CHILD(one_run_at_a_time)
{
	static char *block[1];

	default_arena();
	replace(block, 1, 100);
	CHILD_CHECK(replace(block, 1, 1000) > 100 * made_resident());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_smallest_range_at_once),
		cmocka_unit_test(a_range_wherever_it_is),
		cmocka_unit_test(a_search_is_bounded),
		cmocka_unit_test(the_smallest_range_that_is_resident),
		cmocka_unit_test(most_of_it_is_resident),
		cmocka_unit_test(ranges_of_any_shape),
		cmocka_unit_test(no_range_is_left_out),
		cmocka_unit_test(each_node_has_its_own),
		cmocka_unit_test(runs_in_turn_find_their_pages),
		cmocka_unit_test(one_run_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
