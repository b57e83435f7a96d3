/* SPDX-License-Identifier: MIT */
/*
 * uslab/bench/stats.h - a handful of measurements as median, range and spread
 */
#ifndef TOOLS_BENCH_STATS_H
#define TOOLS_BENCH_STATS_H

#include <stddef.h>

struct stats {
	size_t n;
	double median, min, max;
	double q1, q3; /* quartiles; between two values: on the straight line between them */
	double spread; /* (q3 - q1) / median: how far the middle half lies apart; 0 for median 0 */
};

/* Of n values in any order, which it leaves as they are. n 0: all fields 0. */
void stats_of(struct stats *s, const double *values, size_t n);

/* a / b, or -1 where there is no such ratio (b is 0 or negative, or a is negative). */
double stats_ratio(double a, double b);

#endif /* TOOLS_BENCH_STATS_H */
