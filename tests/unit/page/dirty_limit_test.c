/* SPDX-License-Identifier: MIT */
/*
 * unit/page/dirty_limit_test.c - how much may stay, and that frees which do not work it out leave
 * no more
 */
#include <sys/prctl.h>

#include "base/atomic.h"
#include "fake_clock.h"
#include "fake_usage.h"
#include "fixture.h"
#include "page/zone.h"

/* At the peak, with refaults: as many, up to a 32nd of what slabs have and 1 MiB. */
IN_CHILD(refaults_keep_a_little_beyond_the_peak)
{
	struct buddy_zone *zone = &buddy_zones[0];

	default_arena();
	for (unsigned int i = 0; i < 8; i++)
		CHILD_CHECK(take(10) >= 0);
	zone->stats.nr_peak = 8 * CHUNK;
	CHILD_CHECK(zone_dirty_limit(zone) == CHUNK / 4);
	zone->refaults = 10;
	CHILD_CHECK(zone_dirty_limit(zone) == CHUNK / 4 + 10);
	zone->refaults = 100 * CHUNK;
	CHILD_CHECK(zone_dirty_limit(zone) == CHUNK / 4 + CHUNK / 4 + ZONE_SLAB_GAPS);
	/* Page runs have gaps of their own. */
	CHILD_CHECK(run_alloc(CHUNK * PAGE_SIZE, PAGE_SIZE, 0, NULL));
	zone->stats.nr_peak = 9 * CHUNK;
	CHILD_CHECK(zone_dirty_limit(zone) == 9 * CHUNK / 32 + CHUNK / 4 + ZONE_SLAB_GAPS);
}

/* A small heap that had some: a quarter of its peak; and a purge takes what is too much only. */
IN_CHILD(refaults_keep_more_of_a_small_heap)
{
	struct buddy_zone *zone = &buddy_zones[0];
	unsigned long block;

	default_arena();
	block = take_touched(9);
	zone->stats.nr_peak = 512;
	zone->refaults = 1000;
	CHILD_CHECK(zone_dirty_limit(zone) == ZONE_SLACK_MIN + 512 / 32 + 512 / 4);
	zone->refaults = 300;
	give(block, 9);
	CHILD_CHECK(zone_dirty_limit(zone) == ZONE_SLACK_MIN + 300);
	CHILD_CHECK(stats()->nr_dirty == (ZONE_SLACK_MIN + 300) * 3 / 4);
	buddy_check();
}

/* So many idle pages, below the limit, that the next free need not work it out. */
static struct buddy_zone *zone_that_waits(unsigned long block[8])
{
	struct buddy_zone *zone = &buddy_zones[0];

	default_arena();
	for (unsigned int i = 0; i < 8; i++)
		block[i] = take_touched(6);
	zone->stats.nr_peak = 4 * CHUNK;
	zone->refaults = 400;
	give(block[0], 6);
	give(block[1], 6);
	CHILD_CHECK(zone->may_wait > zone_idle(zone));
	return zone;
}

/* Half of the way to the limit is not looked at again before the clock goes on. */
IN_CHILD(a_limit_holds_for_a_unit_of_the_clock)
{
	unsigned long block[8];
	struct buddy_zone *zone = zone_that_waits(block);

	CHILD_CHECK(stats()->nr_dirty == 128 && zone->may_wait > 128 + 64);
	zone->refaults = 0; /* the limit is ZONE_SLACK_MIN now, and nobody looks */
	give(block[2], 6);
	CHILD_CHECK(stats()->nr_dirty == 192);
	fake_clock_pass(16);
	give(block[3], 6);
	CHILD_CHECK(stats()->nr_dirty <= ZONE_SLACK_MIN && zone->may_wait == 0);
	buddy_check();
}

IN_CHILD(what_lowers_the_limit_is_seen_at_once)
{
	unsigned long block[8];
	struct buddy_zone *zone = zone_that_waits(block);

	buddy_rebalance(); /* as before a mapping goes */
	CHILD_CHECK(zone->may_wait == 0);
	give(block[2], 6);
	CHILD_CHECK(zone->may_wait);
	take_touched(8); /* clean pages */
	CHILD_CHECK(zone->may_wait == 0);
	give(block[3], 6);
	CHILD_CHECK(zone->may_wait);
	CHILD_CHECK(buddy_claim_range(page_at(CHUNK - 64), 64, NULL)); /* likewise */
	CHILD_CHECK(zone->may_wait == 0);
	give(block[4], 6);
	CHILD_CHECK(zone->may_wait);
	buddy_set_purge(0, BUDDY_PURGE_DELAY_MS);
	give(block[5], 6);
	CHILD_CHECK(stats()->nr_dirty == 0);
	buddy_check();
}

/* Old blocks are looked for whatever may wait: without a delay at each free. */
IN_CHILD(without_a_delay_nothing_waits)
{
	unsigned long block[8];
	unsigned long large[4];
	struct buddy_zone *zone = zone_that_waits(block);

	for (unsigned int i = 0; i < 4; i++)
		large[i] = take_touched(7);
	buddy_set_purge(SIZE_MAX, 0);
	for (unsigned int i = 0; i < 4; i++) {
		give(large[i], 7);
		CHILD_CHECK(stats()->nr_dirty == 0 && zone->may_wait == 0);
	}
	buddy_check();
}

/* Blocks of all sizes, in any order: what waits is never more than the limit. */
IN_CHILD(never_more_than_the_limit_waits)
{
	struct buddy_zone *zone = &buddy_zones[0];
	static unsigned long block[1024];
	static unsigned char order[1024];
	unsigned long waited = 0;
	uint64_t seed = 1;

	if (os_page_size() > PAGE_SIZE) /* smaller blocks cannot be purged */
		return;
	default_arena();
	for (unsigned int i = rounds(20000); i > 0; i--) {
		unsigned int at;

		seed = seed * 6364136223846793005ul + 1442695040888963407ul;
		at = seed >> 54;
		if (block[at]) {
			give(block[at] - 1, order[at]);
			block[at] = 0;
			CHILD_CHECK(zone_idle(zone) <= zone_dirty_limit(zone));
			waited += zone_idle(zone) > zone_lasting_limit(zone);
		} else {
			order[at] = (unsigned char)((seed >> 50 & 127) * (seed >> 43 & 127) >> 11);
			block[at] = take_touched(order[at]) + 1;
		}
		if (i % 512 == 0)
			fake_clock_pass(16);
	}
	CHILD_CHECK(waited > rounds(20000) / 10); /* else there was nothing to see */
	buddy_check();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refaults_keep_a_little_beyond_the_peak),
		cmocka_unit_test(refaults_keep_more_of_a_small_heap),
		cmocka_unit_test(a_limit_holds_for_a_unit_of_the_clock),
		cmocka_unit_test(what_lowers_the_limit_is_seen_at_once),
		cmocka_unit_test(without_a_delay_nothing_waits),
		cmocka_unit_test(never_more_than_the_limit_waits),
	};

	/* Above 64 MiB there may be huge pages: with those, how much is resident is luck. */
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
