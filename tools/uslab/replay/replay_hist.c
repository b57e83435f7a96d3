/* SPDX-License-Identifier: MIT */
/*
 * uslab/replay/replay_hist.c - quantiles and sums of histograms
 *
 * Flow:       called by replay_run.c, compare/compare_run.c and compare/compare_stats.c. In: a
 *             histogram that hist_add() filled; out: quantiles.
 */
#include "replay/replay_hist.h"

/* First value of a bucket, and how many values it has. */
static uint64_t bucket_start(unsigned int bucket, uint64_t *width)
{
	unsigned int shift = bucket / HIST_SUB;

	if (shift == 0) {
		*width = 1;
		return bucket;
	}
	shift--;
	*width = 1ull << shift;
	return (uint64_t)(HIST_SUB + bucket % HIST_SUB) << shift;
}

double hist_quantile(const struct hist *h, unsigned int permille, uint64_t resolution)
{
	double rank = (double)h->count * permille / 1000.0; /* values at or below the wanted one */
	uint64_t below = 0;

	for (unsigned int bucket = 0; permille < 1000 && bucket < HIST_BUCKETS; bucket++) {
		uint64_t here = h->bucket[bucket];
		uint64_t width;
		double middle, value;

		if (!here || (double)(below + here) < rank) {
			below += here;
			continue;
		}
		middle = (double)bucket_start(bucket, &width) + (double)(width - 1) / 2.0;
		if (width < resolution)
			width = resolution;
		value = middle + (double)width * ((rank - (double)below) / (double)here - 0.5);
		if (value > (double)h->max)
			return (double)h->max;
		return value > 0.0 ? value : 0.0;
	}
	return (double)h->max;
}

uint64_t hist_bucket_start(unsigned int bucket)
{
	uint64_t width;

	return bucket_start(bucket, &width);
}

void hist_merge(struct hist *h, const struct hist *more)
{
	h->count += more->count;
	h->sum += more->sum;
	if (h->max < more->max)
		h->max = more->max;
	for (unsigned int bucket = 0; bucket < HIST_BUCKETS; bucket++)
		h->bucket[bucket] += more->bucket[bucket];
}
