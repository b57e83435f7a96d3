/* SPDX-License-Identifier: MIT */
/*
 * unit/page/realtime_test.c - memory that is made ready ahead stays, and is what calls get
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "fixture.h"
#include "page/meta.h"
#include "page/pcp.h"
#include "page/realtime.h"
#include "page/zone.h"

static unsigned long minor_faults(void)
{
	struct rusage usage;

	CHILD_CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
	return (unsigned long)usage.ru_minflt;
}

/* With or without the right to lock memory. */
static void start_nodes(size_t bytes, unsigned int nodes)
{
	os_cpu_init();
	CHILD_CHECK(arena_init(os_topology.nr_cpu_ids) == 0);
	buddy_init(nodes);
	CHILD_CHECK(realtime_start(bytes, SIZE_MAX) == 0);
	CHILD_CHECK(!realtime_counters.locked ||
		    realtime_counters.locked == realtime_counters.bytes);
}

static void start(size_t bytes)
{
	start_nodes(bytes, 1);
}

IN_CHILD(whole_chunks_are_ready)
{
	start(9 * MIB);
	CHILD_CHECK(realtime_is_on() && realtime_counters.bytes == 12 * MIB);
	CHILD_CHECK(buddy_zones[0].stats.nr_free == 12 * MIB / PAGE_SIZE);
	CHILD_CHECK(buddy_zones[0].stats.nr_dirty == 12 * MIB / PAGE_SIZE);
	CHILD_CHECK(arena_size() == 12 * MIB);
	buddy_check();
	arena_check();
	meta_check();
}

IN_CHILD(no_more_than_there_is)
{
	fresh_arena();
	CHILD_CHECK(realtime_start(32 * MIB, 11 * MIB) == -ENOMEM);
	CHILD_CHECK(realtime_is_on() && realtime_counters.bytes == 8 * MIB);
	CHILD_CHECK(buddy_zones[0].stats.nr_free == 8 * MIB / PAGE_SIZE);
	buddy_check();
}

IN_CHILD(nothing_where_there_is_no_memory)
{
	fresh_arena();
	CHILD_CHECK(realtime_start(32 * MIB, 0) == -ENOMEM);
	CHILD_CHECK(!realtime_is_on() && realtime_counters.locked == 0);
}

/* The first chunk may be locked, the second not: then the first is not either. */
IN_CHILD(all_is_locked_or_nothing)
{
	NEEDS_BARE_PROCESS();
	fresh_arena();
	child_deny_from(SYS_mlock, page_map.base + 4 * MIB, EPERM);
	CHILD_CHECK(realtime_start(16 * MIB, SIZE_MAX) == 0);
	CHILD_CHECK(realtime_counters.bytes == 16 * MIB && realtime_counters.locked == 0);
	CHILD_CHECK(status_bytes("VmLck:") == 0);
}

IN_CHILD(nothing_is_off_without_a_start)
{
	fresh_arena();
	CHILD_CHECK(!realtime_is_on());
	CHILD_CHECK(take(BUDDY_MAX_ORDER) >= 0 && realtime_counters.exceeded == 0);
}

/* Page runs of all sizes are written, freed and allocated again: no page is new. */
IN_CHILD(no_page_is_faulted_in)
{
	static void *run[64];
	unsigned long faults;

	NEEDS_BARE_PROCESS();
	if (is_emulated())
		child_cannot("the emulator's own faults count");
	start(32 * MIB);
	run[0] = run_alloc(2 * MIB, 0, -1, NULL); /* code and stack */
	memset(run[0], 1, 2 * MIB);
	CHILD_CHECK(run_free(run[0]));
	run[0] = NULL;
	faults = minor_faults();
	for (unsigned int i = 0; i < 1000; i++) {
		size_t size = (i * 37 % 60 + 1) * 5000;
		void **p = &run[i % ARRAY_SIZE(run)];

		if (*p)
			CHILD_CHECK(run_free(*p));
		*p = run_alloc(size, 0, -1, NULL);
		CHILD_CHECK(*p && page_in_arena(*p));
		memset(*p, 1, size);
	}
	CHILD_CHECK(minor_faults() - faults <= 2); /* those of the loop itself */
	CHILD_CHECK(realtime_counters.exceeded == 0);
	buddy_check();
	run_check();
}

IN_CHILD(nothing_goes_back)
{
	void *p;

	start(16 * MIB);
	buddy_set_purge(0, 0);
	p = run_alloc(4 * MIB, 0, -1, NULL);
	CHILD_CHECK(page_in_arena(p)); /* without the mode a mapping */
	CHILD_CHECK(run_free(p));
	buddy_rebalance();
	CHILD_CHECK(buddy_trim(0) == 0);
	CHILD_CHECK(buddy_zones[0].stats.nr_dirty == 16 * MIB / PAGE_SIZE);
	CHILD_CHECK(buddy_zones[0].stats.nr_purged == 0);
}

IN_CHILD(what_it_does_not_serve_is_counted)
{
	start(4 * MIB);
	CHILD_CHECK(take(BUDDY_MAX_ORDER) == 0 && realtime_counters.exceeded == 0);
	CHILD_CHECK(take(0) >= 0 && realtime_counters.exceeded == 1);
	CHILD_CHECK(run_free(run_alloc(4 * MIB + 1, 0, -1, NULL)));
	CHILD_CHECK(realtime_counters.exceeded == 2);
	while (meta_alloc(32768) && realtime_counters.exceeded == 2) {}
	CHILD_CHECK(realtime_counters.exceeded == 3);
}

/* Metadata comes from what was made ready. */
IN_CHILD(metadata_is_ready)
{
	size_t mapped;

	start(4 * MIB);
	mapped = meta_bytes();
	for (unsigned int i = 0; i < 1024; i++)
		CHILD_CHECK(meta_alloc(512));
	CHILD_CHECK(meta_bytes() == mapped && realtime_counters.exceeded == 0);
}

static bool is_there(const char *p)
{
	uintptr_t page = ALIGN_DOWN((uintptr_t)p, os_page_size());
	unsigned char in_memory = 0;

	CHILD_CHECK(mincore((void *)page, os_page_size(), &in_memory) == 0);
	return in_memory & 1;
}

/* All that a call may read or write for the last cache of the library's own, on each CPU. */
IN_CHILD(words_of_all_cpus_are_there)
{
	size_t last = (USLAB_ID_FIRST_FREE - 1) * sizeof(uintptr_t);
	const char *window;

	if (is_emulated())
		child_cannot("mincore is the emulator's");
	start(4 * MIB);
	window = page_windows();
	CHILD_CHECK(is_there(window + last) && is_there(window + USLAB_WINDOW_MARKS + last));
	CHILD_CHECK(is_there(window + USLAB_WINDOW_TABLES) &&
		    is_there(window + USLAB_WINDOW_MASKS) &&
		    is_there(window + USLAB_WINDOW_MAGICS + last));
	for (unsigned int i = 1; i < USLAB_WINDOW_CPU0 + os_topology.nr_cpu_ids; i++) {
		window = page_windows() + i * USLAB_WINDOW_SIZE;
		CHILD_CHECK(is_there(window + last) &&
			    is_there(window + USLAB_WINDOW_SPARES + last) &&
			    is_there(window + USLAB_WINDOW_GENERIC + last));
		CHILD_CHECK(is_there(window + USLAB_WINDOW_STATE +
				     (USLAB_ID_FIRST_FREE - 1) * USLAB_CPU_STATE_SIZE));
	}
}

static void start_with_a_chunk_on_each_of_two_nodes(void)
{
	CHILD_CHECK(os_topology_set(2, 2) == 0);
	start_nodes(8 * MIB, 2);
	os_act_as_cpu(0);
}

/* What another node has ready comes before more memory of the system. */
IN_CHILD(blocks_of_other_nodes_come_before_growth)
{
	struct page *page;

	start_with_a_chunk_on_each_of_two_nodes();
	for (unsigned int node = 0; node < 2; node++) {
		page = buddy_alloc(0, BUDDY_MAX_ORDER, false, NULL);
		CHILD_CHECK(page && page->node == node);
	}
	CHILD_CHECK(realtime_counters.exceeded == 0);
	page = buddy_alloc(0, BUDDY_MAX_ORDER, false, NULL);
	CHILD_CHECK(page && page->node == 0 && realtime_counters.exceeded == 1);
	buddy_check();
}

IN_CHILD(only_a_call_for_one_node_grows_it)
{
	start_with_a_chunk_on_each_of_two_nodes();
	CHILD_CHECK(buddy_alloc(0, BUDDY_MAX_ORDER, true, NULL)->node == 0);
	CHILD_CHECK(buddy_alloc(0, BUDDY_MAX_ORDER, true, NULL)->node == 0);
	CHILD_CHECK(realtime_counters.exceeded == 1);
}

IN_CHILD(page_runs_of_other_nodes_come_before_growth)
{
	start_with_a_chunk_on_each_of_two_nodes();
	/* No block of 1024 pages is free then, but rows of 1000 are. */
	CHILD_CHECK(buddy_alloc(0, 0, true, NULL) && buddy_alloc(1, 0, true, NULL));
	for (unsigned int node = 0; node < 2; node++) {
		void *p = run_alloc(1000 * PAGE_SIZE, 0, -1, NULL);

		CHILD_CHECK(page_in_arena(p) && page_at(page_index(p))->node == node);
	}
	CHILD_CHECK(realtime_counters.exceeded == 0);
	buddy_check();
}

IN_CHILD(lists_of_cpus_take_what_is_ready)
{
	struct page *page;

	start_with_a_chunk_on_each_of_two_nodes();
	CHILD_CHECK(pcp_init() && buddy_alloc(0, BUDDY_MAX_ORDER, true, NULL));
	page = pcp_alloc(0, 0, PCP_UNMOVABLE, false);
	CHILD_CHECK(page && page->node == 1 && realtime_counters.exceeded == 0);
	pcp_check();
	buddy_check();
}

/* A row that is no aligned block serves a page run that moves, also where slack does not fit. */
IN_CHILD(page_runs_move_into_any_row)
{
	void *grown;
	void *p;

	start(4 * MIB);
	CHILD_CHECK(buddy_alloc(0, 0, true, NULL)); /* page 0 */
	p = run_alloc(100 * PAGE_SIZE, 0, -1, NULL);
	CHILD_CHECK(p && run_alloc(300 * PAGE_SIZE, 0, -1, NULL)); /* 1 .. 101 .. 401 */
	grown = run_resize(p, 600 * PAGE_SIZE, true);
	CHILD_CHECK(grown && page_index(grown) == 401 && run_size(grown) == 600 * PAGE_SIZE);
	CHILD_CHECK(realtime_counters.exceeded == 0);
	buddy_check();
	run_check();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_chunks_are_ready),
		cmocka_unit_test(no_more_than_there_is),
		cmocka_unit_test(nothing_where_there_is_no_memory),
		cmocka_unit_test(all_is_locked_or_nothing),
		cmocka_unit_test(nothing_is_off_without_a_start),
		cmocka_unit_test(no_page_is_faulted_in),
		cmocka_unit_test(nothing_goes_back),
		cmocka_unit_test(what_it_does_not_serve_is_counted),
		cmocka_unit_test(metadata_is_ready),
		cmocka_unit_test(words_of_all_cpus_are_there),
		cmocka_unit_test(blocks_of_other_nodes_come_before_growth),
		cmocka_unit_test(only_a_call_for_one_node_grows_it),
		cmocka_unit_test(page_runs_of_other_nodes_come_before_growth),
		cmocka_unit_test(lists_of_cpus_take_what_is_ready),
		cmocka_unit_test(page_runs_move_into_any_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
