/* SPDX-License-Identifier: MIT */
/*
 * bench/load_groups.h - what accounting groups cost: groups
 *
 * ns of CPU time for an allocation of 64 bytes, a write of one byte and the free, of one thread:
 * the median of nine parts. Which pairs these are, and in which groups, is the program's.
 */
#ifndef BENCH_LOAD_GROUPS_H
#define BENCH_LOAD_GROUPS_H

#include "load_main.h"

#define GROUPS_SIZE 64
#define GROUPS_PAIRS 2000000u /* in a part */
#define GROUPS_WARM 4000u     /* objects that a group has before: that is much use */

static inline double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline void groups_warm(struct kind *kind)
{
	void **object = harness_alloc(GROUPS_WARM * sizeof(*object));

	for (unsigned int i = 0; i < GROUPS_WARM; i++)
		object[i] = kind_alloc(kind);
	for (unsigned int i = 0; i < GROUPS_WARM; i++)
		kind_free(kind, object[i]);
}

/*
 * before: called in front of each pair, or NULL; alloc and give: the pair. Returns how many pairs
 * there were.
 */
static inline __attribute__((always_inline)) uint64_t
groups_measure_by(const struct load *l, const char *metric, struct kind *kind,
		  void (*before)(uint64_t), void *(*alloc)(struct kind *),
		  void (*give)(struct kind *, void *))
{
	uint64_t pairs = load_share(l, GROUPS_PAIRS);
	double took[CHUNKS];

	for (unsigned int part = 0; part < CHUNKS; part++) {
		double from = cpu_ns();

		for (uint64_t i = 0; i < pairs; i++) {
			char *volatile p;

			if (before)
				before(i);
			p = alloc(kind);
			*p = 1;
			give(kind, p);
		}
		took[part] = (cpu_ns() - from) / (double)pairs;
	}
	emit_metric(metric, median_of(took, CHUNKS));
	return CHUNKS * pairs;
}

static inline __attribute__((always_inline)) uint64_t groups_measure(const struct load *l,
								     const char *metric,
								     struct kind *kind,
								     void (*before)(uint64_t))
{
	return groups_measure_by(l, metric, kind, before, kind_alloc, kind_free);
}

#endif /* BENCH_LOAD_GROUPS_H */
