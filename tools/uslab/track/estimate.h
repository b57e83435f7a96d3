/* SPDX-License-Identifier: MIT */
/*
 * uslab/track/estimate.h - estimates of totals from samples, with their confidence intervals
 *
 * Each thing was seen with a probability p that is known, apart from all others, and stands for 1/p
 * of them (its weight). The sum of weights is right on average, whatever the things are; its
 * variance is the sum of w * (w - 1).
 */
#ifndef TOOLS_ESTIMATE_H
#define TOOLS_ESTIMATE_H

#include <stdbool.h>

/* A sum over things that were seen, each of a value, e.g. 1 or its bytes. */
struct estimate_sum {
	double sum;	 /* of value * weight */
	double variance; /* of value^2 * weight * (weight - 1) */
	double seen;	 /* of value: there are at least these */
};

/* A number with the ends of its interval, which holds the true one in 95 of 100 cases. */
struct estimate {
	double value, low, high;
};

/* One thing more that was seen; the sum was all 0 at first. */
void estimate_add(struct estimate_sum *sum, double value, double weight);
/* Adds a sum of other things. */
void estimate_merge(struct estimate_sum *to, const struct estimate_sum *sum);

/* one: value * weight of the heaviest thing that may have been there and was not seen. */
struct estimate estimate_of(const struct estimate_sum *sum, double one);

/*
 * What part of `all` is `part`, which is in it; one: as above, for what is in `all` and
 * not in `part`. 0 of 0: 0.
 */
struct estimate estimate_share(const struct estimate_sum *part, const struct estimate_sum *all,
			       double one);

/* Everything times that. */
struct estimate estimate_times(struct estimate e, double factor);

/* Is half of the interval longer than the number itself? Then the number says nothing. */
bool estimate_is_vague(const struct estimate *e);

#endif /* TOOLS_ESTIMATE_H */
