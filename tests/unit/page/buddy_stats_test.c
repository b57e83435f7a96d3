/* SPDX-License-Identifier: MIT */
/*
 * unit/page/buddy_stats_test.c - pages in use and free, of one node and of all
 */
#include "fixture.h"
#include "page/pcp.h"
#include "page/pcp_runs.h"
#include "page/zone.h"

static void two_nodes(void)
{
	CHILD_CHECK(os_topology_set(4, 2) == 0);
	CHILD_CHECK(arena_init(os_topology.nr_windows) == 0);
	buddy_init(2);
	buddy_set_purge(SIZE_MAX >> 1, 1u << 30);
	os_act_as_cpu(0);
}

/* Of all nodes together; a mapping belongs to none and counts once. */
IN_CHILD(used_pages_of_all_nodes)
{
	struct page *page;
	void *p;

	two_nodes();
	CHILD_CHECK(buddy_used() == 0);
	page = buddy_alloc(0, 3, true, NULL);
	CHILD_CHECK(page && buddy_alloc(1, 4, true, NULL) && buddy_used() == 8 + 16);
	p = large_alloc(32 * MIB, 0, NULL);
	CHILD_CHECK(p && buddy_used() == 8 + 16 + (32 * MIB >> PAGE_SHIFT));
	CHILD_CHECK(large_free(p) && buddy_used() == 8 + 16);
	buddy_free(page, 3, false);
	CHILD_CHECK(buddy_used() == 16);
}

/* While a block is purged it is on no list, and not in use. */
IN_CHILD(a_block_that_is_being_purged_is_not_used)
{
	struct buddy_zone *zone = &buddy_zones[0];
	struct page *block;

	fresh_arena();
	give((unsigned long)take(BUDDY_MAX_ORDER), BUDDY_MAX_ORDER);
	block = page_at(0);
	lock_acquire(&zone->lock);
	zone_take_block_locked(zone, block);
	zone->nr_purging = CHUNK;
	lock_release(&zone->lock);
	CHILD_CHECK(buddy_used() == 0);
	lock_acquire(&zone->lock);
	zone->nr_purging = 0;
	zone_free_locked(zone, block, BUDDY_MAX_ORDER, CHUNK);
	lock_release(&zone->lock);
	CHILD_CHECK(buddy_used() == 0);
	buddy_check();
}

/* What a CPU keeps is free and resident, on lists or as page runs. */
IN_CHILD(what_cpus_keep_is_free)
{
	struct buddy_stats stats;
	struct page *page;

	two_nodes();
	CHILD_CHECK(pcp_init());
	page = pcp_alloc(0, 2, PCP_UNMOVABLE, true);
	pcp_free(page, 2, PCP_UNMOVABLE);
	for (unsigned int i = 0; i < 3; i++)
		CHILD_CHECK(run_free(run_alloc(20 * PAGE_SIZE, 0, -1, NULL)));
	CHILD_CHECK(pcp_runs_stats(0).pages == 20 && pcp_stats(0).nr_dirty == 4);
	buddy_stats(0, &stats);
	CHILD_CHECK(stats.nr_free == stats.nr_total && stats.nr_dirty == 20 + 4);
	pcp_drain();
	pcp_runs_drain();
	buddy_stats(0, &stats);
	CHILD_CHECK(stats.nr_free == stats.nr_total && stats.nr_dirty == 20 + 4);
	CHILD_CHECK(buddy_used() == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(used_pages_of_all_nodes),
		cmocka_unit_test(a_block_that_is_being_purged_is_not_used),
		cmocka_unit_test(what_cpus_keep_is_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
