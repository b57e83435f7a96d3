/* SPDX-License-Identifier: MIT */
/*
 * bench/protocols.h - the six tests of the kernel's slab micro-benchmark, with kmalloc and kfree
 *
 * A user-space rendering of what the module measures (bench/README.md describes the tests). Sizes
 * are constants where kmalloc is called, as in most programs. Every figure is the least of several
 * repetitions: interrupts and other work only ever add. A metric without a size is the lowest of
 * the sizes, which is what the slides show.
 */
#ifndef BENCH_PROTOCOLS_H
#define BENCH_PROTOCOLS_H

#include <uslab/slab.h>

#include "team.h"

#define REPETITIONS 6 /* at least, if they take no more than PATIENCE times the time given */
#define PATIENCE 20
#define PROTOCOL_LIMIT_S 1800 /* SLOB walks long lists, the longer the more threads there are */
#define MAX_FIGURES 3
#define OUT_OF_LINE static __attribute__((__noinline__))

/* ---- the loops, one set per size ---- */

struct sized {
	size_t size;
	void (*alloc)(void **objects, uint64_t n);
	void (*pairs)(uint64_t n);
	void (*hand_out)(struct team *t, uint64_t n);
};

ALWAYS void touch(void *p)
{
	*(volatile char *)p = 1;
}

/* An object that was allocated, written to once. */
ALWAYS void *got(void *p)
{
	if (__builtin_expect(!p, 0))
		die("out of memory");
	touch(p);
	return p;
}

/* One slot of another member: filled by member 0, cleared by its owner. */
ALWAYS _Atomic(void *) *shared_slot(struct member *m, uint64_t i)
{
	return (_Atomic(void *) *)&m->slots[i];
}

#define PROTOCOL_SIZED(bytes)                                                          \
	OUT_OF_LINE void alloc_##bytes(void **objects, uint64_t n)                     \
	{                                                                              \
		for (uint64_t i = 0; i < n; i++)                                       \
			objects[i] = got(kmalloc(bytes, GFP_KERNEL));                  \
	}                                                                              \
	OUT_OF_LINE void pairs_##bytes(uint64_t n)                                     \
	{                                                                              \
		for (uint64_t i = 0; i < n; i++) {                                     \
			void *p = kmalloc(bytes, GFP_KERNEL);                          \
                                                                                       \
			OPAQUE(p);                                                     \
			kfree(p);                                                      \
		}                                                                      \
	}                                                                              \
	OUT_OF_LINE void hand_out_##bytes(struct team *t, uint64_t n)                  \
	{                                                                              \
		for (uint64_t i = 0; i < n; i++)                                       \
			for (unsigned int j = 1; j < t->nr; j++)                       \
				atomic_store_explicit(shared_slot(&t->members[j], i),  \
						      got(kmalloc(bytes, GFP_KERNEL)), \
						      memory_order_release);           \
	}

#define PROTOCOL_SIZES(X) \
	X(8) X(16) X(32) X(64) X(128) X(256) X(512) X(1024) X(2048) X(4096) X(8192) X(16384)
#define NR_CONCURRENT 10 /* of them: up to a page */

PROTOCOL_SIZES(PROTOCOL_SIZED)

#define PROTOCOL_ENTRY(bytes) { bytes, alloc_##bytes, pairs_##bytes, hand_out_##bytes },
static const struct sized sizeds[] = { PROTOCOL_SIZES(PROTOCOL_ENTRY) };
#define NR_SIZEDS (sizeof(sizeds) / sizeof(sizeds[0]))

OUT_OF_LINE void free_all(void **objects, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		touch(objects[i]);
		kfree(objects[i]);
	}
}

/* ---- phases; each member uses its own clock ---- */

static struct {
	const struct sized *sized;
	uint64_t n;
} job;

static void phase_alloc(struct member *m)
{
	m->start = clock_start();
	job.sized->alloc(m->slots, job.n);
	m->end = clock_end();
}

static void phase_free(struct member *m)
{
	m->start = clock_start();
	free_all(m->slots, job.n);
	m->end = clock_end();
}

static void phase_pairs(struct member *m)
{
	m->start = clock_start();
	job.sized->pairs(job.n);
	m->end = clock_end();
}

static void phase_alloc_but_0(struct member *m)
{
	m->start = m->end = 0;
	if (m->number)
		phase_alloc(m);
}

/* Member 0 frees what the others have, one member after the other. */
static void phase_free_on_0(struct member *m)
{
	m->start = m->end = 0;
	if (m->number)
		return;
	m->start = clock_start();
	for (unsigned int i = 1; i < m->team->nr; i++)
		free_all(m->team->members[i].slots, job.n);
	m->end = clock_end();
}

/* The next object, as soon as it is there. */
ALWAYS void consume(struct member *m, uint64_t i, unsigned int *spins)
{
	void *p;

	while (!(p = atomic_load_explicit(shared_slot(m, i), memory_order_acquire)))
		ring_wait(spins);
	touch(p);
	kfree(p);
	atomic_store_explicit(shared_slot(m, i), NULL, memory_order_relaxed);
}

/* Member 0 allocates for all others, who free meanwhile. */
static void phase_hand_out(struct member *m)
{
	unsigned int spins = 0;

	m->start = clock_start();
	if (!m->number)
		job.sized->hand_out(m->team, job.n);
	else
		for (uint64_t i = 0; i < job.n; i++)
			consume(m, i, &spins);
	m->end = clock_end();
}

static void phase_clear(struct member *m)
{
	memset(m->slots, 0, job.n * sizeof(void *));
}

/* ---- repetitions ---- */

struct figures {
	double least[MAX_FIGURES]; /* 0: none so far */
	/* of repetitions in which the members did not overlap; likewise */
	double alone[MAX_FIGURES];
};

static void keep_least(double *least, double value)
{
	if (value > 0 && (*least == 0 || value < *least))
		*least = value;
}

/* The last phase, in which all members worked. */
static void keep_average(struct figures *f, size_t i, const struct team *t)
{
	keep_least(team_overlapped(t) ? &f->least[i] : &f->alone[i], team_average(t, job.n));
}

/* Tests 1 and 2, and with several threads 3 and 4. */
static void repeat_local(struct team *t, struct figures *f)
{
	team_run(t, phase_alloc);
	keep_average(f, 0, t);
	team_run(t, phase_free);
	keep_average(f, 1, t);
	team_run(t, phase_pairs);
	keep_average(f, 2, t);
}

/* Tests 5 and 6. The second figure is what test 5 costs per object, whatever the number of CPUs. */
static void repeat_remote(struct team *t, struct figures *f)
{
	team_run(t, phase_alloc_but_0);
	team_run(t, phase_free_on_0);
	keep_least(&f->least[0], team_average(t, job.n));
	keep_least(&f->least[1], team_average(t, job.n) * t->nr / (t->nr - 1));
	team_run(t, phase_clear);
	team_run(t, phase_hand_out);
	keep_average(f, 2, t);
}

struct protocol {
	const char *mode;
	const char *names[MAX_FIGURES];
	size_t nr_sizes;
	bool alone; /* one thread */
	void (*repeat)(struct team *t, struct figures *f);
};

static const struct protocol protocols[] = {
	{ "fastpath", { "alloc", "free", "pair" }, NR_SIZEDS, true, repeat_local },
	{ "concurrent", { "alloc", "free", "pair" }, NR_CONCURRENT, false, repeat_local },
	{ "remote",
	  { "free-one", "free-one-object", "free-all" },
	  NR_CONCURRENT,
	  false,
	  repeat_remote },
};

/* NULL: the mode is none of these. */
static const struct protocol *find_protocol(const char *mode)
{
	for (size_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++)
		if (!strcmp(protocols[i].mode, mode))
			return &protocols[i];
	return NULL;
}

/* One size: as often as there is time for, and once in any case. The first warms up the others. */
static void measure_size(struct team *t, const struct protocol *p, double ms, struct figures *f)
{
	double start = now_ns(), spent = 0;

	for (unsigned int i = 0; i < 1 || spent < ms || (i < REPETITIONS && spent < PATIENCE * ms);
	     i++) {
		p->repeat(t, f);
		spent = (now_ns() - start) / 1e6;
	}
	for (size_t i = 0; i < MAX_FIGURES; i++)
		if (f->least[i] == 0) /* never at the same time: that is all there is */
			f->least[i] = f->alone[i];
}

static void emit_figures(const struct protocol *p, const struct figures *f, size_t size)
{
	for (size_t i = 0; i < MAX_FIGURES; i++) {
		char name[32];

		snprintf(name, sizeof(name), size ? "%s.%zu" : "%s", p->names[i], size);
		emit_metric(name, f->least[i]);
	}
}

/* All sizes of a protocol, with a->threads threads; sets them to 1 for a protocol of one thread. */
static void mode_protocol(struct worker_args *a, const struct protocol *p)
{
	struct figures lowest = { 0 };
	struct clock_info clock;
	struct team *t;

	alarm(PROTOCOL_LIMIT_S);
	clock_calibrate(&clock);
	a->threads = p->alone ? 1 : a->threads;
	if (!p->alone && a->threads < 2)
		die("needs two threads");
	t = team_start(a);
	job.n = a->objects;
	for (size_t i = 0; i < p->nr_sizes; i++) {
		struct figures f = { 0 };

		job.sized = &sizeds[i];
		measure_size(t, p, (double)a->ms / (double)p->nr_sizes, &f);
		emit_figures(p, &f, sizeds[i].size);
		for (size_t j = 0; j < MAX_FIGURES; j++)
			keep_least(&lowest.least[j], f.least[j]);
	}
	emit_figures(p, &lowest, 0);
	emit_metric("ns-per-cycle", clock.ns_per_tick);
	team_end(t);
}

#endif /* BENCH_PROTOCOLS_H */
