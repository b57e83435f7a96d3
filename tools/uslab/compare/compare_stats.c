/* SPDX-License-Identifier: MIT */
/*
 * uslab/compare/compare_stats.c - from histograms and bytes to the numbers that `uslab compare`
 * prints
 *
 * Flow:       called by compare_run.c and compare_scale.c, which add rounds, and by compare_table.c
 *             and compare_json.c, which print; calls replay/replay_hist.c and bench/stats.c. In:
 *             struct job_times and struct job_bytes; out: numbers, NAN where there is none.
 */
#include "compare/compare.h"

#include "bench/stats.h"

#include <math.h>
#include <stddef.h>

#define STEPS_PER_DECADE 10.0

/* ---- one round ---- */

/* Without what the clock itself takes; never negative. */
static double to_ns(const struct job_times *times, double ticks)
{
	return ticks > times->overhead ? (ticks - times->overhead) * times->ns_per_tick : 0.0;
}

void stats_round(struct round_times *round, const struct job_times *times)
{
	static const unsigned int permille[] = {
		[TIME_MEDIAN] = 500, [TIME_P99] = 990, [TIME_P99_9] = 999, [TIME_MAX] = 1000
	};
	uint64_t count = 0;
	double sum = 0;

	for (unsigned int verb = 0; verb < REPLAY_NR_VERBS; verb++) {
		const struct hist *h = &times->hist[verb];

		for (unsigned int i = 0; i < NR_TIMES; i++)
			round->ns[verb][i] = NAN;
		if (!h->count)
			continue;
		for (unsigned int i = 0; i < TIME_MEAN; i++)
			round->ns[verb][i] =
				to_ns(times, hist_quantile(h, permille[i], times->resolution));
		round->ns[verb][TIME_MEAN] = to_ns(times, (double)h->sum / (double)h->count);
		sum += round->ns[verb][TIME_MEAN] * (double)h->count;
		count += h->count;
	}
	round->ns_per_op = count ? sum / (double)count : NAN;
}

/* ---- all rounds ---- */

/* The median of one member, of the rounds that have it; NAN: none has. */
static double median_of(const struct round_times *rounds, unsigned int nr, size_t offset)
{
	double values[COMPARE_MAX_ROUNDS];
	unsigned int nr_values = 0;
	struct stats stats;

	for (unsigned int i = 0; i < nr; i++) {
		double value = *(const double *)((const char *)&rounds[i] + offset);

		if (!isnan(value))
			values[nr_values++] = value;
	}
	if (!nr_values)
		return NAN;
	stats_of(&stats, values, nr_values);
	return stats.median;
}

void stats_finish(struct outcome *o, const struct round_times *rounds)
{
	o->ns_per_op = median_of(rounds, o->rounds, offsetof(struct round_times, ns_per_op));
	for (unsigned int verb = 0; verb < REPLAY_NR_VERBS; verb++)
		for (unsigned int i = 0; i < NR_TIMES; i++)
			o->verb[verb].ns[i] =
				median_of(rounds, o->rounds,
					  offsetof(struct round_times, ns) +
						  (verb * NR_TIMES + i) * sizeof(double));
}

/* ---- ratios ---- */

double stats_cycles_per_ns(const struct outcome *o)
{
	return o->is_tsc && o->ns_per_tick > 0 ? 1.0 / o->ns_per_tick : NAN;
}

double stats_fragmentation(const struct job_bytes *bytes)
{
	return bytes->requested ? (double)bytes->slab / (double)bytes->requested : NAN;
}

static double divide(const struct compared_trace *t, unsigned int kind, double value, double base)
{
	return t->outcomes[kind].ok && t->outcomes[COMPARE_BASE].ok && base > 0 ? value / base
										: NAN;
}

double stats_time_ratio(const struct compared_trace *t, unsigned int kind)
{
	return divide(t, kind, t->outcomes[kind].ns_per_op, t->outcomes[COMPARE_BASE].ns_per_op);
}

double stats_memory_ratio(const struct compared_trace *t, unsigned int kind)
{
	return divide(t, kind, (double)t->outcomes[kind].memory.at_live_peak.slab,
		      (double)t->outcomes[COMPARE_BASE].memory.at_live_peak.slab);
}

double stats_overall(const struct compare *c, unsigned int kind,
		     double (*ratio)(const struct compared_trace *t, unsigned int kind))
{
	double sum = 0;

	for (unsigned int i = 0; i < c->nr_traces; i++)
		sum += log(ratio(&c->traces[i], kind)); /* a NaN stays one */
	return exp(sum / c->nr_traces);
}

/* ---- histogram ---- */

double stats_step_start(unsigned int step)
{
	return pow(10.0, step / STEPS_PER_DECADE);
}

static unsigned int step_of(double ns)
{
	double step = ns > 1.0 ? log10(ns) * STEPS_PER_DECADE : 0.0;

	return step < STATS_STEPS - 1 ? (unsigned int)step : STATS_STEPS - 1;
}

void stats_steps(const struct outcome *o, enum replay_verb verb, uint64_t count[STATS_STEPS])
{
	const struct hist *h = &o->verb[verb].hist;

	for (unsigned int step = 0; step < STATS_STEPS; step++)
		count[step] = 0;
	for (unsigned int bucket = 0; bucket < HIST_BUCKETS; bucket++) {
		double ticks = (double)hist_bucket_start(bucket) - o->overhead;

		if (h->bucket[bucket])
			count[step_of(ticks * o->ns_per_tick)] += h->bucket[bucket];
	}
}
