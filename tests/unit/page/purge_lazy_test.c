/* SPDX-License-Identifier: MIT */
/*
 * unit/page/purge_lazy_test.c - purge=free: pages that the system has not taken yet are never said
 * to be zero, and a trim takes them at once
 */
#include "base/atomic.h"
#include "fixture.h"
#include "page/zone.h"

#define NEVER (1u << 30) /* milliseconds */

/* A zone that purges lazily whatever is freed. */
static void start(void)
{
	fresh_arena();
	CHILD_CHECK(buddy_purge_lazily() == 0);
	buddy_set_purge(0, NEVER);
}

static bool is_said_to_be_zero(unsigned long index, unsigned int order)
{
	bool zeroed = false;
	struct page *page = buddy_alloc(0, order, true, &zeroed);

	CHILD_CHECK(page && index_of(page) == index);
	CHILD_CHECK(!zeroed || all_bytes(page_address(page), PAGE_SIZE << order, 0));
	return zeroed;
}

IN_CHILD(what_was_purged_is_not_known_to_be_zero)
{
	unsigned long index;

	start();
	CHILD_CHECK(is_said_to_be_zero(0, 5)); /* never used: fresh from the system */
	index = take_touched(5);
	give(index, 5);
	CHILD_CHECK(buddy_zones[0].stats.nr_dirty == 0);
	CHILD_CHECK(buddy_zones[0].stats.nr_purged == 32);
	CHILD_CHECK(!is_said_to_be_zero(index, 5));
	/* nobody has written to it: it comes back as it was handed out */
	buddy_free(page_at(index), 5, false);
	CHILD_CHECK(buddy_zones[0].stats.nr_dirty == 0);
	CHILD_CHECK(!is_said_to_be_zero(index, 5));
	CHILD_CHECK(is_said_to_be_zero(index + 32, 5));
	buddy_check();
}

/* By each of the ways in which pages are handed out. */
IN_CHILD(each_way_says_so)
{
	struct page *page;
	bool zeroed = true;

	start();
	CHILD_CHECK(take_touched(6) == 0);
	give(0, 6);
	CHILD_CHECK(buddy_claim_range(page_at(10), 4, &zeroed) && !zeroed);
	CHILD_CHECK(buddy_claim_range(page_at(64), 4, &zeroed) && zeroed);
	CHILD_CHECK((page = buddy_alloc_fit(40, &zeroed)));
	CHILD_CHECK(index_of(page) == 14 && !zeroed);
	CHILD_CHECK((page = buddy_alloc_first(10, &zeroed)));
	CHILD_CHECK(index_of(page) < 64 && !zeroed);
	CHILD_CHECK((page = buddy_alloc_fit(100, &zeroed)) && zeroed);
	buddy_check();
}

/* Half of a block's pages, and the other half dirty. */
IN_CHILD(parts_of_a_block)
{
	bool zeroed = true;

	start();
	CHILD_CHECK(take_touched(4) == 0);
	give(0, 4);
	buddy_set_purge(SIZE_MAX >> 1, NEVER);
	CHILD_CHECK(take_touched(4) == 0 && take(4) == 16);
	give(0, 4);
	CHILD_CHECK(buddy_zones[0].stats.nr_dirty == 16);
	buddy_free(page_at(16), 4, false);
	CHILD_CHECK(buddy_zones[0].stats.nr_dirty == 16);
	CHILD_CHECK(buddy_claim_range(page_at(8), 16, &zeroed) && !zeroed);
	CHILD_CHECK(buddy_claim_range(page_at(24), 8, &zeroed) && zeroed);
	buddy_check();
}

IN_CHILD(a_trim_takes_them)
{
	unsigned long block[16];
	bool zeroed = false;

	start();
	for (unsigned int i = 0; i < 16; i++)
		block[i] = take_touched(4);
	for (unsigned int i = 0; i < 16; i += 2)
		give(block[i], 4);
	buddy_set_purge(SIZE_MAX >> 1, NEVER);
	give(block[1], 4); /* dirty, between two that were purged lazily */
	CHILD_CHECK(buddy_zones[0].stats.nr_dirty == 16);
	CHILD_CHECK(buddy_trim(0) >= 9 * 16 * PAGE_SIZE);
	CHILD_CHECK(buddy_zones[0].stats.nr_dirty == 0);
	CHILD_CHECK(buddy_trim(0) == 0);
	CHILD_CHECK(zone_none_lazy(0, CHUNK));
	CHILD_CHECK(buddy_claim_range(page_at(block[4]), 16, &zeroed) && zeroed);
	for (unsigned int i = 3; i < 16; i += 2)
		CHILD_CHECK(all_bytes(page_address(page_at(block[i])), 16 * PAGE_SIZE, 0xa5));
	buddy_check();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_purged_is_not_known_to_be_zero),
		cmocka_unit_test(each_way_says_so),
		cmocka_unit_test(parts_of_a_block),
		cmocka_unit_test(a_trim_takes_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
