/* SPDX-License-Identifier: MIT */
/*
 * unit/page/refault_rate_test.c - who spends half of his time on refaults keeps more
 */
#include "base/atomic.h"
#include "fake_clock.h"
#include "fake_usage.h"
#include "fixture.h"
#include "page/refaults.h"
#include "page/zone.h"

/*
 * In so many units of 16 ms the process uses as much CPU time, and purges so many pages in each
 * and takes them again, at us each.
 */
static void refault(struct buddy_zone *zone, unsigned long pages, unsigned int us,
		    unsigned int units)
{
	for (unsigned int i = 0; i < units; i++) {
		zone->purged_lately = pages;
		zone_note_clean_locked(zone, pages);
		fake_usage.cpu_us += 16000;
		fake_usage.system_us += pages * us;
		fake_usage.faults += pages;
		fake_clock_pass(16);
		zone_tick_locked(zone);
		zone_look_at_rate(zone->stats.nr_peak, zone->clock);
	}
}

static struct buddy_zone *zone_with_peak(unsigned long pages)
{
	struct buddy_zone *zone = &buddy_zones[0];

	default_arena();
	zone->stats.nr_peak = pages;
	fake_usage_work_us = 0;
	refault(zone, 0, 0, 1); /* the first look */
	fake_usage = (struct os_usage){ 0, 0, 0 };
	return zone;
}

/* As many as were too many: of 16 ms 8, in which 4000 pages are faulted in at 2 us. */
IN_CHILD(half_of_the_time_is_too_much)
{
	struct buddy_zone *zone = zone_with_peak(30000);

	refault(zone, 4000, 2, 80);
	CHILD_CHECK(zone_extra(zone) == 0);
	refault(zone, 5000, 2, 7);
	CHILD_CHECK(zone_extra(zone) == 0); /* too short */
	refault(zone, 5000, 2, 1);
	CHILD_CHECK(zone_extra(zone) == 8 * 1000);
	refault(zone, 5000, 2, 80);
	CHILD_CHECK(zone_extra(zone) == 15000);
	zone->refaults = zone->slow_refaults = 0;
	CHILD_CHECK(zone_dirty_limit(zone) == ZONE_SLACK_MIN + 15000);
	buddy_set_purge(MIB, BUDDY_PURGE_DELAY_MS); /* whoever says a limit has that */
	CHILD_CHECK(zone_dirty_limit(zone) == MIB >> PAGE_SHIFT);
}

/* What one takes is the machine's. */
IN_CHILD(what_a_fault_takes_counts)
{
	struct buddy_zone *zone = zone_with_peak(30000);

	refault(zone, 7900, 1, 80);
	CHILD_CHECK(zone_extra(zone) == 0);
	refault(zone, 2000, 5, 8);
	CHILD_CHECK(zone_extra(zone) == 8 * 400);
}

/* Of time in the system, other calls have a part: a fault does not take longer than 8 us. */
IN_CHILD(other_system_calls_do_not_count)
{
	struct buddy_zone *zone = zone_with_peak(30000);

	refault(zone, 900, 16, 80);
	CHILD_CHECK(zone_extra(zone) == 0);
	refault(zone, 1100, 14, 8);
	CHILD_CHECK(zone_extra(zone) == 8 * 100);
}

/* Huge pages: a fault brings many, and takes long. The system's time is what it can be at most. */
IN_CHILD(what_the_system_did_not_do_does_not_count)
{
	struct buddy_zone *zone = zone_with_peak(30000);

	for (unsigned int i = 0; i < 80; i++) {
		fake_usage.system_us += 7900; /* of 16 ms */
		fake_usage.faults += 20;
		zone->purged_lately = 10000;
		zone_note_clean_locked(zone, 10000);
		refault(zone, 0, 0, 1);
	}
	CHILD_CHECK(zone_extra(zone) == 0);
}

/* Without refaults nobody looks. */
IN_CHILD(few_refaults_are_not_looked_at)
{
	struct buddy_zone *zone = zone_with_peak(30000);

	fake_usage_looks = 0;
	refault(zone, 100, 100, 800);
	CHILD_CHECK(fake_usage_looks == 0 && zone_extra(zone) == 0);
}

/* What was used since the last look that was worth it is more than what the refaults took. */
IN_CHILD(time_before_counts_too)
{
	struct buddy_zone *zone = zone_with_peak(30000);

	refault(zone, 4000, 2, 8);
	refault(zone, 10, 2, 80);
	refault(zone, 5000, 2, 8);
	CHILD_CHECK(zone_extra(zone) == 0);
	refault(zone, 5000, 2, 8);
	CHILD_CHECK(zone_extra(zone) == 8 * 1000);
}

/* A child of fork() begins anew: what it has used is less than what its parent had. */
IN_CHILD(a_child_of_fork_begins_anew)
{
	struct buddy_zone *zone = zone_with_peak(30000);

	refault(zone, 4000, 2, 800);
	fake_usage = (struct os_usage){ 0, 0, 0 };
	refault(zone, 5000, 2, 8);
	CHILD_CHECK(zone_extra(zone) == 8 * 1000);
}

/* Under a filter of system calls nothing is known, and nothing more stays. */
IN_CHILD(where_nothing_is_known_nothing_stays)
{
	struct buddy_zone *zone = zone_with_peak(30000);

	fake_usage_is_known = false;
	refault(zone, 30000, 2, 80);
	CHILD_CHECK(fake_usage_looks > 0 && zone_extra(zone) == 0);
}

/* Pages that are taken and not written to have no fault. */
IN_CHILD(pages_without_a_fault_do_not_count)
{
	struct buddy_zone *zone = zone_with_peak(30000);

	for (unsigned int i = 0; i < 80; i++) {
		fake_usage.system_us += 14000; /* of 16 ms: purges */
		fake_usage.faults += 100;
		zone->purged_lately = 10000;
		zone_note_clean_locked(zone, 10000);
		refault(zone, 0, 0, 1);
	}
	CHILD_CHECK(zone_extra(zone) == 0);
}

/* It stays while they are too many, and halves every two seconds in which they are not. */
IN_CHILD(what_may_stay_goes_when_refaults_end)
{
	struct buddy_zone *zone = zone_with_peak(30000);

	refault(zone, 5000, 2, 800);
	CHILD_CHECK(zone_extra(zone) == 15000);
	refault(zone, 2000, 2, 120); /* 1.92 s */
	CHILD_CHECK(zone_extra(zone) == 15000);
	refault(zone, 2000, 2, 8);
	CHILD_CHECK(zone_extra(zone) == 7500);
	refault(zone, 0, 0, 128 * 14);
	CHILD_CHECK(zone_extra(zone) == 0);
}

/* Of large heaps 1/8 of the peak, of those in between 64 MiB. */
IN_CHILD(what_may_stay_is_bounded_by_the_peak)
{
	struct buddy_zone *zone = zone_with_peak(100000);

	refault(zone, 12000, 1, 80);
	CHILD_CHECK(zone_extra(zone) == 64 * MIB >> PAGE_SHIFT);
	zone->stats.nr_peak = 8000; /* another zone, say */
	CHILD_CHECK(zone_extra(zone) == 4000);
	zone->stats.nr_peak = 1000000;
	refault(zone, 12000, 1, 800);
	CHILD_CHECK(zone_extra(zone) == 125000);
}

/* Page runs and kept mappings count as well. */
IN_CHILD(refaults_of_runs_and_mappings_count)
{
	struct buddy_zone *zone = zone_with_peak(30000);
	void *p;

	CHILD_CHECK(run_alloc(MIB, 0, -1, NULL) && refaults_now == 0); /* a new chunk */
	zone->fit_purged = 4000;
	CHILD_CHECK(run_alloc(MIB, 0, -1, NULL) && refaults_now == MIB >> PAGE_SHIFT);
	p = large_alloc(40 * MIB, 0, NULL); /* too large to be kept: purged, and taken again */
	CHILD_CHECK(p && large_free(p));
	p = large_alloc(8 * MIB, 0, NULL);
	CHILD_CHECK(p && refaults_now == 9 * MIB >> PAGE_SHIFT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(half_of_the_time_is_too_much),
		cmocka_unit_test(what_a_fault_takes_counts),
		cmocka_unit_test(other_system_calls_do_not_count),
		cmocka_unit_test(what_the_system_did_not_do_does_not_count),
		cmocka_unit_test(few_refaults_are_not_looked_at),
		cmocka_unit_test(time_before_counts_too),
		cmocka_unit_test(a_child_of_fork_begins_anew),
		cmocka_unit_test(where_nothing_is_known_nothing_stays),
		cmocka_unit_test(pages_without_a_fault_do_not_count),
		cmocka_unit_test(what_may_stay_goes_when_refaults_end),
		cmocka_unit_test(what_may_stay_is_bounded_by_the_peak),
		cmocka_unit_test(refaults_of_runs_and_mappings_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
