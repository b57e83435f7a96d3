/* SPDX-License-Identifier: MIT */
/*
 * uslab/track/estimate.c - sums of weights, and their intervals
 *
 * Why:        docs/adr/0019
 * Flow:       called by track_sites.c, which adds objects, and by track_table.c and track_print.c;
 *             calls libm. In: values with weights; out: sums with the ends of their intervals.
 *
 * A sum with that variance is like a Poisson count of sum^2 / variance, times a factor; the ends of
 * its interval are quantiles of a gamma distribution, at the upper end as if one more had been
 * seen, as heavy as any (Fay and Feuer). So few samples have a wide and lopsided interval, and what
 * was seen in full has none. The interval of a quotient is put together from those of its parts on
 * a logarithmic scale (Zou and Donner).
 */
#include "track/estimate.h"

#include <math.h>

#define Z 1.959964	/* 95 % of a normal distribution lie within so many deviations */
#define NONE_SEEN 3.689 /* a Poisson mean of more than that gives 0 in less than 2.5 % */

void estimate_add(struct estimate_sum *sum, double value, double weight)
{
	sum->sum += value * weight;
	sum->variance += value * value * weight * (weight - 1);
	sum->seen += value;
}

void estimate_merge(struct estimate_sum *to, const struct estimate_sum *sum)
{
	to->sum += sum->sum;
	to->variance += sum->variance;
	to->seen += sum->seen;
}

/* The quantile of a gamma distribution, z deviations from its middle (Wilson and Hilferty). */
static double gamma_quantile(double mean, double variance, double z)
{
	double shape = mean * mean / variance;
	double root = 1 - 1 / (9 * shape) + z / (3 * sqrt(shape));

	return root > 0 ? mean * root * root * root : 0;
}

struct estimate estimate_of(const struct estimate_sum *sum, double one)
{
	struct estimate e = { sum->sum, sum->sum, sum->sum };

	if (sum->sum <= 0) {
		e.value = e.low = 0;
		e.high = NONE_SEEN * one;
		return e;
	}
	if (sum->variance <= 0)
		return e;
	e.low = fmax(gamma_quantile(sum->sum, sum->variance, -Z), sum->seen);
	e.high = fmax(gamma_quantile(sum->sum + one, sum->variance + one * one, Z), e.low);
	return e;
}

static double share_of(double log_quotient)
{
	return 1 / (1 + exp(-log_quotient));
}

struct estimate estimate_share(const struct estimate_sum *part, const struct estimate_sum *all,
			       double one)
{
	struct estimate_sum rest = { all->sum - part->sum, all->variance - part->variance,
				     all->seen - part->seen };
	struct estimate a, b, share = { 0, 0, 0 };
	double quotient, down, up;

	if (all->sum <= 0)
		return share;
	/* what remains of a subtraction is nothing */
	if (rest.sum < all->sum * 1e-12)
		rest = (struct estimate_sum){ 0, 0, 0 };
	a = estimate_of(part, one);
	b = estimate_of(&rest, one);
	share.value = part->sum / all->sum;
	if (a.value <= 0 || b.value <= 0) {
		share.low = a.low + b.high > 0 ? a.low / (a.low + b.high) : 0;
		share.high = a.high + b.low > 0 ? a.high / (a.high + b.low) : 1;
		return share;
	}
	quotient = log(a.value / b.value);
	down = hypot(log(a.value / a.low), log(b.high / b.value));
	up = hypot(log(a.high / a.value), log(b.value / b.low));
	share.low = share_of(quotient - down);
	share.high = share_of(quotient + up);
	return share;
}

struct estimate estimate_times(struct estimate e, double factor)
{
	return (struct estimate){ e.value * factor, e.low * factor, e.high * factor };
}

bool estimate_is_vague(const struct estimate *e)
{
	return e->high - e->low > 2 * e->value;
}
