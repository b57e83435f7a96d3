/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/compare/compare_stats_test.c - numbers of `uslab compare` from known histograms and
 * bytes
 */
#include "compare/compare.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct job_times times;
static struct outcome outcome;

static int reset(void **state)
{
	(void)state;
	memset(&outcome, 0, sizeof(outcome));
	memset(&times, 0, sizeof(times));
	times.overhead = 20;
	times.ns_per_tick = 0.5;
	times.resolution = 1;
	return 0;
}

static void assert_near(double got, double wanted)
{
	if (!(fabs(got - wanted) <= fabs(wanted) / 50 + 0.51))
		fail_msg("%f, not %f", got, wanted);
}

static void one_round(void **state)
{
	struct round_times round;

	(void)state;
	for (int i = 0; i < 999; i++)
		hist_add(&times.hist[REPLAY_ALLOC], 60);
	hist_add(&times.hist[REPLAY_ALLOC], 100020);
	for (int i = 0; i < 500; i++)
		hist_add(&times.hist[REPLAY_FREE], 15); /* less than the clock takes */
	stats_round(&round, &times);
	assert_near(round.ns[REPLAY_ALLOC][TIME_MEDIAN], 20);
	assert_near(round.ns[REPLAY_ALLOC][TIME_P99_9], 20);
	assert_near(round.ns[REPLAY_ALLOC][TIME_MAX], 50000);
	assert_near(round.ns[REPLAY_ALLOC][TIME_MEAN], 20 * 0.999 + 50);
	assert_true(round.ns[REPLAY_FREE][TIME_MAX] == 0.0);
	assert_near(round.ns_per_op, (20 * 0.999 + 50) * 1000 / 1500);
}

static void median_of_rounds(void **state)
{
	struct round_times rounds[5];

	(void)state;
	for (int i = 0; i < 5; i++) {
		rounds[i].ns_per_op = (i * 3 + 1) % 5 * 10;
		for (int verb = 0; verb < REPLAY_NR_VERBS; verb++)
			for (int what = 0; what < NR_TIMES; what++)
				rounds[i].ns[verb][what] = (i * 2 + 1) % 5 + verb * 100 + what * 10;
	}
	outcome.rounds = 5;
	stats_finish(&outcome, rounds);
	assert_true(outcome.ns_per_op == 20);
	for (int verb = 0; verb < REPLAY_NR_VERBS; verb++)
		for (int what = 0; what < NR_TIMES; what++)
			assert_true(outcome.verb[verb].ns[what] == 2 + verb * 100 + what * 10);
}

/* All were disturbed, or there were none: no number, in place of 0 ns. */
static void nothing_measured(void **state)
{
	struct round_times rounds[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		memset(times.hist, 0, sizeof(times.hist));
		if (i == 1)
			hist_add(&times.hist[REPLAY_ALLOC], 60);
		stats_round(&rounds[i], &times);
	}
	assert_true(isnan(rounds[0].ns_per_op));
	assert_true(isnan(rounds[0].ns[REPLAY_ALLOC][TIME_MAX]));
	assert_near(rounds[1].ns_per_op, 20);
	assert_true(isnan(rounds[1].ns[REPLAY_FREE][TIME_MEAN]));
	outcome.rounds = 3;
	stats_finish(&outcome, rounds);
	assert_near(outcome.ns_per_op, 20); /* of the round that has it */
	assert_near(outcome.verb[REPLAY_ALLOC].ns[TIME_MEDIAN], 20);
	assert_true(isnan(outcome.verb[REPLAY_FREE].ns[TIME_MEDIAN]));
}

static void ratios(void **state)
{
	struct outcome outcomes[2][COMPARE_NR] = { 0 };
	struct compared_trace traces[2] = { { .outcomes = outcomes[0] },
					    { .outcomes = outcomes[1] } };
	struct compare c = { .traces = traces, .nr_traces = 2 };
	struct job_bytes bytes = { .slab = 300, .requested = 200 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		outcomes[i][COMPARE_BASE].ok = true;
		outcomes[i][COMPARE_BASE].ns_per_op = 100;
		outcomes[i][COMPARE_BASE].memory.at_live_peak.slab = 4096;
	}
	assert_true(isnan(stats_time_ratio(&traces[0], 4)));
	outcomes[0][4].ok = true;
	outcomes[0][4].ns_per_op = 50;
	outcomes[0][4].memory.at_live_peak.slab = 8192;
	assert_true(stats_time_ratio(&traces[0], 4) == 0.5);
	assert_true(stats_memory_ratio(&traces[0], 4) == 2.0);
	/* not on all traces */
	assert_true(isnan(stats_overall(&c, 4, stats_time_ratio)));
	outcomes[1][4].ok = true;
	outcomes[1][4].ns_per_op = 200;
	assert_near(stats_overall(&c, 4, stats_time_ratio), 1.0);
	assert_near(stats_overall(&c, COMPARE_BASE, stats_memory_ratio), 1.0);
	outcomes[0][COMPARE_BASE].ok = false;
	assert_true(isnan(stats_time_ratio(&traces[0], 4)));
	assert_true(stats_fragmentation(&bytes) == 1.5);
	bytes.requested = 0;
	assert_true(isnan(stats_fragmentation(&bytes)));
}

static void steps(void **state)
{
	uint64_t count[STATS_STEPS];

	(void)state;
	outcome.overhead = 20;
	outcome.ns_per_tick = 0.5;
	hist_add(&outcome.verb[REPLAY_FREE].hist, 5);	 /* nothing */
	hist_add(&outcome.verb[REPLAY_FREE].hist, 46);	 /* 13 ns */
	hist_add(&outcome.verb[REPLAY_FREE].hist, 2520); /* 1250 ns */
	hist_add(&outcome.verb[REPLAY_FREE].hist, UINT64_MAX);
	stats_steps(&outcome, REPLAY_FREE, count);
	assert_int_equal(count[0], 1);
	assert_int_equal(count[11], 1);
	assert_true(stats_step_start(11) < 13 && stats_step_start(12) > 13);
	assert_int_equal(count[30], 1);
	assert_int_equal(count[STATS_STEPS - 1], 1);
	stats_steps(&outcome, REPLAY_ALLOC, count);
	for (unsigned int step = 0; step < STATS_STEPS; step++)
		assert_int_equal(count[step], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(one_round, reset),
		cmocka_unit_test_setup(median_of_rounds, reset),
		cmocka_unit_test_setup(nothing_measured, reset),
		cmocka_unit_test_setup(ratios, reset),
		cmocka_unit_test_setup(steps, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
