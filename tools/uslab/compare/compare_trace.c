/* SPDX-License-Identifier: MIT */
/*
 * uslab/compare/compare_trace.c - a trace is read, thinned and put into a file for the workers
 *
 * Flow:       called by cmd_compare.c, compare_run.c and compare_scale.c; calls trace/trace_load.c,
 *             trace_thin.c and trace_share.c there, and replay/replay_stage.c for the number of
 *             copies. In: a path; out: struct compared_trace with a descriptor to hand to workers.
 */
#include "compare/compare.h"
#include "trace/trace_share.h"
#include "trace/trace_thin.h"

#include <stdlib.h>
#include <unistd.h>

#define SPREAD_OPS 600000u /* operations of all copies of a trace that is spread */

/* A trace that is to be performed many times at once loses objects, unless it was cut already. */
static int thin(struct compare *c, struct compared_trace *t, unsigned int copies)
{
	uint64_t all = (uint64_t)t->load.ops.nr_ops * copies;
	unsigned int stride;

	if (t->copies == 1 || c->options.max_events || all <= SPREAD_OPS)
		return 0;
	stride = (unsigned int)((all + SPREAD_OPS - 1) / SPREAD_OPS);
	t->stride *= stride;
	return trace_thin(&t->load.ops, stride);
}

/* Even steps through the operations; one of the points is the peak. */
static void choose_points(struct shared_trace *s, const struct trace_ops *ops)
{
	uint64_t peak = ops->counts.peak_op;
	unsigned int nearest = 0;

	s->nr_points = s->nr_ops < JOB_POINTS ? (unsigned int)s->nr_ops : JOB_POINTS;
	for (unsigned int i = 0; i < s->nr_points; i++) {
		s->point_op[i] = s->nr_points > 1 ? i * (s->nr_ops - 1) / (s->nr_points - 1) : 0;
		if (s->point_op[i] <= peak)
			nearest = i;
	}
	s->point_op[nearest] = peak;
}

/* The trace as it is now. 0 or -errno. */
static int share(struct shared_trace *s, const struct trace_ops *ops)
{
	s->nr_ops = ops->nr_ops;
	choose_points(s, ops);
	s->fd = trace_share(ops);
	return s->fd < 0 ? s->fd : 0;
}

static int share_all(struct compare *c, struct compared_trace *t)
{
	int err = 0;

	t->stride = 1;
	if (c->options.spread) {
		err = thin(c, t, 1);
		if (!err)
			err = share(&t->whole, &t->load.ops);
		if (!err)
			err = thin(c, t, t->copies);
	}
	return err ? err : share(&t->shared, &t->load.ops);
}

void compare_set_points(struct job *job, const struct shared_trace *shared)
{
	job->nr_points = shared->nr_points;
	memcpy(job->point_op, shared->point_op, sizeof(job->point_op));
}

/* Bytes requested at the points, by a walk over the operations. */
static void find_live(struct compared_trace *t)
{
	const struct trace_ops *ops = &t->load.ops;
	unsigned int next = 0;
	uint64_t live = 0;

	for (size_t i = 0; i < ops->nr_ops; i++) {
		uint64_t size = (uint64_t)ops->classes[ops->ops[i].class].size * t->copies;

		live += ops->ops[i].kind == TRACE_OP_ALLOC ? size : -size;
		if (next < t->shared.nr_points && t->shared.point_op[next] == i)
			t->point_live[next++] = live;
	}
}

/* Once for all contestants. */
static void warn_of_strides(struct compare *c, const struct trace_ops *ops, const char *path)
{
	uint32_t unknown = trace_ops_unknown_strides(ops);

	if (!unknown)
		return;
	progress_end(&c->progress);
	util_warn(
		COMPARE_COMMAND,
		"%s: nothing explains the strides of %u of %u caches (a kernel with debug flags?); "
		"theirs are as small as can be",
		path, unknown, ops->nr_caches);
}

static int load(struct compare *c, struct compared_trace *t, const char *path)
{
	t->load = (struct trace_load){ .path = path,
				       .max_events = c->options.max_events,
				       .keep_going = c->options.keep_going,
				       .progress = &c->progress };
	if (trace_load(&t->load)) {
		progress_end(&c->progress);
		return util_fail(COMPARE_COMMAND, "%s", t->load.error);
	}
	trace_load_warn(&t->load, COMPARE_COMMAND);
	warn_of_strides(c, &t->load.ops, path);
	if (!t->load.ops.counts.allocations)
		return util_fail(COMPARE_COMMAND, "%s: no allocation that could be performed",
				 path);
	t->copies = c->options.spread ? stage_copies(&t->load.ops, (unsigned int)c->options.cpus)
				      : 1;
	return EXIT_OK;
}

int compare_load(struct compare *c, struct compared_trace *t, const char *path)
{
	int status = load(c, t, path);

	if (status)
		return status;
	t->outcomes = calloc(COMPARE_NR, sizeof(*t->outcomes));
	if (!t->outcomes || share_all(c, t))
		return util_fail(COMPARE_COMMAND, "%s: out of memory", path);
	find_live(t);
	return EXIT_OK;
}

void compare_unload(struct compared_trace *t)
{
	trace_ops_destroy(&t->load.ops);
	if (t->shared.fd > 0)
		close(t->shared.fd);
	if (t->whole.fd > 0)
		close(t->whole.fd);
	free(t->outcomes);
	t->outcomes = NULL;
}
