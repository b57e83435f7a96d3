/* SPDX-License-Identifier: MIT */
/*
 * unit/page/run_test.c - whole pages: lengths, alignment, resizing in place, wrong pointers
 */
#include <pthread.h>
#include <sched.h>

#include "base/atomic.h"
#include "fixture.h"
#include "limit.h"
#include "os/cpu/nodes.h"
#include "page/pcp_runs.h"

static unsigned long arena_used(void)
{
	return buddy_zones[0].stats.nr_total - buddy_zones[0].stats.nr_free;
}

static void check_all(void)
{
	run_check();
	buddy_check();
	large_check();
}

IN_CHILD(a_run_owns_as_many_pages_as_its_length)
{
	static const struct {
		size_t size;
		unsigned long pages;
	} v[] = { { 0, 1 },
		  { 1, 1 },
		  { 4096, 1 },
		  { 4097, 2 },
		  { 5 * 4096, 5 },
		  { 33 * 4096, 34 },
		  { 100 * 4096, 100 },
		  { 100 * 4096 + 1, 104 },
		  { MIB + 1, 272 },
		  { 4 * MIB - 4095, 1024 },
		  { 4 * MIB, 1024 } };
	struct run_stats stats;
	unsigned long pages = 0;
	char *p[ARRAY_SIZE(v)];
	unsigned int i;

	fresh_arena();
	for (i = 0; i < ARRAY_SIZE(v); i++) {
		size_t mapped = v[i].pages << PAGE_SHIFT;

		p[i] = run_alloc(v[i].size, 0, 0, NULL);
		CHILD_CHECK(p[i] && page_in_arena(p[i]) && run_size(p[i]) == mapped);
		memset(p[i], (int)i + 1, mapped);
		pages += mapped >> PAGE_SHIFT;
		CHILD_CHECK(arena_used() == pages);
		check_all();
	}
	run_stats(&stats);
	CHILD_CHECK(stats.count == ARRAY_SIZE(v) && stats.bytes == pages << PAGE_SHIFT);
	for (i = 0; i < ARRAY_SIZE(v); i++) {
		CHILD_CHECK(p[i][0] == (char)(i + 1) && p[i][run_size(p[i]) - 1] == (char)(i + 1));
		CHILD_CHECK(run_free(p[i]));
		check_all();
	}
	run_stats(&stats);
	CHILD_CHECK(stats.count == 0 && stats.bytes == 0 && arena_used() == 0);
}

/* Where a node is asked for, or an alignment, from 4 MiB on. */
IN_CHILD(beyond_2_mib_it_is_mapped)
{
	static const size_t most[] = { 2 * MIB, 4 * MIB };
	struct run_stats stats;
	int node;

	fresh_arena();
	keep_set_limit(0);
	for (node = -1; node <= 0; node++) {
		size_t size = most[node + 1];
		bool zeroed = false;
		char *p = run_alloc(4 * MIB, 2 * PAGE_SIZE, node, NULL);

		CHILD_CHECK(p && page_in_arena(p) && run_free(p) && arena_used() == 0);
		p = run_alloc(size, 0, node, NULL);

		CHILD_CHECK(p && page_in_arena(p) && run_free(p));
		p = run_alloc(size + 1, 0, node, &zeroed);
		CHILD_CHECK(p && zeroed && !page_in_arena(p) && run_size(p) == size + PAGE_SIZE);
		CHILD_CHECK(all_bytes(p, size + PAGE_SIZE, 0));
		run_stats(&stats);
		CHILD_CHECK(stats.count == 1 && stats.bytes == size + PAGE_SIZE);
		CHILD_CHECK(arena_used() == 0);
		CHILD_CHECK(run_free(p) && !run_free(p));
	}
}

IN_CHILD(beyond_1_mib_it_is_mapped_where_many_are)
{
	char *many;
	char *p;

	fresh_arena();
	many = run_alloc(RUN_MANY_LARGE + PAGE_SIZE, 0, -1, NULL);
	p = run_alloc(MIB + 1, 0, -1, NULL);
	CHILD_CHECK(many && p && !page_in_arena(p));
	CHILD_CHECK(page_in_arena(run_alloc(MIB, 0, -1, NULL)));
	CHILD_CHECK(run_free(many) && run_free(p));
	CHILD_CHECK(page_in_arena(run_alloc(MIB + 1, 0, -1, NULL)));
}

/* The mapping of a freed block is used for the next one, and is not reported as zeroed. */
IN_CHILD(a_mapping_is_used_again)
{
	bool zeroed = true;
	unsigned int i;
	char *p;
	char *q;

	default_arena();
	p = run_alloc(8 * MIB, 0, -1, NULL);
	memset(p, 1, 8 * MIB);
	for (i = 0; i < 10; i++) {
		CHILD_CHECK(run_free(p) && run_size(p) == 0 && large_bytes() == 0);
		CHILD_CHECK(run_alloc(8 * MIB, 0, -1, &zeroed) == p && !zeroed && p[MIB] == 1);
	}
	CHILD_CHECK(keep_counters.bytes == 0);
	/* Larger than it was: it grows, rather than that both are resident. */
	CHILD_CHECK(run_free(p));
	q = run_alloc(12 * MIB, 0, -1, &zeroed);
	CHILD_CHECK(!zeroed && q[8 * MIB - 1] == 1 && q[8 * MIB] == 0);
	CHILD_CHECK(keep_counters.bytes == 0 && run_size(q) == 12 * MIB);
	CHILD_CHECK(run_free(q));
	check_all();
}

/* The peak is what was in use; kept mappings go when something else needs that much. */
IN_CHILD(kept_mappings_do_not_raise_the_peak)
{
	void *p;
	unsigned int i;

	default_arena();
	CHILD_CHECK(run_free(run_alloc(16 * MIB, 0, -1, NULL)));
	CHILD_CHECK(keep_counters.bytes == 16 * MIB);
	for (i = 0; i < 16; i++)
		CHILD_CHECK(run_alloc(1 * MIB, 0, -1, NULL));
	CHILD_CHECK(keep_counters.bytes <= 16 * MIB / 32);
	CHILD_CHECK(run_free(run_alloc(30 * MIB, 0, -1, NULL)));
	p = run_alloc(48 * MIB, 0, -1, NULL);
	CHILD_CHECK(p && keep_counters.bytes <= 64 * MIB / 32);
	CHILD_CHECK(run_free(p) && keep_counters.bytes <= 64 * MIB / 32); /* too large to be kept */
	check_all();
}

/* Bytes of what starts at p, for so many. */
static size_t mapped_for(const char *p, size_t size)
{
	unsigned long pages = DIV_ROUND_UP(size, PAGE_SIZE);

	return (page_in_arena(p) ? run_length(pages) : pages) << PAGE_SHIFT;
}

IN_CHILD(every_alignment_is_kept)
{
	size_t align;

	fresh_arena();
	for (align = 1; align <= 64 * MIB; align *= 2) {
		size_t size;

		for (size = 1; size <= 8 * MIB; size = size * 5 + 1) {
			char *p = run_alloc(size, align, -1, NULL);

			CHILD_CHECK(p && ((uintptr_t)p & (align - 1)) == 0);
			CHILD_CHECK(
				page_in_arena(p) ==
				(size <= (align <= PAGE_SIZE ? 2 : 4) * MIB && align <= 4 * MIB));
			CHILD_CHECK(run_size(p) == mapped_for(p, size));
			p[0] = p[size - 1] = 1;
			CHILD_CHECK(run_free(p));
		}
	}
	check_all();
	pcp_runs_drain();
	CHILD_CHECK(arena_used() == 0);
}

IN_CHILD(where_a_node_has_no_memory_the_other_serves)
{
	char *p;

	two_small_nodes();
	os_nodes.memory = 1;
	p = run_alloc(3 * PAGE_SIZE, 0, 1, NULL);
	CHILD_CHECK(p && page_block_of(p)->node == 0);
	CHILD_CHECK(!buddy_zones[1].stats.nr_total);
	CHILD_CHECK(run_free(p));
	check_all();
}

IN_CHILD(zeroed_is_only_said_of_zeros)
{
	bool zeroed = false;
	char *p;

	fresh_arena();
	p = run_alloc(5 * PAGE_SIZE, 0, -1, &zeroed);
	CHILD_CHECK(zeroed);
	memset(p, 1, 5 * PAGE_SIZE);
	CHILD_CHECK(run_free(p));
	CHILD_CHECK(run_alloc(5 * PAGE_SIZE, 0, -1, &zeroed) == p && !zeroed);
	CHILD_CHECK(run_free(p));
	/* The three pages that were cut off that block were never written to. */
	CHILD_CHECK(buddy_claim_range(page_at(5), 3, &zeroed) && zeroed);
}

IN_CHILD(it_grows_into_free_pages_and_shrinks)
{
	char *p;
	char *wall;

	fresh_arena();
	p = run_alloc(3 * PAGE_SIZE, 0, -1, NULL);
	memset(p, 7, 3 * PAGE_SIZE);
	CHILD_CHECK(run_resize(p, 320 * PAGE_SIZE - 5, false) == p);
	CHILD_CHECK(run_size(p) == 320 * PAGE_SIZE && arena_used() == 320);
	CHILD_CHECK(p[0] == 7 && p[3 * PAGE_SIZE - 1] == 7);
	memset(p, 8, 320 * PAGE_SIZE);
	check_all();
	wall = run_alloc(PAGE_SIZE, 0, -1, NULL);
	CHILD_CHECK(wall == p + 320 * PAGE_SIZE);
	CHILD_CHECK(!run_resize(p, 321 * PAGE_SIZE, false));
	CHILD_CHECK(run_resize(p, 304 * PAGE_SIZE + 1, true) == p); /* the same length */
	CHILD_CHECK(!run_cut(p, 320 * PAGE_SIZE) && !run_cut(p, 400 * PAGE_SIZE));
	CHILD_CHECK(run_cut(p, 319 * PAGE_SIZE) && run_size(p) == 319 * PAGE_SIZE);
	/* as long as it was cut: not to the next length */
	CHILD_CHECK(run_resize(p, 319 * PAGE_SIZE, true) == p && run_size(p) == 319 * PAGE_SIZE);
	CHILD_CHECK(arena_used() == 320);
	CHILD_CHECK(run_resize(p, 17 * PAGE_SIZE, false) == p && arena_used() == 18);
	CHILD_CHECK(run_size(p) == 17 * PAGE_SIZE && p[17 * PAGE_SIZE - 1] == 8);
	check_all();
	CHILD_CHECK(run_resize(p, 320 * PAGE_SIZE, false) == p);
	CHILD_CHECK(!run_resize(p, 4 * MIB + 1, true)); /* not in the arena: the caller copies */
	CHILD_CHECK(run_size(p) == 320 * PAGE_SIZE);
	CHILD_CHECK(run_resize(p, 0, false) == p && run_size(p) == PAGE_SIZE);
	CHILD_CHECK(run_free(wall) && run_free(p) && arena_used() == 0);
	check_all();
}

/* 236 pages are none of the lengths, and the next one, 240, has no room there. */
IN_CHILD(it_grows_into_all_of_a_gap)
{
	char *p;
	char *wall;

	fresh_arena();
	p = run_alloc(200 * PAGE_SIZE, 0, -1, NULL);
	CHILD_CHECK(run_resize(p, 236 * PAGE_SIZE, false) == p && run_size(p) == 240 * PAGE_SIZE);
	CHILD_CHECK(run_cut(p, 236 * PAGE_SIZE));
	wall = run_alloc(PAGE_SIZE, 0, -1, NULL);
	CHILD_CHECK(wall == p + 236 * PAGE_SIZE);
	CHILD_CHECK(run_resize(p, 200 * PAGE_SIZE, false) == p && run_size(p) == 200 * PAGE_SIZE);
	CHILD_CHECK(run_resize(p, 236 * PAGE_SIZE, false) == p && run_size(p) == 236 * PAGE_SIZE);
	CHILD_CHECK(!run_resize(p, 237 * PAGE_SIZE, false));
	CHILD_CHECK(run_free(wall) && run_free(p) && arena_used() == 0);
	check_all();
}

/* To where a block of a power of two has room behind it, and then it grows in place. */
IN_CHILD(a_run_that_cannot_grow_moves_if_it_may)
{
	char *p;
	char *wall;
	char *moved;

	fresh_arena();
	p = run_alloc(20 * PAGE_SIZE, 0, -1, NULL);
	wall = run_alloc(20 * PAGE_SIZE, 0, -1, NULL);
	CHILD_CHECK(wall == p + 20 * PAGE_SIZE);
	memset(p, 9, 20 * PAGE_SIZE);
	CHILD_CHECK(!run_resize(p, 21 * PAGE_SIZE, false) && run_size(p) == 20 * PAGE_SIZE);
	moved = run_resize(p, 33 * PAGE_SIZE, true);
	CHILD_CHECK(moved && moved != p && run_size(p) == 0 && run_size(moved) == 38 * PAGE_SIZE);
	CHILD_CHECK(moved[0] == 9 && moved[20 * PAGE_SIZE - 1] == 9 && arena_used() == 58);
	CHILD_CHECK(run_resize(moved, 64 * PAGE_SIZE, false) == moved);
	CHILD_CHECK(run_free(wall) && run_free(moved) && arena_used() == 0);
	check_all();
}

/* Sixteen for each doubling, from 16 pages on; before that each. */
static void test_lengths(void **state)
{
	static const unsigned long some[][2] = {
		{ 1, 1 },     { 2, 2 },	    { 3, 3 },	  { 15, 15 },	{ 17, 17 },   { 31, 31 },
		{ 32, 32 },   { 33, 34 },   { 34, 34 },	  { 63, 64 },	{ 65, 68 },   { 120, 120 },
		{ 129, 136 }, { 257, 272 }, { 497, 512 }, { 513, 544 }, { 993, 1024 }
	};

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(some); i++)
		assert_int_equal(run_length(some[i][0]), some[i][1]);
	for (unsigned long pages = 1; pages < 3000; pages++) {
		unsigned long length = run_length(pages);

		assert_true(length >= pages && length - pages <= pages / RUN_LENGTHS);
		assert_int_equal(run_length(length), length);
		assert_true(length <= run_length(pages + 1));
	}
}

/* Of those that so many pages can get. */
static unsigned long longest(unsigned long pages)
{
	return run_length(pages + pages / RUN_SLACK);
}

/* Others take the pages behind it at once, so only slack saves copies. */
IN_CHILD(a_run_that_grows_page_by_page_moves_seldom)
{
	unsigned int moves = 0;
	char *p;

	fresh_arena();
	p = run_alloc(16 * PAGE_SIZE, 0, -1, NULL);
	for (size_t pages = 17; pages <= 400; pages++) {
		char *grown;

		CHILD_CHECK(run_alloc(PAGE_SIZE, 0, -1, NULL));
		grown = run_resize(p, pages * PAGE_SIZE, true);
		CHILD_CHECK(grown && run_size(grown) >= pages * PAGE_SIZE);
		CHILD_CHECK(run_size(grown) <= longest(pages) * PAGE_SIZE);
		moves += grown != p;
		p = grown;
	}
	CHILD_CHECK(moves <= 30); /* log(400 / 16) / log(9 / 8) = 27.3 */
	check_all();
}

/* So that a block that has slack keeps it when it grows by less. */
IN_CHILD(a_run_that_shrinks_by_less_than_its_slack_stays_as_it_is)
{
	char *p;

	fresh_arena();
	p = run_alloc(64 * PAGE_SIZE, 0, -1, NULL);
	CHILD_CHECK(run_resize(p, 55 * PAGE_SIZE, true) == p && run_size(p) == 64 * PAGE_SIZE);
	CHILD_CHECK(run_resize(p, 53 * PAGE_SIZE, true) == p && run_size(p) == 54 * PAGE_SIZE);
	CHILD_CHECK(run_free(p) && arena_used() == 0);
	check_all();
}

IN_CHILD(a_mapped_block_moves_only_if_it_may)
{
	char *p;
	char *moved;

	fresh_arena();
	p = run_alloc(5 * MIB, 0, -1, NULL);
	memset(p, 3, 5 * MIB);
	moved = run_resize(p, 500 * MIB, true);
	CHILD_CHECK(moved && run_size(moved) == 500 * MIB && moved[5 * MIB - 1] == 3);
	CHILD_CHECK(moved == p || run_size(p) == 0);
	CHILD_CHECK(run_resize(moved, 1 * MIB, false) == moved && run_size(moved) == 1 * MIB);
	CHILD_CHECK(run_free(moved));
	check_all();
}

IN_CHILD(what_starts_no_run_is_refused)
{
	struct page *slab;
	char *p;
	char *large;
	int on_stack;

	fresh_arena();
	p = run_alloc(4 * PAGE_SIZE, 0, -1, NULL);
	large = run_alloc(5 * MIB, 0, -1, NULL);
	slab = buddy_alloc(0, 1, true, NULL);
	page_set_block(slab, PAGE_SLAB, 2);
	{
		void *wrong[] = { NULL,
				  &on_stack,
				  p + 1,
				  p + PAGE_SIZE,
				  large + PAGE_SIZE,
				  large - PAGE_SIZE,
				  page_address(slab),
				  page_map.base + 900 * PAGE_SIZE,
				  page_map.base + 4 * MIB };
		unsigned int i;

		for (i = 0; i < ARRAY_SIZE(wrong); i++) {
			CHILD_CHECK(run_size(wrong[i]) == 0);
			CHILD_CHECK(!run_free(wrong[i]));
			CHILD_CHECK(!run_resize(wrong[i], 2 * PAGE_SIZE, true));
		}
	}
	CHILD_CHECK(run_free(p) && !run_free(p) && run_size(p) == 0);
	CHILD_CHECK(run_free(large) && !run_free(large));
	CHILD_CHECK(!run_alloc(SIZE_MAX, 0, -1, NULL) && !run_alloc(SIZE_MAX / 2, 0, -1, NULL));
	CHILD_CHECK(!run_alloc(PAGE_SIZE, 1ul << 60, -1, NULL));
	check_all();
}

IN_CHILD(a_full_arena_is_not_the_end)
{
	void *p = NULL;
	void *next;
	unsigned long in_arena = 0;
	unsigned long outside = 0;

	NEEDS_BARE_PROCESS();
	os_cpu_init();
	limit_to(RLIMIT_AS, 120 * MIB + 2 * limit_of_cpus());
	CHILD_CHECK(arena_init(os_topology.nr_cpu_ids) == 0);
	buddy_init(1);
	while ((next = run_alloc(2 * MIB, 0, 0, NULL))) {
		*(void **)next = p;
		p = next;
		if (page_in_arena(p))
			in_arena++;
		else
			outside++;
	}
	CHILD_CHECK(in_arena >= 20 && outside >= 20);
	check_all();
	for (; p; p = next) {
		next = *(void **)p;
		CHILD_CHECK(run_free(p));
	}
	check_all();
	CHILD_CHECK(arena_used() == 0 && large_count() == 0);
}

/* ---- two threads free the same page run: one fails ---------------------------- */

static void *shared[2000];
static unsigned int arrived;
static bool may_spin; /* with one CPU, or in valgrind, the other must get its turn at once */
static unsigned long freed;

static void *free_all(__attribute__((unused)) void *arg)
{
	unsigned int spins;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(shared); i++) {
		/* Both at once, for every run; a CPU may be somebody else's for a while. */
		fetch_add(&arrived, 1);
		for (spins = 1; load_acquire(&arrived) < 2 * (i + 1); spins++)
			if (!load_relaxed(&may_spin) || spins % 10000 == 0)
				sched_yield();
		if (run_free(shared[i]))
			fetch_add(&freed, 1);
	}
	return NULL;
}

IN_CHILD(a_run_is_freed_once)
{
	pthread_t threads[2];
	unsigned int i;

	fresh_arena();
	for (i = 0; i < ARRAY_SIZE(shared); i++)
		shared[i] = run_alloc((i % 3 + 1) * PAGE_SIZE, 0, -1, NULL);
	may_spin = os_topology.nr_cpus > 1 && !getenv("USLAB_TEST_VALGRIND");
	for (i = 0; i < 2; i++)
		CHILD_CHECK(pthread_create(&threads[i], NULL, free_all, NULL) == 0);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	CHILD_CHECK(freed == ARRAY_SIZE(shared));
	CHILD_CHECK(arena_used() == 0);
	check_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(a_run_owns_as_many_pages_as_its_length),
		cmocka_unit_test(beyond_2_mib_it_is_mapped),
		cmocka_unit_test(beyond_1_mib_it_is_mapped_where_many_are),
		cmocka_unit_test(a_mapping_is_used_again),
		cmocka_unit_test(kept_mappings_do_not_raise_the_peak),
		cmocka_unit_test(every_alignment_is_kept),
		cmocka_unit_test(where_a_node_has_no_memory_the_other_serves),
		cmocka_unit_test(zeroed_is_only_said_of_zeros),
		cmocka_unit_test(it_grows_into_free_pages_and_shrinks),
		cmocka_unit_test(it_grows_into_all_of_a_gap),
		cmocka_unit_test(a_run_that_cannot_grow_moves_if_it_may),
		cmocka_unit_test(a_run_that_grows_page_by_page_moves_seldom),
		cmocka_unit_test(a_run_that_shrinks_by_less_than_its_slack_stays_as_it_is),
		cmocka_unit_test(a_mapped_block_moves_only_if_it_may),
		cmocka_unit_test(what_starts_no_run_is_refused),
		cmocka_unit_test(a_full_arena_is_not_the_end),
		cmocka_unit_test(a_run_is_freed_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
