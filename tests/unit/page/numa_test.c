/* SPDX-License-Identifier: MIT */
/*
 * unit/page/numa_test.c - counts of where pages were wanted and found; nodes that are full
 */
#include "page/numa.h"
#include "fixture.h"
#include "machine.h"

static void count(unsigned int wanted, unsigned int found, bool interleaved)
{
	const struct os_place place = { .first = wanted, .interleaved = interleaved };
	const struct page page = { .node = (uint8_t)found };

	numa_count(&place, &page, 4);
}

IN_CHILD(test_counts)
{
	machine_init(8, 4);
	os_act_as_cpu(2); /* node 1 */
	count(1, 1, false);
	count(1, 3, false);
	count(2, 2, true);
	count(2, 1, true);
	CHILD_CHECK(numa_counters[1].hit == 4 && numa_counters[1].miss == 4);
	CHILD_CHECK(numa_counters[1].foreign == 4 && numa_counters[1].interleave_hit == 0);
	CHILD_CHECK(numa_counters[1].local == 8 && numa_counters[1].other == 0);
	CHILD_CHECK(numa_counters[2].hit == 4 && numa_counters[2].interleave_hit == 4);
	CHILD_CHECK(numa_counters[2].foreign == 4 && numa_counters[2].other == 4);
	CHILD_CHECK(numa_counters[3].miss == 4 && numa_counters[3].other == 4);
	numa_count_remote_frees(3, 7);
	CHILD_CHECK(numa_counters[3].remote_frees == 7);
}

IN_CHILD(test_one_node_counts_nothing)
{
	machine_init(4, 1);
	count(0, 0, false);
	CHILD_CHECK(!numa_counters[0].hit && !numa_counters[0].local);
}

/* A node has so much and no more; then the nearest one gives, and grows for that. */
IN_CHILD(test_limit)
{
	unsigned int found[4] = { 0 };

	machine_init(8, 4);
	numa_node_pages = 2 * CHUNK;
	for (unsigned int i = 0; i < 3; i++) {
		struct page *page = buddy_alloc(3, BUDDY_MAX_ORDER, false, NULL);

		CHILD_CHECK(page);
		found[page->node]++;
	}
	CHILD_CHECK(found[3] == 2 && found[2] == 1);
	CHILD_CHECK(!buddy_alloc(3, BUDDY_MAX_ORDER, true, NULL));
	for (unsigned int i = 0; i < 5; i++)
		CHILD_CHECK(buddy_alloc(3, BUDDY_MAX_ORDER, false, NULL));
	CHILD_CHECK(!buddy_alloc(3, 0, false, NULL)); /* all nodes are full */
	CHILD_CHECK(!buddy_alloc(0, 0, false, NULL));
	numa_node_pages = 0;
	CHILD_CHECK(buddy_alloc(0, 0, true, NULL));
	buddy_check();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_one_node_counts_nothing),
		cmocka_unit_test(test_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
