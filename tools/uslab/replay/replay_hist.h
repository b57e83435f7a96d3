/* SPDX-License-Identifier: MIT */
/*
 * uslab/replay/replay_hist.h - a histogram of durations with a bounded error, of constant size
 *
 * Values below 64 have a bucket each; above, every power of two is divided into 64 buckets, so that
 * a quantile is off by less than 1/64 of its value. Any 64-bit value has a bucket.
 */
#ifndef TOOLS_REPLAY_HIST_H
#define TOOLS_REPLAY_HIST_H

#include <stdint.h>

#define HIST_SUB_BITS 6
#define HIST_SUB (1u << HIST_SUB_BITS)
#define HIST_BUCKETS ((64 - HIST_SUB_BITS + 1) * HIST_SUB)

struct hist {
	uint64_t count;
	uint64_t max; /* exact */
	uint64_t sum; /* exact */
	uint64_t bucket[HIST_BUCKETS];
};

/* The bucket of a value. */
static inline unsigned int hist_bucket(uint64_t value)
{
	unsigned int exponent;

	if (value < HIST_SUB)
		return (unsigned int)value;
	exponent = 63u - (unsigned int)__builtin_clzll(value);
	return (exponent - HIST_SUB_BITS + 1) * HIST_SUB +
	       (unsigned int)(value >> (exponent - HIST_SUB_BITS) & (HIST_SUB - 1));
}

/* One value more; h was all 0 at first. */
static inline void hist_add(struct hist *h, uint64_t value)
{
	h->count++;
	h->sum += value;
	if (h->max < value)
		h->max = value;
	h->bucket[hist_bucket(value)]++;
}

/*
 * The value that permille thousandths of all values do not exceed; 1000: the exact maximum; 0 when
 * the histogram is empty. All values are multiples of resolution (1: nothing known), true ones lie
 * up to half of it around them: within a bucket the rank decides.
 */
double hist_quantile(const struct hist *h, unsigned int permille, uint64_t resolution);

/* The smallest value of a bucket. */
uint64_t hist_bucket_start(unsigned int bucket);

/* Adds all values of more to h. */
void hist_merge(struct hist *h, const struct hist *more);

#endif /* TOOLS_REPLAY_HIST_H */
