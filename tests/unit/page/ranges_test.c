/* SPDX-License-Identifier: MIT */
/*
 * unit/page/ranges_test.c - ranges of free pages: which there are, and in which list
 */
#include "fixture.h"
#include "page/zone.h"

static void take_chunks(unsigned int n)
{
	while (n-- > 0)
		CHILD_CHECK(take(BUDDY_MAX_ORDER) >= 0);
}

static void give_range(unsigned long index, unsigned long nr_pages, bool dirty)
{
	buddy_free_range(page_at(index), nr_pages, dirty);
}

/* The first page of the shortest range, or -1. */
static long shortest(unsigned int kind, unsigned long nr_pages)
{
	struct page *page = zone_first_range_locked(0, kind, nr_pages);

	return page ? (long)index_of(page) : -1;
}

IN_CHILD(ranges_are_found_by_length_and_kind)
{
	fresh_arena();
	take_chunks(1);
	give_range(0, RANGE_LEAST - 1, true);
	CHILD_CHECK(shortest(RANGE_RESIDENT, RANGE_LEAST) == -1);
	give_range(20, RANGE_LEAST, true);
	give_range(40, 30, false);
	give_range(100, 30, true);
	give_range(200, 30, true);
	give_range(300, 700, false);
	buddy_check();
	CHILD_CHECK(shortest(RANGE_RESIDENT, RANGE_LEAST) == 20);
	CHILD_CHECK(shortest(RANGE_RESIDENT, RANGE_LEAST + 1) == 200); /* the newest */
	CHILD_CHECK(page_at(200)->next_range == 100 + 1 && page_at(100)->next_range == 0);
	CHILD_CHECK(shortest(RANGE_RESIDENT, 31) == -1);
	CHILD_CHECK(shortest(RANGE_CLEAN, RANGE_LEAST) == 40);
	CHILD_CHECK(shortest(RANGE_CLEAN, 31) == 300 && shortest(RANGE_CLEAN, 701) == -1);
	/* One page that may be resident makes a range so. */
	give_range(299, 1, true);
	CHILD_CHECK(shortest(RANGE_CLEAN, 31) == -1);
	CHILD_CHECK(shortest(RANGE_RESIDENT, 31) == 299 && page_at(299)->range_dirty == 1);
	/* Between two that grow together. */
	give_range(130, 70, false);
	CHILD_CHECK(shortest(RANGE_RESIDENT, 30) == 100 && page_at(100)->range_pages == 130);
	buddy_check();
}

/* Chunks that are free as a whole are skipped, whole or in part, and are one range. */
IN_CHILD(a_range_of_many_chunks)
{
	fresh_arena();
	take_chunks(6);
	for (unsigned long i = 0; i < 6; i += 2)
		give_range(i * CHUNK + 5, CHUNK, true);
	give_range(CHUNK + 5, CHUNK, true);
	buddy_check();
	CHILD_CHECK(page_at(5)->range_pages == 3 * CHUNK);
	give_range(3 * CHUNK + 5, CHUNK, false);
	buddy_check();
	CHILD_CHECK(page_at(5)->range_pages == 5 * CHUNK);
	CHILD_CHECK(buddy_claim_range(page_at(5), CHUNK + 20, NULL));
	CHILD_CHECK(buddy_claim_range(page_at(3 * CHUNK), CHUNK, NULL));
	buddy_check();
	CHILD_CHECK(page_at(CHUNK + 25)->range_pages == 2 * CHUNK - 25);
	CHILD_CHECK(page_at(4 * CHUNK)->range_pages == CHUNK + 5);
	buddy_check();
}

/* A range ends at each multiple of 16 chunks, also where what is freed or claimed lies across. */
IN_CHILD(a_range_ends_after_many_chunks)
{
	fresh_arena();
	take_chunks(34);
	give_range(16 * CHUNK - 30, 60, true);
	buddy_check();
	CHILD_CHECK(page_at(16 * CHUNK)->range_pages == 30);
	CHILD_CHECK(buddy_claim_range(page_at(16 * CHUNK - 10), 20, NULL));
	buddy_check();
	CHILD_CHECK(page_at(16 * CHUNK + 10)->range_pages == 20);
	give_range(16 * CHUNK - 10, 20, false);
	give_range(16 * CHUNK + 30, 18 * CHUNK - 30, true);
	buddy_check();
	CHILD_CHECK(page_at(16 * CHUNK)->range_pages == 16 * CHUNK);
	CHILD_CHECK(page_at(32 * CHUNK)->range_pages == 2 * CHUNK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_are_found_by_length_and_kind),
		cmocka_unit_test(a_range_of_many_chunks),
		cmocka_unit_test(a_range_ends_after_many_chunks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
