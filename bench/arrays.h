/* SPDX-License-Identifier: MIT */
/*
 * bench/arrays.h - kmem_cache_alloc_array by each of its modes, beside single and bulk calls
 *
 * All find the same: of 4 * N objects every other one was freed and went back to its slab, so that
 * there are partial slabs and no empty ones; and the CPU holds what HELD frees have left. Then N
 * objects are allocated, which is measured, and freed, which is measured as well. `warm` is
 * without that: N single calls that get what N single frees have just left.
 */
#ifndef BENCH_ARRAYS_H
#define BENCH_ARRAYS_H

#include <uslab/slab.h>

#include "harness.h"

#define ARRAYS_N 1000
#define ARRAYS_HELD 100
#define ARRAYS_STEPS 2001 /* at most, of one way */
#define NO_OBJECTS (-1.0) /* ns: there is nothing to divide by */

struct arrays {
	struct kmem_cache *cache;
	void **others; /* 4 * N: who has them makes partial slabs */
	void **objects;
	double *alloc_ns; /* by step, per object */
	double *free_ns;
};

/* ---- ways to allocate: each returns how many ---- */

static size_t arrays_by_loop(struct arrays *a, unsigned int mode)
{
	(void)mode;
	for (size_t i = 0; i < ARRAYS_N; i++)
		if (!(a->objects[i] = kmem_cache_alloc(a->cache, GFP_KERNEL)))
			die("out of memory");
	return ARRAYS_N;
}

static size_t arrays_by_bulk(struct arrays *a, unsigned int mode)
{
	(void)mode;
	return (size_t)kmem_cache_alloc_bulk(a->cache, GFP_KERNEL, ARRAYS_N, a->objects);
}

static size_t arrays_by_mode(struct arrays *a, unsigned int mode)
{
	return (size_t)kmem_cache_alloc_array(a->cache, GFP_KERNEL, ARRAYS_N, a->objects, mode);
}

struct arrays_way {
	const char *name;
	size_t (*alloc)(struct arrays *a, unsigned int mode);
	unsigned int mode;
	bool warm;
};

static const struct arrays_way arrays_ways[] = {
	{ "single", arrays_by_loop, 0, false },
	{ "warm", arrays_by_loop, 0, true },
	{ "bulk", arrays_by_bulk, 0, false },
	{ "PARTIAL", arrays_by_mode, SLAB_ARRAY_PARTIAL, false },
	{ "NEW", arrays_by_mode, SLAB_ARRAY_NEW, false },
	{ "LOCAL", arrays_by_mode, SLAB_ARRAY_LOCAL, false },
	{ "FULL", arrays_by_mode, SLAB_ARRAY_FULL, false },
	{ "all", arrays_by_mode, SLAB_ARRAY_ALL, false },
};
#define NR_ARRAYS_WAYS (sizeof(arrays_ways) / sizeof(arrays_ways[0]))

static inline void arrays_free_singly(struct arrays *a, size_t n, void **objects)
{
	for (size_t i = 0; i < n; i++)
		kmem_cache_free(a->cache, objects[i]);
}

/* ---- the same state for all ---- */

static inline void arrays_prepare(struct arrays *a)
{
	size_t n = 4 * ARRAYS_N;

	if (kmem_cache_alloc_bulk(a->cache, GFP_KERNEL, n, a->others) != (int)n)
		die("out of memory");
	for (size_t i = 0; i < n; i += 2) {
		kmem_cache_free(a->cache, a->others[i]);
		a->others[i] = NULL;
	}
	kmem_cache_shrink(a->cache);
	for (size_t i = 0; i < ARRAYS_HELD; i++)
		a->objects[i] = kmem_cache_alloc(a->cache, GFP_KERNEL);
	arrays_free_singly(a, ARRAYS_HELD, a->objects);
}

/* Back to nothing, not timed. */
static inline void arrays_clean(struct arrays *a)
{
	kmem_cache_free_array(a->cache, 4 * ARRAYS_N, a->others);
	memset(a->others, 0, 4 * ARRAYS_N * sizeof(*a->others));
	kmem_cache_shrink(a->cache);
}

/* Once; returns how many objects there were. */
static inline size_t arrays_step(struct arrays *a, const struct arrays_way *way, size_t step)
{
	double start, between;
	size_t n;

	if (!way->warm)
		arrays_prepare(a);
	start = now_ns();
	n = way->alloc(a, way->mode);
	between = now_ns();
	if (way->alloc == arrays_by_loop)
		arrays_free_singly(a, n, a->objects);
	else
		kmem_cache_free_array(a->cache, n, a->objects);
	a->free_ns[step] = n ? (now_ns() - between) / (double)n : NO_OBJECTS;
	a->alloc_ns[step] = n ? (between - start) / (double)n : NO_OBJECTS;
	if (!way->warm)
		arrays_clean(a);
	return n;
}

static inline void arrays_emit(const char *prefix, const char *name, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%s.%s", prefix, name);
	emit_metric(text, value);
}

/* Metrics: alloc.WAY and free.WAY, ns per object (-1: there were none); got.WAY, objects. */
static inline void mode_arrays(struct kmem_cache *cache, unsigned int ms)
{
	struct arrays a = {
		.cache = cache,
		.others = harness_alloc(4 * ARRAYS_N * sizeof(void *)),
		.objects = harness_alloc(ARRAYS_N * sizeof(void *)),
		.alloc_ns = harness_alloc(ARRAYS_STEPS * sizeof(double)),
		.free_ns = harness_alloc(ARRAYS_STEPS * sizeof(double)),
	};

	for (size_t i = 0; i < NR_ARRAYS_WAYS; i++) {
		const struct arrays_way *way = &arrays_ways[i];
		double until = now_ns() + ms * 1e6 / NR_ARRAYS_WAYS;
		size_t steps = 0;
		size_t got = arrays_step(&a, way, 0); /* not counted: the first one */

		while (!steps || (now_ns() < until && steps < ARRAYS_STEPS))
			got = arrays_step(&a, way, steps++);
		arrays_emit("alloc", way->name, median_of(a.alloc_ns, steps));
		arrays_emit("free", way->name, median_of(a.free_ns, steps));
		arrays_emit("got", way->name, (double)got);
	}
}

#endif /* BENCH_ARRAYS_H */
