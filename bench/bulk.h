/* SPDX-License-Identifier: MIT */
/*
 * bench/bulk.h - kmem_cache_alloc_bulk and _free_bulk beside a loop of single calls
 *
 * For each number n of objects, or the one asked for: n are allocated into an array and freed out
 * of it, in the same order, by two bulk calls and by two loops, as any program would write them.
 * Both are measured in turn, part by part, in one process on one cache, and each part's times are
 * compared with one another only: what the machine does besides hits both.
 */
#ifndef BENCH_BULK_H
#define BENCH_BULK_H

#include <uslab/slab.h>

#include "harness.h"

#define BULK_PARTS 15

static const size_t bulk_counts[] = { 1, 2, 3, 4, 8, 16, 31, 32, 64, 100, 300, 1000 };
#define NR_BULK_COUNTS (sizeof(bulk_counts) / sizeof(bulk_counts[0]))

struct bulk {
	struct kmem_cache *cache;
	size_t n;
	void **objects;
};

static __attribute__((noinline)) void bulk_by_loop(void *arg, uint64_t steps)
{
	struct bulk *b = arg;
	size_t n = b->n;

	for (; steps; steps--) {
		for (size_t i = 0; i < n; i++) {
			b->objects[i] = kmem_cache_alloc(b->cache, GFP_KERNEL);
			if (!b->objects[i])
				die("out of memory");
		}
		for (size_t i = 0; i < n; i++)
			kmem_cache_free(b->cache, b->objects[i]);
	}
}

static __attribute__((noinline)) void bulk_by_bulk(void *arg, uint64_t steps)
{
	struct bulk *b = arg;
	size_t n = b->n;

	for (; steps; steps--) {
		if (!kmem_cache_alloc_bulk(b->cache, GFP_KERNEL, n, b->objects))
			die("out of memory");
		kmem_cache_free_bulk(b->cache, n, b->objects);
	}
}

static inline double bulk_part(void (*run)(void *arg, uint64_t steps), struct bulk *b,
			       uint64_t steps)
{
	double start;

	run(b, 1 + steps / 16); /* the other one may leave the cache in another state */
	start = now_ns();
	run(b, steps);
	return (now_ns() - start) / (double)steps / (double)b->n;
}

static inline void bulk_emit(const char *what, size_t n, double value)
{
	char name[32];

	snprintf(name, sizeof(name), "%s.%zu", what, n);
	emit_metric(name, value);
}

/*
 * ns per object that is allocated and freed: loop.N and bulk.N; ratio.N: the median of the parts'
 * ratios.
 */
static inline void bulk_measure(struct bulk *b, double part_ns)
{
	double loop[BULK_PARTS], bulk[BULK_PARTS], ratio[BULK_PARTS];
	uint64_t steps;

	bulk_part(bulk_by_loop, b, 20);
	steps = (uint64_t)(part_ns / (bulk_part(bulk_by_loop, b, 20) * (double)b->n)) + 2;
	for (size_t j = 0; j < BULK_PARTS; j++) {
		loop[j] = bulk_part(bulk_by_loop, b, steps);
		bulk[j] = bulk_part(bulk_by_bulk, b, steps);
		ratio[j] = bulk[j] / loop[j];
	}
	bulk_emit("loop", b->n, median_of(loop, BULK_PARTS));
	bulk_emit("bulk", b->n, median_of(bulk, BULK_PARTS));
	bulk_emit("ratio", b->n, median_of(ratio, BULK_PARTS));
}

/* @objects per call, or 0 for the numbers above. */
static inline void mode_bulk(struct kmem_cache *cache, size_t objects, unsigned int ms)
{
	const size_t *counts = objects ? &objects : bulk_counts;
	size_t nr = objects ? 1 : NR_BULK_COUNTS;
	size_t most = objects ? objects : bulk_counts[NR_BULK_COUNTS - 1];
	struct bulk b = { .cache = cache, .objects = harness_alloc(most * sizeof(*b.objects)) };

	for (size_t i = 0; i < nr; i++) {
		b.n = counts[i];
		bulk_measure(&b, ms * 1e6 / (double)(nr * BULK_PARTS * 2));
	}
}

#endif /* BENCH_BULK_H */
