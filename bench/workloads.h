/* SPDX-License-Identifier: MIT */
/*
 * bench/workloads.h - the mixed workloads of `uslab bench malloc`: mixed, larson, python
 *
 * Made up, and seeded: every contestant gets the same calls. They stand for kinds of programs, not
 * for particular ones; bench/README.md says what each is like. All through malloc, calloc, realloc
 * and free. A step is one such call, or two for a replacement.
 */
#ifndef BENCH_WORKLOADS_H
#define BENCH_WORKLOADS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "harness.h"

/* Writes what a user would write first: both ends of a block. */
static inline void *touched(void *p, size_t size)
{
	if (!p)
		die("out of memory");
	((volatile char *)p)[0] = 1;
	((volatile char *)p)[size - 1] = 1;
	return p;
}

/* ---- sizes ---- */

/* Shares in 1/1000 of requests of up to so many bytes, evenly spread over each range. */
static const struct {
	unsigned int permille, up_to;
} size_shares[] = {
	{ 150, 16 }, { 250, 32 },  { 190, 48 },	 { 130, 64 },	{ 110, 128 }, { 70, 256 },
	{ 45, 512 }, { 25, 1024 }, { 18, 4096 }, { 10, 16384 }, { 1, 65536 }, { 1, 262144 },
};
#define NR_SIZES 8192

static inline void fill_sizes(uint32_t *sizes)
{
	struct rng r = { 0x9e3779b97f4a7c15ull };

	for (int i = 0; i < NR_SIZES; i++) {
		uint32_t dice = rng_below(&r, 1000), from = 1;
		size_t k = 0;

		while (dice >= size_shares[k].permille) {
			dice -= size_shares[k].permille;
			from = size_shares[k++].up_to + 1;
		}
		sizes[i] = from + rng_below(&r, size_shares[k].up_to - from + 1);
	}
}

/* ---- mixed: one thread, a set of live blocks of all sizes, random lifetimes ---- */

#define MIXED_SLOTS 10000

struct mixed {
	struct rng rng;
	void **slots;
	uint32_t *slot_sizes; /* bytes of each live block */
	uint32_t *sizes;      /* NR_SIZES requests */
};

static inline void mixed_run(void *arg, uint64_t steps)
{
	struct mixed *m = arg;

	for (; steps; steps--) {
		uint32_t dice = rng_next(&m->rng), at = rng_below(&m->rng, MIXED_SLOTS);
		uint32_t size = m->sizes[dice % NR_SIZES];
		void **slot = &m->slots[at];

		if (!*slot) {
			/* one request in eight is a calloc */
			*slot = touched(dice >> 29 ? malloc(size) : calloc(1, size), size);
			m->slot_sizes[at] = size;
		} else if (dice >> 28 == 0) { /* one block in sixteen grows or shrinks */
			size = (dice >> 27) & 1 ? m->slot_sizes[at] * 2 : m->slot_sizes[at] / 2 + 1;
			if (size > 1u << 20)
				size = 64;
			*slot = touched(realloc(*slot, size), size);
			m->slot_sizes[at] = size;
		} else {
			free(*slot);
			*slot = NULL;
		}
	}
}

static inline void mode_mixed(const struct worker_args *a)
{
	struct mixed m = { { 88172645463325252ull },
			   harness_alloc(MIXED_SLOTS * sizeof(void *)),
			   harness_alloc(MIXED_SLOTS * sizeof(uint32_t)),
			   harness_alloc(NR_SIZES * sizeof(uint32_t)) };

	fill_sizes(m.sizes);
	emit_metric("mixed", measure(mixed_run, &m, a->ms));
	emit_metric("mixed.rss", peak_rss_kib());
}

/* ---- larson: threads replace blocks at random and leave their blocks to a successor ---- */

#define LARSON_SLOTS 1000
#define LARSON_GENERATION 20000 /* replacements before a thread hands over */
#define LARSON_THREADS 64

struct larson {
	struct rng rng;
	void *slots[LARSON_SLOTS];
	double end_ns;	   /* CLOCK_MONOTONIC */
	uint64_t steps;	   /* replacements so far */
	uint64_t threads;  /* generations so far */
	_Atomic bool done; /* release by the last of the line, acquire by the main thread */
};

/* One of a line of threads; the next one frees what this one allocated. */
static inline void *larson_thread(void *arg)
{
	struct larson *l = arg;
	pthread_attr_t detached;
	pthread_t next;

	for (int i = 0; i < LARSON_GENERATION; i++) {
		uint32_t at = rng_below(&l->rng, LARSON_SLOTS);
		uint32_t size = 16 + rng_below(&l->rng, 496);

		free(l->slots[at]);
		l->slots[at] = touched(malloc(size), size);
	}
	l->steps += LARSON_GENERATION;
	l->threads++;
	if (now_ns() >= l->end_ns) {
		atomic_store_explicit(&l->done, true, memory_order_release);
		return NULL;
	}
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&next, &detached, larson_thread, l))
		die("cannot start a thread");
	pthread_attr_destroy(&detached);
	return NULL;
}

/* ns per replacement (a free and a malloc) as each thread sees it. */
static inline void mode_larson(const struct worker_args *a)
{
	unsigned int lines = a->threads && a->threads <= LARSON_THREADS ? a->threads : 2;
	struct larson *l = harness_alloc(lines * sizeof(*l));
	double start, end;
	uint64_t steps = 0;

	start = now_ns();
	for (unsigned int i = 0; i < lines; i++) {
		pthread_t thread;

		l[i].rng.state = 88172645463325252ull + i * 977;
		l[i].end_ns = start + a->ms * 1e6;
		if (pthread_create(&thread, NULL, larson_thread, &l[i]))
			die("cannot start a thread");
		pthread_detach(thread);
	}
	for (unsigned int i = 0; i < lines; i++) {
		while (!atomic_load_explicit(&l[i].done, memory_order_acquire))
			usleep(200);
		steps += l[i].steps;
	}
	end = now_ns();
	emit_metric("larson", (end - start) * lines / (double)steps);
	emit_metric("larson.rss", peak_rss_kib());
}

/* ---- python: frames of small objects, lists that grow, tables that double, strings ---- */

#define PY_DEPTH 64
#define PY_LOCALS 12
#define PY_LISTS 64
#define PY_TABLES 32
#define PY_LIST_MAX 4096u  /* entries of 8 bytes */
#define PY_TABLE_MAX 2048u /* entries of 24 bytes */

struct python {
	struct rng rng;
	unsigned int depth;
	struct py_frame {
		void *frame; /* the frame object itself */
		unsigned int nr;
		void *locals[PY_LOCALS];
	} stack[PY_DEPTH];
	struct py_array {
		void *items;
		uint32_t used, capacity;
	} lists[PY_LISTS], tables[PY_TABLES];
	uint64_t calls; /* of malloc, calloc, realloc and free so far */
};

static const unsigned short py_sizes[] = { 32, 32, 32, 48, 48,	56,  56,  64,
					   64, 72, 80, 88, 104, 136, 200, 232 };

static inline void py_call(struct python *py)
{
	struct py_frame *f = &py->stack[py->depth++];
	uint32_t dice = rng_next(&py->rng);
	size_t frame = 360 + dice % 160;

	f->frame = touched(malloc(frame), frame);
	f->nr = 1 + (dice >> 8) % PY_LOCALS;
	for (unsigned int i = 0; i < f->nr; i++) {
		size_t size = py_sizes[rng_next(&py->rng) % 16];

		f->locals[i] = touched(malloc(size), size);
	}
	py->calls += f->nr + 1;
}

/* Locals die in order of their making, the frame after them. */
static inline void py_return(struct python *py)
{
	struct py_frame *f = &py->stack[--py->depth];

	for (unsigned int i = 0; i < f->nr; i++)
		free(f->locals[i]);
	free(f->frame);
	py->calls += f->nr + 1;
}

/* list.append: capacity grows by an eighth. */
static inline void py_append(struct python *py)
{
	struct py_array *l = &py->lists[rng_next(&py->rng) % PY_LISTS];

	if (l->used++ < l->capacity)
		return;
	py->calls++;
	if (l->used > PY_LIST_MAX) {
		free(l->items);
		*l = (struct py_array){ 0 };
		return;
	}
	l->capacity = l->used + l->used / 8 + 6;
	l->items = touched(realloc(l->items, l->capacity * 8), l->capacity * 8);
}

/* dict insert: at two thirds a table of twice the size is made and filled. */
static inline void py_insert(struct python *py)
{
	struct py_array *t = &py->tables[rng_next(&py->rng) % PY_TABLES];
	uint32_t capacity = t->capacity ? t->capacity * 2 : 8;
	char *items;

	if (++t->used * 3 < t->capacity * 2)
		return;
	py->calls += 2;
	items = capacity > PY_TABLE_MAX ? NULL : touched(calloc(capacity, 24), capacity * 24);
	if (items && t->items)
		memcpy(items, t->items, t->capacity * 24);
	free(t->items);
	*t = (struct py_array){ items, items ? t->used : 0, items ? capacity : 0 };
}

/* A string put together of three parts. */
static inline void py_join(struct python *py)
{
	size_t size = 50 + rng_next(&py->rng) % 200;
	char *p = touched(malloc(size), size);

	for (int i = 0; i < 2; i++) {
		size += 1 + rng_next(&py->rng) % 150;
		p = touched(realloc(p, size), size);
	}
	free(p);
	py->calls += 4;
}

static inline void python_run(void *arg, uint64_t steps)
{
	struct python *py = arg;

	for (; steps; steps--) {
		uint32_t dice = rng_next(&py->rng);

		if (py->depth == 0 || (py->depth < PY_DEPTH && dice & 1))
			py_call(py);
		else
			py_return(py);
		if ((dice >> 1) % 2 == 0)
			py_append(py);
		if ((dice >> 2) % 4 == 0)
			py_insert(py);
		if ((dice >> 4) % 4 == 0)
			py_join(py);
	}
}

/* ns per call; the number of calls per step comes out of the same seeded sequence for all. */
static inline void mode_python(const struct worker_args *a)
{
	struct python *py = harness_alloc(sizeof(*py));
	double ns_per_step, calls_per_step;

	py->rng.state = 88172645463325252ull;
	python_run(py, 100000);
	calls_per_step = (double)py->calls / 100000;
	ns_per_step = measure(python_run, py, a->ms);
	emit_metric("python", ns_per_step / calls_per_step);
	emit_metric("python.rss", peak_rss_kib());
}

#endif /* BENCH_WORKLOADS_H */
