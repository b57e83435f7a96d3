/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/clock_test.c - the clock runs forward, at the rate it says, and knows its own cost
 */
#include "clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct clock_info info;

static int calibrate(void **state)
{
	(void)state;
	clock_calibrate(&info);
	return 0;
}

static void calibration_is_plausible(void **state)
{
	(void)state;
	assert_true(!strcmp(info.source, "tsc") || !strcmp(info.source, "clock_gettime"));
	assert_true(info.resolution >= 1);
	assert_true(info.ns_per_tick > 0.01 && info.ns_per_tick <= 1000.0);
	assert_true(info.overhead >= 0.0);
	assert_true(info.overhead * info.ns_per_tick < 100000.0);
}

static void never_backwards(void **state)
{
	uint64_t last = clock_start();

	(void)state;
	for (int i = 0; i < 10000; i++) {
		uint64_t end = clock_end();
		uint64_t start = clock_start();

		assert_true(end >= last && start >= end);
		last = start;
	}
}

/* 20 ms of the system's clock are about 20 ms of ticks; the thread may lose the CPU in between. */
static void rate(void **state)
{
	double best = 1e9;

	(void)state;
	for (int i = 0; i < 5; i++) {
		uint64_t ns = clock_ns();
		uint64_t ticks = clock_start();
		uint64_t elapsed;
		double error;

		do
			elapsed = clock_ns() - ns;
		while (elapsed < 20000000);
		error = (double)(clock_end() - ticks) * info.ns_per_tick / (double)elapsed - 1.0;
		error = error < 0 ? -error : error;
		best = error < best ? error : best;
	}
	if (best > 0.02)
		fail_msg("the rate is off by %f", best);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calibration_is_plausible),
		cmocka_unit_test(never_backwards),
		cmocka_unit_test(rate),
	};

	return cmocka_run_group_tests(tests, calibrate, NULL);
}
