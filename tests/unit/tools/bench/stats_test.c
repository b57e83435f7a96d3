/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/tools/bench/stats_test.c - medians, quartiles and ratios on values worked out by hand
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "bench/stats.h"

#define assert_near(a, b) assert_true(fabs((a) - (b)) < 1e-9)

static void test_none_and_one(void **state)
{
	const double one[] = { 4.5 };
	struct stats s;

	(void)state;
	stats_of(&s, NULL, 0);
	assert_int_equal(s.n, 0);
	assert_near(s.median, 0);
	assert_near(s.spread, 0);
	stats_of(&s, one, 1);
	assert_int_equal(s.n, 1);
	assert_near(s.median, 4.5);
	assert_near(s.min, 4.5);
	assert_near(s.max, 4.5);
	assert_near(s.q1, 4.5);
	assert_near(s.q3, 4.5);
	assert_near(s.spread, 0);
}

static void test_odd(void **state)
{
	const double values[] = { 9, 1, 7, 3, 5 };
	struct stats s;

	(void)state;
	stats_of(&s, values, 5);
	assert_near(s.median, 5);
	assert_near(s.min, 1);
	assert_near(s.max, 9);
	assert_near(s.q1, 3);
	assert_near(s.q3, 7);
	assert_near(s.spread, 4.0 / 5);
	assert_near(values[0], 9); /* the caller's order stays */
	assert_near(values[4], 5);
}

static void test_even(void **state)
{
	const double values[] = { 4, 1, 3, 2 };
	struct stats s;

	(void)state;
	stats_of(&s, values, 4);
	assert_near(s.median, 2.5);
	assert_near(s.q1, 1.75);
	assert_near(s.q3, 3.25);
	assert_near(s.spread, 1.5 / 2.5);
}

/* One round that was disturbed moves the maximum, not the median nor the spread. */
static void test_outlier(void **state)
{
	const double calm[] = { 10, 11, 10, 11, 10, 11, 10, 11, 10 };
	const double disturbed[] = { 10, 11, 10, 11, 10, 11, 10, 11, 1000 };
	struct stats a, b;

	(void)state;
	stats_of(&a, calm, 9);
	stats_of(&b, disturbed, 9);
	assert_near(a.median, 10);
	assert_near(b.median, 11);
	assert_near(b.max, 1000);
	assert_near(b.q3, 11);
	assert_true(b.spread < 0.11);
}

static void test_ratio(void **state)
{
	(void)state;
	assert_near(stats_ratio(1, 4), 0.25);
	assert_near(stats_ratio(0, 4), 0);
	assert_true(stats_ratio(1, 0) < 0);
	assert_true(stats_ratio(1, -1) < 0);
	assert_true(stats_ratio(-1, 2) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none_and_one), cmocka_unit_test(test_odd),
		cmocka_unit_test(test_even),	     cmocka_unit_test(test_outlier),
		cmocka_unit_test(test_ratio),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
