/* SPDX-License-Identifier: MIT */
/*
 * bench/uslab-bench-cache.c - measures kmem_cache_alloc and kmalloc, inline, from libuslab.a
 *
 * Flow:       started by the name that tools/uslab/bench/catalogue.c has; calls the public API. In:
 *             arguments of harness.h; out: lines of metrics on stdout.
 *
 * What a program gets that includes <uslab/slab.h> and links the static library. Contestants:
 * array, cpuslab, none (an own cache with that front), bulk (kmem_cache_alloc_bulk and _free_bulk
 * on an own cache), kmalloc (constant size, as most callers write it), kmalloc-variable (a size
 * that the compiler does not know). The locality mode has its own: kmalloc (a cache that others
 * have used), kmalloc-quiet (one that nobody else uses), array, cpuslab, and array-used (an own
 * cache after much use). The bulk mode takes any front. ENGINE/FRONT is for the modes of arrays, in
 * place of a batch.
 */
#include <uslab/slab.h>

#include "arrays.h"
#include "bulk.h"
#include "locality.h"
#include "modes.h"

/* ---- own cache ---- */

ALWAYS void *op_cache_alloc(void *ctx, size_t size)
{
	(void)size;
	return kmem_cache_alloc(ctx, GFP_KERNEL);
}

ALWAYS void op_cache_free(void *ctx, void *p)
{
	kmem_cache_free(ctx, p);
}

BENCH_INSTANCE(cache, op_cache_alloc, op_cache_free);

/* ---- kmalloc of a size that the compiler knows ---- */

ALWAYS void op_kfree(void *ctx, void *p)
{
	(void)ctx;
	kfree(p);
}

#define KMALLOC_SIZES(X) \
	X(8) X(16) X(32) X(64) X(96) X(128) X(192) X(256) X(512) X(1024) X(2048) X(4096) X(8192)

#define KMALLOC_INSTANCE(bytes)                                 \
	ALWAYS void *op_kmalloc_##bytes(void *ctx, size_t size) \
	{                                                       \
		(void)ctx;                                      \
		(void)size;                                     \
		return kmalloc(bytes, GFP_KERNEL);              \
	}                                                       \
	BENCH_INSTANCE(kmalloc_##bytes, op_kmalloc_##bytes, op_kfree);

KMALLOC_SIZES(KMALLOC_INSTANCE)

/* ---- kmalloc of a size that it does not know ---- */

ALWAYS void *op_kmalloc_variable(void *ctx, size_t size)
{
	(void)ctx;
	return kmalloc(size, GFP_KERNEL);
}

BENCH_INSTANCE(kmalloc_variable, op_kmalloc_variable, op_kfree);

static const struct bodies *kmalloc_bodies(size_t size)
{
#define KMALLOC_CASE(bytes) \
	case bytes:         \
		return &kmalloc_##bytes##_bodies;

	switch (kmalloc_size_roundup(size)) {
		KMALLOC_SIZES(KMALLOC_CASE)
	default: /* page runs */
		return &kmalloc_variable_bodies;
	}
}

/* ---- bulk: a whole batch by one call ---- */

static void bulk_batch(const struct batch *b, uint64_t steps)
{
	for (; steps; steps--) {
		if (!kmem_cache_alloc_bulk(b->ctx, GFP_KERNEL, b->count, b->objects))
			die("out of memory");
		for (size_t i = 0; i < b->count; i++)
			*(uint64_t *)b->objects[i] = i;
		for (size_t i = 0; i < b->count; i++)
			b->gathered[i] = b->objects[b->order[i]];
		kmem_cache_free_bulk(b->ctx, b->count, b->gathered);
	}
}

static const struct bodies bulk_bodies = { .batch = bulk_batch };

/* ---- locality ---- */

static void *locality_kmalloc(void *ctx, size_t size)
{
	(void)ctx;
	return uslab_kmalloc(size, GFP_KERNEL);
}

static void locality_kfree(void *ctx, void *p)
{
	op_kfree(ctx, p);
}

static void *locality_cache_alloc(void *ctx, size_t size)
{
	return op_cache_alloc(ctx, size);
}

static void locality_cache_free(void *ctx, void *p)
{
	op_cache_free(ctx, p);
}

/* ---- contestants ---- */

/* engine NULL: the default one. */
static struct kmem_cache *cache_of_engine(size_t size, const char *engine, const char *front)
{
	const struct kmem_cache_args args = { .engine = engine, .front = front };
	struct kmem_cache *cache = kmem_cache_create_args("bench", (unsigned int)size, &args, 0);

	if (!cache)
		die("cannot create a cache of %zu bytes with front %s", size, front);
	return cache;
}

static struct kmem_cache *own_cache(size_t size, const char *front)
{
	return cache_of_engine(size, NULL, front);
}

/* The contestant is ENGINE/FRONT. */
static void run_arrays(const struct worker_args *a)
{
	const char *slash = strchr(a->contestant, '/');
	char engine[32];

	snprintf(engine, sizeof(engine), "%.*s", (int)(slash - a->contestant), a->contestant);
	mode_arrays(cache_of_engine(a->size, engine, slash + 1), a->ms);
}

/* The others ask for sizes that end in the kmalloc cache of 64 bytes, as requests of 40 do. */
static void run_locality(const struct worker_args *a)
{
	struct locality l = {
		.alloc = locality_kmalloc,
		.release = locality_kfree,
		.size = a->size,
		.other_alloc = locality_kmalloc,
		.other_release = locality_kfree,
		.other_min = 33,
		.other_max = 64,
		.churn = !strcmp(a->contestant, "array-used"),
	};

	if (strncmp(a->contestant, "kmalloc", 7)) {
		const char *front = l.churn ? "array" : a->contestant;

		l.ctx = own_cache(a->size, front);
		l.alloc = locality_cache_alloc;
		l.release = locality_cache_free;
	}
	mode_locality(&l);
}

int main(int argc, char **argv)
{
	struct worker_args args;
	struct subject subject = { .args = &args };

	parse_args(argc, argv, &args);
	if (!strcmp(args.mode, "locality")) {
		run_locality(&args);
		return fflush(stdout) ? 1 : 0;
	}
	if (!strcmp(args.mode, "bulk")) {
		mode_bulk(own_cache(args.size, args.contestant), args.objects, args.ms);
		return fflush(stdout) ? 1 : 0;
	}
	if (strchr(args.contestant, '/')) {
		if (strcmp(args.mode, "batch-two")) /* one thread measures arrays */
			run_arrays(&args);
		return fflush(stdout) ? 1 : 0;
	}
	if (!strcmp(args.contestant, "kmalloc")) {
		subject.bodies = kmalloc_bodies(args.size);
	} else if (!strcmp(args.contestant, "kmalloc-variable")) {
		subject.bodies = &kmalloc_variable_bodies;
	} else if (!strcmp(args.contestant, "bulk")) {
		if (strcmp(args.mode, "batch") && strcmp(args.mode, "batch-two"))
			die("bulk is measured in batches only");
		subject.bodies = &bulk_bodies;
		subject.ctx = own_cache(args.size, "array");
	} else {
		subject.bodies = &cache_bodies;
		subject.ctx = own_cache(args.size, args.contestant);
	}
	if (!run_common_mode(&subject))
		die("unknown mode '%s'", args.mode);
	return fflush(stdout) ? 1 : 0;
}
