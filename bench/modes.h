/* SPDX-License-Identifier: MIT */
/*
 * bench/modes.h - what each allocator has: pair, written, count, batch, batch-two, handoff
 *
 * Drives the loops of bodies.h for one allocator and prints the metrics. Locality is in
 * locality.h; the mixed workloads, which need realloc and calloc, are in workloads.h.
 */
#ifndef BENCH_MODES_H
#define BENCH_MODES_H

#include <pthread.h>

#include "bodies.h"

struct subject {
	const struct bodies *bodies;
	void *ctx; /* first argument of the allocator's functions */
	const struct worker_args *args;
};

/* ---- pair and count ---- */

static inline void pair_run(void *arg, uint64_t steps)
{
	const struct subject *s = arg;

	s->bodies->pairs(s->ctx, s->args->size, steps);
}

static inline void mode_pair(struct subject *s)
{
	emit_metric("pair", measure(pair_run, s, s->args->ms));
}

static inline void written_run(void *arg, uint64_t steps)
{
	const struct subject *s = arg;

	s->bodies->written(s->ctx, s->args->size, steps);
}

static inline void mode_written(struct subject *s)
{
	emit_metric("written", measure(written_run, s, s->args->ms));
}

/* For the parent's counting of instructions: exactly args->count pairs between two signals. */
static inline void mode_count(struct subject *s)
{
	run_counted(pair_run, s, s->args->count);
}

/* ---- batch ---- */

static const size_t batch_counts[] = { 100, 1000, 10000 };
static const char *const batch_orders[] = { "fifo", "lifo", "mix" };
#define NR_BATCH_COUNTS (sizeof(batch_counts) / sizeof(batch_counts[0]))
#define NR_BATCH_ORDERS (sizeof(batch_orders) / sizeof(batch_orders[0]))

struct batch_job {
	const struct bodies *bodies;
	struct batch batch;
};

static inline void batch_run(void *arg, uint64_t steps)
{
	const struct batch_job *job = arg;

	job->bodies->batch(&job->batch, steps);
}

static inline void batch_fill_order(struct batch *b, size_t which)
{
	struct rng r = { 88172645463325252ull };

	for (size_t i = 0; i < b->count; i++)
		b->order[i] = (uint32_t)(which == 1 ? b->count - 1 - i : i);
	if (which == 2)
		shuffle(b->order, b->count, &r);
}

/* Arrays for count objects, by the thread that will use them: they lie on its node. */
static inline void batch_init(struct batch_job *job, const struct subject *s, size_t count)
{
	*job = (struct batch_job){ s->bodies,
				   { .ctx = s->ctx,
				     .size = s->args->size,
				     .count = count,
				     .objects = harness_alloc(count * sizeof(void *)),
				     .gathered = harness_alloc(count * sizeof(void *)),
				     .order = harness_alloc(count * sizeof(uint32_t)) } };
}

/* Metric COUNT.ORDER: ns for the alloc and the free of one object. */
static inline void mode_batch(struct subject *s)
{
	unsigned int ms = s->args->ms / (NR_BATCH_COUNTS * NR_BATCH_ORDERS);
	struct batch_job job;

	batch_init(&job, s, batch_counts[NR_BATCH_COUNTS - 1]);
	for (size_t i = 0; i < NR_BATCH_COUNTS; i++) {
		job.batch.count = batch_counts[i];
		for (size_t j = 0; j < NR_BATCH_ORDERS; j++) {
			char name[32];

			batch_fill_order(&job.batch, j);
			snprintf(name, sizeof(name), "%zu.%s", batch_counts[i], batch_orders[j]);
			emit_metric(name, measure(batch_run, &job, ms ? ms : 1) /
						  (double)batch_counts[i]);
		}
	}
}

/* ---- batch-two: the same by two threads at once ---- */

/*
 * In a mapping of its own: on the stack of one thread the counters, which the other one looks at
 * while it waits, would share a line with what that thread writes.
 */
struct batch_two {
	const struct subject *subject;
	size_t count;
	unsigned int ms;
	double second_ns; /* the second thread's result; read when it has ended */

	/* So many threads have begun, and have measured; relaxed: they publish nothing. */
	_Atomic unsigned int begun, measured;
};

/* Goes on with bursts until both threads are here: none measures beside one that only waits. */
static inline void batch_two_meet(const struct batch_job *job, _Atomic unsigned int *here)
{
	atomic_fetch_add_explicit(here, 1, memory_order_relaxed);
	while (atomic_load_explicit(here, memory_order_relaxed) < 2)
		job->bodies->batch(&job->batch, 1);
}

/* ns per object, by this thread's clock. */
static inline double batch_two_measure(struct batch_two *t)
{
	struct batch_job job;
	double ns;

	batch_init(&job, t->subject, t->count);
	batch_fill_order(&job.batch, 0);
	batch_two_meet(&job, &t->begun);
	ns = measure(batch_run, &job, t->ms) / (double)t->count;
	batch_two_meet(&job, &t->measured);
	return ns;
}

static inline void *batch_two_second(void *arg)
{
	struct batch_two *t = arg;

	pin(t->subject->args->cpu[1]);
	t->second_ns = batch_two_measure(t);
	return NULL;
}

/* The mean of two threads on two CPUs. */
static inline double batch_two_run(const struct subject *s, size_t count, unsigned int ms)
{
	struct batch_two *t = harness_alloc(sizeof(*t));
	pthread_t thread;
	double ns;

	t->subject = s;
	t->count = count;
	t->ms = ms;
	if (pthread_create(&thread, NULL, batch_two_second, t))
		die("cannot start a thread");
	ns = batch_two_measure(t);
	pthread_join(thread, NULL);
	ns = (ns + t->second_ns) / 2;
	munmap(t, sizeof(*t));
	return ns;
}

/*
 * Metric COUNT.two: ns for the alloc and the free of one object, in order. A mode of its own, so a
 * process of its own: some allocators are slower for good once there was a second thread, and this
 * begins with what the batch mode begins with. Without a second CPU there is nothing to measure.
 */
static inline void mode_batch_two(struct subject *s)
{
	unsigned int ms = s->args->ms / NR_BATCH_COUNTS + 1;

	for (size_t i = 0; i < NR_BATCH_COUNTS && s->args->cpu[1] >= 0; i++) {
		char name[32];

		snprintf(name, sizeof(name), "%zu.two", batch_counts[i]);
		emit_metric(name, batch_two_run(s, batch_counts[i], ms));
	}
}

/* ---- handoff ---- */

struct duelist {
	const struct subject *subject;
	struct duel *duel;
	bool both_ways;
};

static inline void *duel_second(void *arg)
{
	const struct duelist *second = arg;

	pin(second->subject->args->cpu[1]);
	if (second->both_ways)
		second->subject->bodies->ping_pong(second->duel, 1);
	else
		second->subject->bodies->produce(second->duel);
	return NULL;
}

/* Two threads on two CPUs; this one frees and has the clock. Returns ns per object. */
static inline double duel_run(const struct subject *s, bool both_ways, bool touch, unsigned int ms)
{
	struct duel *duel = harness_alloc(sizeof(*duel));
	struct duelist second = { s, duel, both_ways };
	size_t skip;
	double median;
	pthread_t thread;

	duel->ctx = s->ctx;
	duel->size = s->args->size;
	duel->touch = touch;
	duel->ms = ms;
	if (pthread_create(&thread, NULL, duel_second, &second))
		die("cannot start a thread");
	if (both_ways)
		s->bodies->ping_pong(duel, 0);
	else
		s->bodies->consume(duel);
	pthread_join(thread, NULL);
	skip = (duel->segments + 7) / 8; /* warm-up; there are two segments at least */
	median = median_of(duel->took + skip, duel->segments - skip);
	munmap(duel, sizeof(*duel));
	return median;
}

/*
 * Metrics: one-way (one thread allocates, the other frees), two-way (both do both: an alloc and a
 * remote free in each thread per object), each with objects written and read and, as ".bare", with
 * objects that nobody looks into.
 */
static inline void mode_handoff(struct subject *s)
{
	unsigned int ms = s->args->ms / 4 + 1;

	if (s->args->cpu[1] < 0)
		die("the handoff mode needs --cpu2");
	emit_metric("one-way", duel_run(s, false, true, ms));
	emit_metric("one-way.bare", duel_run(s, false, false, ms));
	emit_metric("two-way", duel_run(s, true, true, ms));
	emit_metric("two-way.bare", duel_run(s, true, false, ms));
}

/* Runs the mode if it is one of those above. */
static inline bool run_common_mode(struct subject *s)
{
	static const struct {
		const char *name;
		void (*run)(struct subject *s);
	} modes[] = {
		{ "pair", mode_pair },		 { "written", mode_written },
		{ "count", mode_count },	 { "batch", mode_batch },
		{ "batch-two", mode_batch_two }, { "handoff", mode_handoff },
	};

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (!strcmp(s->args->mode, modes[i].name)) {
			modes[i].run(s);
			return true;
		}
	}
	return false;
}

#endif /* BENCH_MODES_H */
