/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/track/estimate_test.c - sums of weights against what is known of them, and how often
 * intervals hold the truth
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "inspect/mix.h"
#include "track/estimate.h"

#define TRIALS 4000

static uint64_t state = 42; /* fixed: the same numbers in every run */

static double uniform(void)
{
	return (double)(mix_bits(state += MIX_GOLDEN) >> 11) / 9007199254740992.0;
}

/* Of nr things each is seen with probability p. */
static struct estimate_sum look(unsigned int nr, double p)
{
	struct estimate_sum sum = { 0, 0, 0 };

	for (unsigned int i = 0; i < nr; i++)
		if (uniform() < p)
			estimate_add(&sum, 1, 1 / p);
	return sum;
}

static bool holds(struct estimate e, double truth)
{
	return e.low <= truth * (1 + 1e-9) && truth * (1 - 1e-9) <= e.high;
}

static void test_exact(void **unused)
{
	struct estimate_sum sum = { 0, 0, 0 }, all;
	struct estimate e;

	(void)unused;
	for (int i = 0; i < 10; i++)
		estimate_add(&sum, 64, 1);
	e = estimate_of(&sum, 64);
	assert_true(e.value == 640 && e.low == 640 && e.high == 640);
	assert_false(estimate_is_vague(&e));
	all = sum;
	estimate_merge(&all, &sum);
	e = estimate_share(&sum, &all, 0);
	assert_true(fabs(e.value - 0.5) < 1e-12 && fabs(e.low - 0.5) < 1e-12 &&
		    fabs(e.high - 0.5) < 1e-12);
	e = estimate_share(&sum, &sum, 0);
	assert_true(e.value == 1 && e.low == 1 && e.high == 1);
}

static void test_nothing(void **unused)
{
	const struct estimate_sum none = { 0, 0, 0 };
	struct estimate e = estimate_of(&none, 100);

	(void)unused;
	assert_true(e.value == 0 && e.low == 0 && e.high > 360 && e.high < 380);
	assert_true(estimate_is_vague(&e));
	e = estimate_of(&none, 0);
	assert_true(e.high == 0);
	assert_false(estimate_is_vague(&e));
	e = estimate_share(&none, &none, 1);
	assert_true(e.value == 0 && e.low == 0 && e.high == 0);
}

/* The exact interval of a Poisson count: 10 has 4.795 to 18.390, 1 has 0.0253 to 5.5716. */
static void test_poisson(void **unused)
{
	struct estimate_sum sum = { 0, 0, 0 };
	struct estimate e;

	(void)unused;
	estimate_add(&sum, 1, 1e6);
	e = estimate_times(estimate_of(&sum, 1e6), 1e-6);
	assert_true(e.low < 0.03 && e.high > 5.4 && e.high < 5.7);
	assert_true(estimate_is_vague(&e));
	for (int i = 1; i < 10; i++)
		estimate_add(&sum, 1, 1e6);
	e = estimate_times(estimate_of(&sum, 1e6), 1e-6);
	assert_true(fabs(e.low - 4.795) < 0.05 && fabs(e.high - 18.39) < 0.05);
	assert_false(estimate_is_vague(&e));
}

/* Few and many, seldom and often seen: 95 of 100 hold the truth, or more. */
static void test_coverage(void **unused)
{
	static const struct {
		unsigned int nr;
		double p;
	} cases[] = { { 3, 0.5 }, { 20, 0.1 }, { 100, 0.02 }, { 100, 0.3 }, { 400, 0.05 } };

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned int held = 0;

		for (int trial = 0; trial < TRIALS; trial++) {
			struct estimate_sum sum = look(cases[i].nr, cases[i].p);

			held += holds(estimate_of(&sum, 1 / cases[i].p), cases[i].nr);
		}
		assert_true(held > TRIALS * 94 / 100);
	}
}

/* Half of the things were looked for often, the others seldom: few heavy ones decide. */
static void test_coverage_of_mixed_weights(void **unused)
{
	unsigned int held = 0;

	(void)unused;
	for (int trial = 0; trial < TRIALS; trial++) {
		struct estimate_sum sum = look(30, 0.5), rare = look(300, 0.01);

		estimate_merge(&sum, &rare);
		held += holds(estimate_of(&sum, 100), 330);
	}
	assert_true(held > TRIALS * 94 / 100);
}

static void test_coverage_of_shares(void **unused)
{
	static const struct {
		unsigned int part, rest;
	} cases[] = { { 10, 200 }, { 50, 50 }, { 400, 20 }, { 1000, 1000 } };

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double truth = (double)cases[i].part / (cases[i].part + cases[i].rest);
		unsigned int held = 0, seen = 0;

		for (int trial = 0; trial < TRIALS; trial++) {
			struct estimate_sum part = look(cases[i].part, 0.1);
			struct estimate_sum all = look(cases[i].rest, 0.1);

			estimate_merge(&all, &part);
			if (!all.seen)
				continue;
			seen++;
			held += holds(estimate_share(&part, &all, 10), truth);
		}
		assert_true(held > seen * 94 / 100);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_poisson),
		cmocka_unit_test(test_coverage),
		cmocka_unit_test(test_coverage_of_mixed_weights),
		cmocka_unit_test(test_coverage_of_shares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
