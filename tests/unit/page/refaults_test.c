/* SPDX-License-Identifier: MIT */
/*
 * unit/page/refaults_test.c - what was purged and taken again is kept, for as long as that lasts
 */
#include <sys/prctl.h>

#include "base/atomic.h"
#include "fake_clock.h"
#include "fake_usage.h"
#include "fixture.h"
#include "page/zone.h"

/* 32 MiB that are used, freed, and used again after a pause. Returns pages purged in all. */
static unsigned long purged_in_turns(unsigned int turns, unsigned int pause_ms)
{
	unsigned long before = stats()->nr_purged;
	unsigned long block[64];

	for (unsigned int turn = 0; turn < turns; turn++) {
		for (unsigned int i = 0; i < 64; i++)
			block[i] = take_touched(7);
		for (unsigned int i = 0; i < 64; i++)
			give(block[i], 7);
		fake_clock_pass(pause_ms);
	}
	return stats()->nr_purged - before;
}

/* Who comes back within the delay keeps what he has at his peak, after the first two turns. */
IN_CHILD(pauses_do_not_let_refaults_fade)
{
	default_arena();
	CHILD_CHECK(purged_in_turns(2, 500) >= 64 * 128 - 2 * ZONE_SLACK_MIN);
	CHILD_CHECK(purged_in_turns(10, 500) <= 10 * 64 * 128 / 8);
	CHILD_CHECK(zone_dirty_limit(&buddy_zones[0]) >= 64 * 128);
	/* he who stays at his peak, or does not come back, has it no longer */
	fake_clock_pass(1000);
	for (unsigned int i = 0; i < 4; i++) { /* four searches within a delay */
		fake_clock_pass(250);
		buddy_rebalance();
	}
	CHILD_CHECK(stats()->nr_dirty == 0);
	fake_clock_pass(60000);
	buddy_rebalance();
	CHILD_CHECK(zone_dirty_limit(&buddy_zones[0]) == ZONE_SLACK_MIN);
	buddy_check();
}

/* A program may sleep after its last turn, and then nobody takes what waits: so it is bounded. */
IN_CHILD(who_comes_back_keeps_no_more_than_32_mib)
{
	struct buddy_zone *zone = &buddy_zones[0];

	default_arena();
	zone->stats.nr_peak = 100 * CHUNK;
	zone->slow_refaults = 100 * CHUNK;
	CHILD_CHECK(zone_dirty_limit(zone) == 32 * MIB >> PAGE_SHIFT);
}

/* To stay near the peak is not to come back to it. */
IN_CHILD(refaults_fade_at_the_peak_too)
{
	unsigned long block;

	default_arena();
	take_touched(BUDDY_MAX_ORDER);
	block = take_touched(4);
	buddy_zones[0].slow_refaults = 1000;
	for (unsigned int i = 0; i < 40; i++) {
		give(block, 4);
		block = take_touched(4);
		fake_clock_pass(1000);
		buddy_rebalance();
	}
	CHILD_CHECK(buddy_zones[0].slow_refaults == 0);
}

/* Refaults are forgotten after some half-lives. */
IN_CHILD(refaults_fade)
{
	unsigned long block[64];
	unsigned int i;

	default_arena();
	buddy_zones[0].stats.nr_peak = 64 * 32;
	buddy_zones[0].refaults = 64 * 32;
	zone_half_life = 1;
	for (i = 0; i < 64; i++)
		block[i] = take_touched(5);
	fake_clock_pass(400); /* 25 half-lives */
	for (i = 0; i < 64; i++)
		give(block[i], 5);
	CHILD_CHECK(buddy_zones[0].refaults == 0);
	CHILD_CHECK(stats()->nr_dirty <= ZONE_SLACK_MIN);
	buddy_check();
}

/* Many pages take longer to be purged and faulted in: half go after 2 us a page more, or 384 ms. */
IN_CHILD(refaults_of_large_heaps_fade_later)
{
	struct buddy_zone *zone = &buddy_zones[0];

	default_arena();
	for (unsigned long pages = 1000; pages < 1000000; pages = pages * 3 / 2) {
		unsigned int units = 4 + (unsigned int)MIN(pages / 8192, 24ul); /* of 16 ms */

		zone->stats.nr_peak = pages;
		zone->refaults = pages;
		zone->halved = zone->clock;
		fake_clock_pass(16 * (units - 1));
		zone_tick_locked(zone);
		CHILD_CHECK(zone->refaults == pages);
		fake_clock_pass(16);
		zone_tick_locked(zone);
		CHILD_CHECK(zone->refaults == pages / 2);
	}
	/* an old peak is none */
	zone->refaults = 1000;
	fake_clock_pass(64);
	zone_tick_locked(zone);
	CHILD_CHECK(zone->refaults == 500);
}

/* Who falls and comes back to his peak within a half-life has them as before. */
IN_CHILD(who_comes_back_soon_keeps_refaults)
{
	struct buddy_zone *zone = &buddy_zones[0];

	default_arena();
	zone->refaults = 1000;
	zone->fit_refaults = 1000;
	zone->fit_used = zone->clock;
	for (unsigned int turn = 0; turn < 100; turn++) {
		unsigned long block[4];

		for (unsigned int i = 0; i < 4; i++)
			block[i] = take_touched(9);
		fake_clock_pass(16);
		for (unsigned int i = 0; i < 4; i++)
			give(block[i], 9);
		fake_clock_pass(16);
		zone_tick_locked(zone);
	}
	CHILD_CHECK(zone->refaults >= 1000);
	CHILD_CHECK(zone->fit_refaults < 100); /* the others fade as they did */
	fake_clock_pass(2000);
	zone_tick_locked(zone);
	CHILD_CHECK(zone->refaults == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pauses_do_not_let_refaults_fade),
		cmocka_unit_test(who_comes_back_keeps_no_more_than_32_mib),
		cmocka_unit_test(refaults_fade_at_the_peak_too),
		cmocka_unit_test(refaults_fade),
		cmocka_unit_test(refaults_of_large_heaps_fade_later),
		cmocka_unit_test(who_comes_back_soon_keeps_refaults),
	};

	/* Above 64 MiB there may be huge pages: with those, how much is resident is luck. */
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
