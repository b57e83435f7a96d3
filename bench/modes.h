/* SPDX-License-Identifier: MIT */
/*
 * bench/modes.h - the modes that every allocator has: pair, written, count, batch, handoff
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

/* Metric COUNT.ORDER: ns for the alloc and the free of one object. */
static inline void mode_batch(struct subject *s)
{
	size_t most = batch_counts[NR_BATCH_COUNTS - 1];
	unsigned int ms = s->args->ms / (NR_BATCH_COUNTS * NR_BATCH_ORDERS);
	struct batch_job job = { s->bodies,
				 { .ctx = s->ctx,
				   .size = s->args->size,
				   .objects = harness_alloc(most * sizeof(void *)),
				   .gathered = harness_alloc(most * sizeof(void *)),
				   .order = harness_alloc(most * sizeof(uint32_t)) } };

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
		{ "pair", mode_pair },	 { "written", mode_written }, { "count", mode_count },
		{ "batch", mode_batch }, { "handoff", mode_handoff },
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
