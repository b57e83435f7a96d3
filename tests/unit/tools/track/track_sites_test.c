/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/track/track_sites_test.c - tracked objects grouped by caller, stack and waste
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "track/track_sites.h"
#include "unit/inspect/fake_slabs.h"

static struct track_sites sites;

static struct track_record object(uint64_t addr, uint32_t handle, uint32_t waste, uint64_t when)
{
	return (struct track_record){
		.size = 100 - waste,
		.waste = waste,
		.alloc = { .addr = addr, .handle = handle, .when = when, .pid = 10, .cpu = 1 },
		.free = { .addr = addr + 1, .handle = handle, .when = when },
	};
}

static void test_groups(void **state)
{
	struct track_record a = object(0x10, 1, 0, 900), b = object(0x10, 1, 40, 400),
			    c = object(0x10, 2, 0, 100), d = object(0x20, 1, 0, 2000);

	(void)state;
	track_sites_open(&sites, false);
	b.node = 3;
	b.alloc.cpu = 65;
	b.alloc.pid = 12;
	for (int i = 0; i < 2; i++)
		track_sites_add(&sites, &a, TRACK_ALLOC, 1000);
	track_sites_add(&sites, &c, TRACK_ALLOC, 1000);
	track_sites_add(&sites, &d, TRACK_ALLOC, 1000);
	track_sites_add(&sites, &b, TRACK_ALLOC, 1000);
	track_sites_sort(&sites);
	assert_int_equal(sites.nr, 3);
	assert_int_equal(sites.count, 5);
	assert_int_equal(sites.site[0].caller, 0x10);
	assert_int_equal(sites.site[0].handle, 1);
	assert_int_equal(sites.site[0].count, 3);
	assert_int_equal(sites.site[0].bytes, 260);
	assert_int_equal(sites.site[0].waste, 0);
	assert_int_equal(sites.site[0].age_min, 100);
	assert_int_equal(sites.site[0].age_max, 600);
	assert_int_equal(sites.site[0].age_sum, 800);
	assert_int_equal(sites.site[0].pid_min, 10);
	assert_int_equal(sites.site[0].pid_max, 12);
	assert_int_equal(sites.site[0].nodes, 1 | 1 << 3);
	assert_int_equal(sites.site[0].cpus[0], 2);
	assert_int_equal(sites.site[0].cpus[1], 2);
	assert_int_equal(sites.site[1].handle, 2);
	/* of a clock that went on since it was read */
	assert_int_equal(sites.site[2].age_max, 0);
	track_sites_close(&sites);
}

static void test_keys(void **state)
{
	struct track_record a = object(0x10, 1, 0, 900), b = object(0x10, 1, 40, 400),
			    c = object(0x10, 2, 0, 100), d = object(0x10, 1, 0, 99);

	(void)state;
	track_sites_open(&sites, true);
	track_sites_add(&sites, &a, TRACK_FREE, 1000);
	track_sites_add(&sites, &b, TRACK_FREE, 1000);
	track_sites_add(&sites, &c, TRACK_FREE, 1000);
	assert_int_equal(sites.nr, 3);
	assert_int_equal(sites.site[1].waste, 40);
	assert_int_equal(sites.site[0].caller, 0x11);
	track_sites_close(&sites);

	track_sites_open(&sites, false);
	sites.by_caller = true;
	sites.old_age = 500;
	sites.since = 100;
	track_sites_add(&sites, &a, TRACK_ALLOC, 1000);
	track_sites_add(&sites, &b, TRACK_ALLOC, 1000);
	track_sites_add(&sites, &c, TRACK_ALLOC, 1000);
	track_sites_add(&sites, &d, TRACK_ALLOC, 1000);
	assert_int_equal(sites.nr, 1);
	assert_int_equal(sites.site[0].count, 3);
	assert_true(sites.site[0].old.sum == 2);
	assert_true(sites.site[0].old_bytes.sum == 160);
	track_sites_close(&sites);
}

/* More than fit: a process that makes up a caller for each object. */
static void test_too_many(void **state)
{
	(void)state;
	track_sites_open(&sites, false);
	for (uint64_t i = 0; i < TRACK_SITES_MAX + 100; i++) {
		struct track_record r = object(i * 16, 1, 0, 0);

		track_sites_add(&sites, &r, TRACK_ALLOC, 1000);
	}
	assert_int_equal(sites.nr, TRACK_SITES_MAX);
	assert_int_equal(sites.lost, 100);
	assert_int_equal(sites.count, TRACK_SITES_MAX);
	track_sites_close(&sites);
}

static void test_collect(void **state)
{
	struct snapshot *s = calloc(1, sizeof(*s));
	struct fake_process f;
	long n;

	(void)state;
	assert_non_null(s);
	fake_init(&f);
	fake_cache(&f, 192, "a", 64, 8);
	fake_debug(&f, 192, SLAB_STORE_USER, false);
	fake_debug_slab(&f, 1, 192);
	fake_track(&f, 1, 192, 1)->addr = 0x77;
	assert_int_equal(snapshot_take(s, &f.reader, FAKE_ROOT), 0);
	track_sites_open(&sites, false);
	n = track_sites_collect(&sites, s, 0, TRACK_ALLOC);
	assert_true(n > 2);
	track_sites_sort(&sites);
	assert_int_equal(sites.nr, 2);
	assert_int_equal(sites.site[0].caller, 0); /* nobody knows */
	assert_int_equal(sites.site[0].count, n - 1);
	assert_int_equal(sites.site[1].caller, 0x77);
	track_sites_close(&sites);
	fake_exit(&f);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_collect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
