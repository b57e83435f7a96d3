/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/mobility/choice_test.c - which slabs are emptied first, and which stay for the objects
 * of the others
 */
#include <limits.h>

#include "ballast.h"
#include "conformance/store.h"

#define ONE_IN 20

static void open_full(const struct engine_ops *engine)
{
	open_store(made(&(struct cache_spec){
			   .name = "store", .size = 256, .ctor = store_ctor, .engine = engine }),
		   MOST);
	for (unsigned int i = 0; i < store.nr; i++)
		put(i);
}

static void open_thin(const struct engine_ops *engine)
{
	open_full(engine);
	for (unsigned int i = 0; i < store.nr; i++)
		if (i % ONE_IN)
			drop(i);
	cache_shrink(store.c);
}

/* Pages from the lowest slab to where the objects lie, on average. */
static unsigned long mean_place(void)
{
	unsigned long sum = 0, nr = 0, lowest = ~0ul;

	for (unsigned int i = 0; i < store.nr; i++) {
		const struct page *slab = store.slot[i] ? page_head_of(store.slot[i]) : NULL;

		if (!slab)
			continue;
		sum += (unsigned long)(slab - page_map.pages);
		lowest = MIN(lowest, (unsigned long)(slab - page_map.pages));
		nr++;
	}
	return sum / nr - lowest;
}

static void check_lowest_stay(const struct engine_ops *engine)
{
	unsigned long before, needed;

	open_thin(engine);
	before = mean_place();
	needed = DIV_ROUND_UP(MOST / ONE_IN, store.c->engine.layout->objects);
	CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == 0);
	cache_check_all();
	CHILD_CHECK(stats_of(store.c).nr_slabs <= 2 * needed);
	CHILD_CHECK(mean_place() * 4 < before);
	empty_store();
	cache_destroy(store.c->handle, NULL);
}

/* All slabs are equally empty: what is left lies side by side. */
IN_CHILD(test_lowest_stay)
{
	ready();
	check_lowest_stay(&slub_ops);
	check_lowest_stay(&slab_ops);
}

/* The lowest, or highest, page of a slab that has an object. */
static unsigned long end_place(bool highest)
{
	unsigned long end = highest ? 0 : ULONG_MAX;

	for (unsigned int i = 0; i < store.nr; i++) {
		unsigned long at = store.slot[i] ? page_index(store.slot[i]) : end;

		end = highest ? MAX(end, at) : MIN(end, at);
	}
	return end;
}

/*
 * One in so many objects stays (1: four of five), in slabs far up: all of them come to slabs low in
 * the arena, and later rounds move none.
 */
static void check_come_down(const struct engine_ops *engine, unsigned int one_in,
			    uint64_t budget_us)
{
	unsigned long below = ballast(true);
	unsigned int steps = 0;
	unsigned long moved;

	open_full(engine);
	for (unsigned int i = 0; i < store.nr; i++)
		if (one_in > 1 ? i % one_in : i % 5 == 0)
			drop(i);
	cache_shrink(store.c);
	CHILD_CHECK(end_place(false) >= below);
	ballast(false);
	CHILD_CHECK(page_far(0) < below);
	while (cache_defrag(store.c, NUMA_NO_NODE, budget_us))
		CHILD_CHECK(++steps < 100000);
	CHILD_CHECK(end_place(true) < page_far(0));
	CHILD_CHECK(stats_of(store.c).nr_slabs <=
		    in_use(store.c) / store.c->engine.layout->objects + 2);
	moved = counters().defrag_moved;
	for (unsigned int i = 0; i < 3; i++)
		while (cache_defrag(store.c, NUMA_NO_NODE, budget_us))
			CHILD_CHECK(++steps < 100000);
	CHILD_CHECK(counters().defrag_moved - moved < 2 * store.c->engine.layout->objects);
	moved = counters().defrag_moved;
	while (cache_defrag(store.c, NUMA_NO_NODE, budget_us)) {}
	CHILD_CHECK(counters().defrag_moved == moved);
	cache_check_all();
	empty_store();
	cache_destroy(store.c->handle, NULL);
}

IN_CHILD(test_come_down)
{
	ready();
	check_come_down(&slub_ops, 20, 0);
	check_come_down(&slab_ops, 20, 0);
	check_come_down(&slub_ops, 2, 0);
	check_come_down(&slub_ops, 1, 0);
	check_come_down(&slab_ops, 1, 0);
	/* steps of one object, and of a few, on faster machines and on slower ones */
	for (uint64_t budget_us = 1; budget_us <= 8; budget_us *= 2) {
		check_come_down(&slub_ops, 20, budget_us);
		check_come_down(&slab_ops, 20, budget_us);
	}
}

/* Objects that stay where they are keep their slabs, and the rounds end. */
IN_CHILD(test_refused_far_up)
{
	unsigned long before;

	ready();
	ballast(true);
	open_thin(&slub_ops);
	ballast(false);
	store.refuse = 1;
	before = stats_of(store.c).nr_slabs;
	CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == 0);
	CHILD_CHECK(stats_of(store.c).nr_slabs == before);
	store.refuse = 3;
	for (unsigned int i = 0; i < 5; i++)
		CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == 0);
	CHILD_CHECK(stats_of(store.c).nr_slabs < before);
	cache_check_all();
	empty_store();
	CHILD_CHECK(in_use(store.c) == 0);
}

/* Also in steps so short that each ends in the middle of a walk. */
IN_CHILD(test_walks_in_steps)
{
	unsigned int steps = 0;
	unsigned long before;

	ready();
	open_thin(&slub_ops);
	before = stats_of(store.c).nr_slabs;
	while (cache_defrag(store.c, NUMA_NO_NODE, 1))
		CHILD_CHECK(++steps < 100000);
	CHILD_CHECK(steps > 10 && stats_of(store.c).nr_slabs * 2 < before);
	cache_check_all();
	empty_store();
	CHILD_CHECK(in_use(store.c) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lowest_stay),
		cmocka_unit_test(test_come_down),
		cmocka_unit_test(test_refused_far_up),
		cmocka_unit_test(test_walks_in_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
