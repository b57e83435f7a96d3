/* SPDX-License-Identifier: MIT */
/*
 * uslab/compare_trace.c - a trace made ready for `uslab compare`: read, thinned, shared
 */
#include "compare.h"
#include "trace_share.h"
#include "trace_thin.h"

#include <stdlib.h>
#include <unistd.h>

#define SPREAD_OPS 600000u /* operations of all copies of a trace that is spread */

/* A trace that is to be performed many times at once loses objects, unless it was cut already. */
static int thin(struct compare *c, struct compared_trace *t)
{
	uint64_t all = (uint64_t)t->load.ops.nr_ops * t->copies;

	t->stride = 1;
	if (t->copies == 1 || c->options.max_events || all <= SPREAD_OPS)
		return EXIT_OK;
	t->stride = (unsigned int)((all + SPREAD_OPS - 1) / SPREAD_OPS);
	if (!trace_thin(&t->load.ops, t->stride))
		return EXIT_OK;
	return util_fail(COMPARE_COMMAND, "%s: out of memory", t->load.path);
}

/* Even steps through the operations; one of the points is the peak. */
static void choose_points(struct compared_trace *t)
{
	size_t nr_ops = t->load.ops.nr_ops;
	uint64_t peak = t->load.ops.counts.peak_op;
	unsigned int nearest = 0;

	t->nr_points = nr_ops < JOB_POINTS ? (unsigned int)nr_ops : JOB_POINTS;
	for (unsigned int i = 0; i < t->nr_points; i++) {
		t->point_op[i] = t->nr_points > 1 ? i * (nr_ops - 1) / (t->nr_points - 1) : 0;
		if (t->point_op[i] <= peak)
			nearest = i;
	}
	t->point_op[nearest] = peak;
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
		if (next < t->nr_points && t->point_op[next] == i)
			t->point_live[next++] = live;
	}
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
	if (t->load.bad) {
		progress_end(&c->progress);
		util_warn(COMPARE_COMMAND, "lines left out: %llu; the first: %s",
			  (unsigned long long)t->load.bad, t->load.error);
	}
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

	if (!status)
		status = thin(c, t);
	if (status)
		return status;
	choose_points(t);
	find_live(t);
	t->fd = trace_share(&t->load.ops);
	t->outcomes = calloc(COMPARE_NR, sizeof(*t->outcomes));
	if (t->fd < 0 || !t->outcomes)
		return util_fail(COMPARE_COMMAND, "%s: out of memory", path);
	return EXIT_OK;
}

void compare_unload(struct compared_trace *t)
{
	trace_ops_destroy(&t->load.ops);
	if (t->fd > 0)
		close(t->fd);
	free(t->outcomes);
	t->outcomes = NULL;
}
