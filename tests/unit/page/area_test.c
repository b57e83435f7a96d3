/* SPDX-License-Identifier: MIT */
/*
 * unit/page/area_test.c - where CPUs take pages from that are to lie apart
 *
 * Expected page numbers are written out from the rules, for an arena that starts empty.
 */
#include "fixture.h"
#include "page/zone.h"

#define AREA 64 /* pages */

static void begin(unsigned int cpus)
{
	CHILD_CHECK(os_topology_set(cpus, 1) == 0);
	fresh_arena();
}

static long take_as(unsigned int cpu, unsigned int order)
{
	struct page *page;

	os_act_as_cpu((int)cpu);
	page = buddy_alloc_apart(0, order);
	return page ? (long)(page - page_map.pages) : -1;
}

/* Two CPUs that take pages in turn fill an area each, upwards; then the next free ones. */
IN_CHILD(test_two_cpus)
{
	begin(4);
	for (long i = 0; i < AREA; i++)
		CHILD_CHECK(take_as(0, 0) == i && take_as(1, 0) == AREA + i);
	CHILD_CHECK(take_as(1, 0) == 2 * AREA && take_as(0, 0) == 3 * AREA);
	CHILD_CHECK(take_as(1, 0) == 2 * AREA + 1 && take_as(0, 0) == 3 * AREA + 1);
	buddy_check();
}

/* Larger blocks of an area are left alone, too; blocks as large as areas are anybody's. */
IN_CHILD(test_orders)
{
	begin(4);
	CHILD_CHECK(take_as(0, 0) == 0);
	CHILD_CHECK(take_as(1, 5) == AREA && take_as(0, 5) == 32 && take_as(1, 0) == AREA + 32);
	CHILD_CHECK(take_as(2, 6) == 2 * AREA && take_as(3, 10) == CHUNK);
	CHILD_CHECK(take_as(0, 3) == 8 && take_as(0, 0) == 1);
	buddy_check();
}

/* CPUs with the same number modulo eight share an area, and so does one CPU all the time. */
IN_CHILD(test_lanes)
{
	begin(10);
	CHILD_CHECK(take_as(1, 0) == 0 && take_as(9, 0) == 1 && take_as(1, 0) == 2);
	CHILD_CHECK(take_as(2, 0) == AREA);
}

/* A CPU that no longer uses its area: others pass it by 64 times, then it is anybody's. */
IN_CHILD(test_left_area)
{
	unsigned int passed = 0;
	long page;

	begin(4);
	CHILD_CHECK(take_as(0, 0) == 0);
	CHILD_CHECK(take_as(1, 0) == AREA);
	while ((page = take_as(1, 0)) >= AREA)
		CHILD_CHECK(++passed <= 2 * AREA);
	/* it passes by a smaller block for each second page of its own */
	CHILD_CHECK(page == 1 && passed == 127);
	CHILD_CHECK(take_as(0, 0) == 2);
	buddy_check();
}

/* One that it still uses is not given up. */
IN_CHILD(test_used_area)
{
	begin(4);
	CHILD_CHECK(take_as(0, 0) == 0);
	for (unsigned int i = 1; i < 14; i++) { /* the chunk has space for so many */
		for (unsigned int n = 0; n < 60; n++)
			CHILD_CHECK(take_as(1, 0) >= AREA);
		CHILD_CHECK(take_as(0, 0) == (long)i);
	}
	buddy_check();
}

/* It belongs to one lane only. */
IN_CHILD(test_taken_area)
{
	begin(4);
	CHILD_CHECK(take_as(0, 0) == 0);
	buddy_free(page_at(0), 0, false);
	CHILD_CHECK(take_as(1, 0) == 0 && take_as(0, 0) == AREA && take_as(1, 0) == 1);
	buddy_free(page_at(0), 0, false);
	buddy_free(page_at(1), 0, false);
	CHILD_CHECK(take_as(0, 6) == 0 && take_as(0, 0) == AREA + 1);
	CHILD_CHECK(take_as(1, 0) == 2 * AREA);
	CHILD_CHECK(buddy_zones[0].areas[0].number == 2 && buddy_zones[0].areas[1].number == 3);
	buddy_check();
}

/* What is free anywhere is found: no chunk is added, and nothing is refused, for that. */
IN_CHILD(test_nothing_else)
{
	long page;
	unsigned long n = 1;

	begin(4);
	CHILD_CHECK(take_as(0, 0) == 0);
	for (unsigned int order = 6; order < BUDDY_MAX_ORDER; order++)
		CHILD_CHECK(take_as(2, order) == 1l << order);
	/* only the first area has any */
	while (n < AREA) {
		page = take_as(1, 0);
		CHILD_CHECK(page > 0 && page < AREA);
		n++;
	}
	CHILD_CHECK(buddy_zones[0].stats.nr_total == CHUNK);
	CHILD_CHECK(take_as(1, 0) == CHUNK && buddy_zones[0].stats.nr_total == 2 * CHUNK);
	buddy_check();
}

/* The kernel's placement: for all others, and where there is one CPU. */
IN_CHILD(test_others)
{
	begin(4);
	CHILD_CHECK(take_as(0, 0) == 0);
	os_act_as_cpu(1);
	CHILD_CHECK(buddy_alloc(0, 0, false, NULL) == page_at(1));
	CHILD_CHECK(take_as(1, 0) == AREA);
}

IN_CHILD(test_one_cpu)
{
	begin(1);
	for (long i = 0; i < 2 * AREA; i++)
		CHILD_CHECK(take_as(0, 0) == i);
	CHILD_CHECK(!buddy_zones[0].areas[0].number);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_cpus),     cmocka_unit_test(test_orders),
		cmocka_unit_test(test_lanes),	     cmocka_unit_test(test_left_area),
		cmocka_unit_test(test_used_area),    cmocka_unit_test(test_taken_area),
		cmocka_unit_test(test_nothing_else), cmocka_unit_test(test_others),
		cmocka_unit_test(test_one_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
