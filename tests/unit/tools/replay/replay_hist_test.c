/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/replay/replay_hist_test.c - buckets without gaps, quantiles against a sorted array
 */
#include "replay/replay_hist.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NR_VALUES 20001u

static struct hist h;

static int reset(void **state)
{
	(void)state;
	memset(&h, 0, sizeof(h));
	return 0;
}

static void buckets_are_in_order_without_gaps(void **state)
{
	unsigned int last = 0;

	(void)state;
	for (uint64_t value = 0; value < 100000; value++) {
		unsigned int bucket = hist_bucket(value);

		assert_true(bucket == last || bucket == last + 1);
		last = bucket;
	}
	for (unsigned int shift = 7; shift < 64; shift++) {
		uint64_t power = 1ull << shift;

		assert_int_equal(hist_bucket(power), hist_bucket(power - 1) + 1);
		assert_int_equal(hist_bucket(power), hist_bucket(power + (power >> 7)));
		assert_int_equal(hist_bucket(power) + 1, hist_bucket(power + (power >> 6)));
	}
	assert_int_equal(hist_bucket(0), 0);
	assert_int_equal(hist_bucket(UINT64_MAX), HIST_BUCKETS - 1);
}

static void empty(void **state)
{
	(void)state;
	assert_true(hist_quantile(&h, 500, 1) == 0.0);
	assert_true(hist_quantile(&h, 1000, 1) == 0.0);
}

static void one_value(void **state)
{
	(void)state;
	hist_add(&h, 1000003);
	assert_true(hist_quantile(&h, 1000, 1) == 1000003.0);
	assert_true(fabs(hist_quantile(&h, 500, 1) - 1000003.0) < 1000003.0 / 64);
	assert_true(hist_quantile(&h, 999, 1) <= 1000003.0);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void quantiles_of_random_values(void **state)
{
	static uint64_t value[NR_VALUES];
	static const unsigned int wanted[] = { 1, 10, 250, 500, 900, 990, 999 };

	(void)state;
	srandom(7);
	for (unsigned int i = 0; i < NR_VALUES; i++) {
		value[i] = (uint64_t)random() >> (random() % 28);
		hist_add(&h, value[i]);
	}
	qsort(value, NR_VALUES, sizeof(value[0]), compare);
	assert_int_equal(h.count, NR_VALUES);
	assert_int_equal(h.max, value[NR_VALUES - 1]);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		double exact = (double)value[NR_VALUES * wanted[i] / 1000];
		double got = hist_quantile(&h, wanted[i], 1);

		if (fabs(got - exact) > exact / 32 + 1.0)
			fail_msg("p%u: %f, exactly %f", wanted[i], got, exact);
	}
	assert_true(hist_quantile(&h, 1000, 1) == (double)h.max);
}

/*
 * A clock of steps of 26 ticks shows a duration of 65 as 52 or 78, each half of the time: the
 * median is found between them all the same.
 */
static void coarse_clock(void **state)
{
	double got;

	(void)state;
	for (int i = 0; i < 1000; i++)
		hist_add(&h, i % 2 ? 52 : 78);
	got = hist_quantile(&h, 500, 26);
	assert_true(fabs(got - 65.0) < 1.0);
	for (int i = 0; i < 3000; i++)
		hist_add(&h, 52);
	got = hist_quantile(&h, 500, 26);
	assert_true(got > 52.0 && got < 58.0);
	assert_true(hist_quantile(&h, 999, 26) <= 78.0);
}

static void sums(void **state)
{
	static struct hist more;

	(void)state;
	for (uint64_t i = 1; i <= 1000; i++)
		hist_add(i % 2 ? &h : &more, i);
	assert_int_equal(h.sum, 250000);
	hist_merge(&h, &more);
	assert_int_equal(h.count, 1000);
	assert_int_equal(h.sum, 500500);
	assert_int_equal(h.max, 1000);
	assert_int_equal(h.bucket[hist_bucket(10)], 1);
	assert_int_equal(h.bucket[hist_bucket(11)], 1);
	for (unsigned int bucket = 0; bucket < HIST_BUCKETS; bucket++)
		assert_int_equal(hist_bucket(hist_bucket_start(bucket)), bucket);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(buckets_are_in_order_without_gaps, reset),
		cmocka_unit_test_setup(empty, reset),
		cmocka_unit_test_setup(one_value, reset),
		cmocka_unit_test_setup(quantiles_of_random_values, reset),
		cmocka_unit_test_setup(coarse_clock, reset),
		cmocka_unit_test_setup(sums, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
