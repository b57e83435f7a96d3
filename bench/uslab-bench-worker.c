/* SPDX-License-Identifier: MIT */
/*
 * bench/uslab-bench-worker.c - measures malloc and free, whoever they are
 *
 * Flow:       started by the name that tools/uslab/bench/catalogue.c has, with the library to
 *             measure in LD_PRELOAD. In: arguments of harness.h; out: lines of metrics on stdout.
 *
 * Links no allocator: malloc and free are called through the PLT, and `uslab bench` decides by
 * LD_PRELOAD which library answers. The line "text origin FILE" says which one did. Two contestants
 * are no allocators: "loop" is the measuring loop with nothing in it, "ring" passes addresses of
 * static objects from thread to thread; they say how much of a figure is the harness.
 */
#include "latency.h"
#include "locality.h"
#include "modes.h"
#include "workloads.h"

ALWAYS void *op_malloc(void *ctx, size_t size)
{
	(void)ctx;
	return malloc(size);
}

ALWAYS void op_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

/* loop: the same loop, no allocator; any register will do for the object, so none is set */
ALWAYS void *op_nothing(void *ctx, size_t size)
{
	void *p;

	(void)ctx;
	(void)size;
	__asm__ volatile("" : "=r"(p));
	return p;
}

ALWAYS void op_drop(void *ctx, void *p)
{
	(void)ctx;
	(void)p;
}

/* ring: objects of a static area in turn, for each thread more of them than can be on their way */
#define RING_OBJECTS (2 * RING_SLOTS)

struct ring_objects {
	char *objects; /* RING_OBJECTS for the main thread, as many for the others */
	size_t stride; /* bytes */
};

ALWAYS void *op_next(void *ctx, size_t size)
{
	static _Thread_local size_t next, first = SIZE_MAX;
	struct ring_objects *r = ctx;

	(void)size;
	if (first == SIZE_MAX)
		first = gettid() == getpid() ? 0 : RING_OBJECTS;
	return r->objects + (first + next++ % RING_OBJECTS) * r->stride;
}

BENCH_INSTANCE(malloc, op_malloc, op_free);
BENCH_INSTANCE(loop, op_nothing, op_drop);
BENCH_INSTANCE(ring, op_next, op_drop);

/* For the latency mode: any block will do, and nothing else looks into it. */
static void *latency_nothing(size_t size)
{
	static char *block;

	(void)size;
	if (!block)
		block = harness_alloc((size_t)LATENCY_MIN << LATENCY_DOUBLINGS);
	return block;
}

static void *latency_calloc_nothing(size_t n, size_t size)
{
	return latency_nothing(n * size);
}

static void *latency_realloc_nothing(void *p, size_t size)
{
	(void)size;
	return p;
}

static void latency_free_nothing(void *p)
{
	OPAQUE(p);
}

static void run_latency(const struct worker_args *a)
{
	static const struct latency_calls by_malloc = { malloc, calloc, realloc, free };
	static const struct latency_calls by_nobody = { latency_nothing, latency_calloc_nothing,
							latency_realloc_nothing,
							latency_free_nothing };

	latency_nothing(0); /* no call makes it */
	mode_latency(a, strcmp(a->contestant, "loop") ? &by_malloc : &by_nobody);
}

/* For the locality mode: malloc(40) on a heap that has seen requests of 33 to 64 bytes. */
static void *locality_alloc(void *ctx, size_t size)
{
	return op_malloc(ctx, size);
}

static void locality_free(void *ctx, void *p)
{
	op_free(ctx, p);
}

static bool run_malloc_mode(const struct worker_args *a)
{
	if (!strcmp(a->mode, "locality")) {
		const struct locality l = {
			.alloc = locality_alloc,
			.release = locality_free,
			.size = a->size,
			.other_alloc = locality_alloc,
			.other_release = locality_free,
			.other_min = 33,
			.other_max = 64,
		};

		mode_locality(&l);
	} else if (!strcmp(a->mode, "latency")) {
		run_latency(a);
	} else if (!strcmp(a->mode, "mixed")) {
		mode_mixed(a);
	} else if (!strcmp(a->mode, "larson")) {
		mode_larson(a);
	} else if (!strcmp(a->mode, "python")) {
		mode_python(a);
	} else {
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct worker_args args;
	struct ring_objects objects = { 0 };
	struct subject subject = { .args = &args };

	parse_args(argc, argv, &args);
	if (!strcmp(args.contestant, "loop")) {
		subject.bodies = &loop_bodies;
		subject.ctx = &subject;
	} else if (!strcmp(args.contestant, "ring")) {
		objects.stride = (args.size + 15) & ~(size_t)15;
		objects.objects = harness_alloc(2 * RING_OBJECTS * objects.stride);
		subject.bodies = &ring_bodies;
		subject.ctx = &objects;
	} else if (!strcmp(args.contestant, "malloc")) {
		subject.bodies = &malloc_bodies;
	} else {
		die("unknown contestant '%s'", args.contestant);
	}
	if (!run_common_mode(&subject) && !run_malloc_mode(&args))
		die("unknown mode '%s'", args.mode);
	emit_malloc_origin();
	return fflush(stdout) ? 1 : 0;
}
