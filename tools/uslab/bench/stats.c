/* SPDX-License-Identifier: MIT */
/*
 * uslab/bench/stats.c - median, range and spread of a few measurements
 *
 * Flow:       called by run.c, report.c, report_protocol.c, report_modes.c, report_json.c and
 *             compare/compare_stats.c. In: values; out: struct stats.
 *
 * The median, because a round that somebody else's work disturbed must not move the result, and the
 * quartiles, because the maximum says more about that disturbance than about the allocator.
 */
#include "stats.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The value below which the given share of the sorted values lies. */
static double quantile(const double *sorted, size_t n, double share)
{
	double position = share * (double)(n - 1);
	size_t below = (size_t)position;

	if (below + 1 >= n)
		return sorted[n - 1];
	return sorted[below] + (position - (double)below) * (sorted[below + 1] - sorted[below]);
}

void stats_of(struct stats *s, const double *values, size_t n)
{
	double *sorted;

	*s = (struct stats){ .n = n };
	if (!n)
		return;
	sorted = malloc(n * sizeof(*sorted));
	if (!sorted)
		abort(); /* a few hundred bytes */
	memcpy(sorted, values, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare);
	s->min = sorted[0];
	s->max = sorted[n - 1];
	s->q1 = quantile(sorted, n, 0.25);
	s->median = quantile(sorted, n, 0.5);
	s->q3 = quantile(sorted, n, 0.75);
	s->spread = s->median > 0 ? (s->q3 - s->q1) / s->median : 0;
	free(sorted);
}

double stats_ratio(double a, double b)
{
	return a >= 0 && b > 0 ? a / b : -1;
}
