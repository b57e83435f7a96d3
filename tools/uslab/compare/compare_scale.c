/* SPDX-License-Identifier: MIT */
/*
 * uslab/compare/compare_scale.c - what grows with the number of CPUs: 1, 2, 4, ... of a made-up
 * machine
 *
 * Flow:       called by cmd_compare.c with --spread, when the outcomes are there; calls
 *             compare_job.c for each number of CPUs, compare_trace.c, compare_stats.c and
 *             replay/replay_stage.c. In: struct compared_trace; out: its scaling.
 *
 * Each number of CPUs is loaded with as many copies of the trace as fit on it, on a share of the
 * nodes, and, for the bytes in queues, once more on a single node. At constant work those copies
 * are one, split among them: what grows then does so because of the number of CPUs alone.
 */
#define _GNU_SOURCE
#include "compare/compare.h"

#include <sched.h>

/* 1, 2, 4, ... and the last. */
static void choose_cpus(const struct compare_options *o, struct scaling *s)
{
	for (unsigned long cpus = 1;; cpus = cpus * 2 < o->cpus ? cpus * 2 : o->cpus) {
		unsigned long nodes = o->nodes * cpus / o->cpus;

		s->cpus[s->nr] = (unsigned int)cpus;
		s->nodes[s->nr++] = nodes ? (unsigned int)nodes : 1;
		if (cpus == o->cpus)
			return;
	}
}

static void choose_contestants(const struct compare_options *o, struct scaling *s)
{
	for (unsigned int kind = 0; kind < COMPARE_NR; kind++)
		if (o->chosen & 1u << kind && (o->engines_given || compare_kinds[kind].scales))
			s->chosen |= 1u << kind;
}

struct run {
	struct compare *c;
	struct compared_trace *t;
	struct job *job;
	int job_fd;
	unsigned int kind;
	unsigned int at; /* index of scaling.cpus */
};

static bool run_job(struct run *r, const struct shared_trace *shared, enum job_task task,
		    unsigned int nodes)
{
	struct job_place place = { .kind = &compare_kinds[r->kind],
				   .cpus = r->t->scaling.cpus[r->at],
				   .nodes = nodes };
	char error[320];

	r->job->task = task;
	r->job->counter = JOB_UNCOUNTED;
	r->job->copies = stage_copies(&r->t->load.ops, r->t->scaling.cpus[r->at]);
	r->job->spread = true;
	r->job->split = shared == &r->t->whole;
	compare_set_points(r->job, shared);
	if (job_run(r->job, r->job_fd, shared->fd, &place, error, sizeof(error)))
		return true;
	progress_end(&r->c->progress);
	util_fail(COMPARE_COMMAND, "%s: %s on %u CPUs: %s", r->t->load.path, place.kind->name,
		  r->t->scaling.cpus[r->at], error);
	return false;
}

static bool run_point(struct run *r, struct scale_point *point)
{
	const struct shared_trace *shared = &r->t->shared;
	unsigned int nodes = r->t->scaling.nodes[r->at];
	struct round_times round;

	progress_show(&r->c->progress, "%s: %u CPUs: %s", r->t->load.path,
		      r->t->scaling.cpus[r->at], compare_kinds[r->kind].name);
	if (!run_job(r, shared, JOB_MEMORY, nodes))
		return false;
	point->peak = r->job->memory.peak;
	r->job->resident = point->peak.slab / nodes + point->peak.slab / 4;
	if (!run_job(r, shared, JOB_TIME, nodes))
		return false;
	stats_round(&round, &r->job->times);
	point->ns_per_op = round.ns_per_op;
	point->one_node = point->peak;
	if (nodes > 1) {
		if (!run_job(r, shared, JOB_MEMORY, 1))
			return false;
		point->one_node = r->job->memory.peak;
	}
	return true;
}

static bool run_constant(struct run *r, struct scale_point *point)
{
	progress_show(&r->c->progress, "%s: %u CPUs, constant work: %s", r->t->load.path,
		      r->t->scaling.cpus[r->at], compare_kinds[r->kind].name);
	if (!run_job(r, &r->t->whole, JOB_MEMORY, r->t->scaling.nodes[r->at]))
		return false;
	point->peak = r->job->memory.peak;
	return true;
}

static int run_points(struct run *r)
{
	struct scaling *s = &r->t->scaling;

	r->job->touch = r->c->options.touch;
	r->job->cpu = sched_getcpu();
	for (r->at = 0; r->at < s->nr; r->at++) {
		for (r->kind = 0; r->kind < COMPARE_NR; r->kind++) {
			struct scale_point *point = &s->points[r->kind][r->at];
			struct scale_point *constant = &s->constant[r->kind][r->at];

			if (!(s->chosen & 1u << r->kind))
				continue;
			point->ok = run_point(r, point);
			constant->ok = point->ok && run_constant(r, constant);
			if (constant->ok)
				continue;
			r->c->failed = true;
			if (!r->c->options.keep_going)
				return EXIT_FAILED;
		}
	}
	return EXIT_OK;
}

int compare_scale(struct compare *c, struct compared_trace *t)
{
	struct run r = { .c = c, .t = t };
	int status;

	choose_cpus(&c->options, &t->scaling);
	choose_contestants(&c->options, &t->scaling);
	r.job = job_create(&r.job_fd);
	if (!r.job)
		return util_fail(COMPARE_COMMAND, "out of memory");
	status = run_points(&r);
	job_destroy(r.job, r.job_fd);
	return status;
}
