/* SPDX-License-Identifier: MIT */
/*
 * uslab/compare/compare_json.c - what `uslab compare` found, as JSON
 *
 * Flow:       called by cmd_compare.c; calls compare_stats.c, compare_scale_json.c,
 *             replay/replay_stage.c and trace/trace_ops.c for names, json_values.c for numbers, and
 *             json-c. In: struct compare; out: a text to be freed.
 *
 * A value that does not exist is null. When memory runs out one of the values is missing, and the
 * whole text with it.
 */
#define _GNU_SOURCE
#include "compare/compare_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const verbs[REPLAY_NR_VERBS] = { "alloc", "free" };

/* ---- values ---- */

static void put(json_object *o, const char *key, json_object *value)
{
	json_object_object_add(o, key, value);
}

static void put_text(json_object *o, const char *key, const char *value)
{
	put(o, key, json_object_new_string(value));
}

static void put_count(json_object *o, const char *key, uint64_t value)
{
	put(o, key, json_object_new_uint64(value));
}

static void put_bool(json_object *o, const char *key, bool value)
{
	put(o, key, json_object_new_boolean(value));
}

static void put_number(json_object *o, const char *key, double value, int digits)
{
	put(o, key, json_new_decimal(value, digits));
}

static json_object *new_counts(const uint64_t *values, size_t nr)
{
	json_object *array = json_object_new_array_ext((int)nr);

	for (size_t i = 0; i < nr; i++)
		json_object_array_add(array, json_object_new_uint64(values[i]));
	return array;
}

/* ---- one contestant on one trace ---- */

/* scale: from ns; NaN makes all of them null. */
static json_object *new_times(const double *ns, double scale)
{
	static const char *const keys[NR_TIMES] = { "median", "p99", "p99_9", "max", "mean" };
	json_object *o = json_object_new_object();

	for (int i = 0; i < NR_TIMES; i++)
		put_number(o, keys[i], ns[i] * scale, 2);
	return o;
}

static json_object *new_verb(const struct outcome *o, int verb)
{
	const struct verb_times *v = &o->verb[verb];
	json_object *object = json_object_new_object();

	put(object, "ns", new_times(v->ns, 1.0));
	put(object, "cycles", new_times(v->ns, stats_cycles_per_ns(o)));
	put_number(object, "instructions", v->instructions >= 0 ? v->instructions : NAN, 1);
	return object;
}

static json_object *new_fragmentation(const struct job_memory *m)
{
	json_object *o = json_object_new_object();

	put_number(o, "at_live_peak", stats_fragmentation(&m->at_live_peak), 4);
	put_number(o, "end", stats_fragmentation(&m->end), 4);
	put_number(o, "mean", m->requested_mean > 0 ? m->slab_mean / m->requested_mean : NAN, 4);
	return o;
}

static json_object *new_moments(const struct job_memory *m, size_t offset)
{
	json_object *o = json_object_new_object();

	put_count(o, "at_live_peak", reading(&m->at_live_peak, offset));
	put_count(o, "peak", reading(&m->peak, offset));
	put_count(o, "end", reading(&m->end, offset));
	return o;
}

static void put_memory(json_object *o, const struct job_memory *m)
{
	json_object *slab = new_moments(m, SLAB);
	json_object *requested = new_moments(m, REQUESTED);

	put_number(slab, "mean", m->slab_mean, 1);
	put(o, "slab_bytes", slab);
	put_number(requested, "mean", m->requested_mean, 1);
	put(o, "requested_bytes", requested);
	put(o, "fragmentation", new_fragmentation(m));
	put(o, "queue_bytes", new_moments(m, QUEUE));
	put(o, "cpu_slab_bytes", new_moments(m, CPU_SLAB));
	put_count(o, "page_allocations", m->page_blocks);
	put_count(o, "meta_bytes", m->meta_bytes);
}

static json_object *new_ratios(const struct compared_trace *t, unsigned int kind)
{
	json_object *o = json_object_new_object();

	put_number(o, "time", stats_time_ratio(t, kind), 4);
	put_number(o, "slab_bytes", stats_memory_ratio(t, kind), 4);
	return o;
}

static json_object *new_engine_curve(const struct compared_trace *t, const struct job_memory *m)
{
	json_object *o = json_object_new_object();
	json_object *slab = json_object_new_array();
	json_object *queue = json_object_new_array();
	json_object *cpu_slab = json_object_new_array();

	for (unsigned int i = 0; i < t->shared.nr_points; i++) {
		json_object_array_add(slab, json_object_new_uint64(m->point[i].slab));
		json_object_array_add(queue, json_object_new_uint64(m->point[i].queue));
		json_object_array_add(cpu_slab, json_object_new_uint64(m->point[i].cpu_slab));
	}
	put(o, "slab_bytes", slab);
	put(o, "queue_bytes", queue);
	put(o, "cpu_slab_bytes", cpu_slab);
	return o;
}

/* From the first step with a count to the last. */
static json_object *new_histogram(const struct outcome *o, int verb)
{
	json_object *object = json_object_new_object();
	json_object *edges = json_object_new_array();
	uint64_t count[STATS_STEPS];
	unsigned int first = 0;
	unsigned int end = STATS_STEPS;

	stats_steps(o, verb, count);
	while (end && !count[end - 1])
		end--;
	while (first < end && !count[first])
		first++;
	for (unsigned int step = first; step < end; step++)
		json_object_array_add(edges, json_new_decimal(stats_step_start(step), 3));
	put(object, "ns", edges);
	put(object, "count", new_counts(count + first, end - first));
	return object;
}

static json_object *new_map(const struct job_memory *m)
{
	static char text[JOB_MAP_PAGES * 2 + 1];
	uint64_t shown = m->nr_pages < JOB_MAP_PAGES ? m->nr_pages : JOB_MAP_PAGES;
	json_object *o = json_object_new_object();

	for (uint64_t i = 0; i < shown; i++)
		snprintf(text + i * 2, 3, "%02x", m->map[i]);
	text[shown * 2] = '\0';
	put_count(o, "pages", shown);
	put_count(o, "all_pages", m->nr_pages);
	put_text(o, "live", text);
	return o;
}

static json_object *new_engine(const struct compared_trace *t, unsigned int kind)
{
	const struct outcome *outcome = &t->outcomes[kind];
	json_object *o = json_object_new_object();
	json_object *histogram = json_object_new_object();

	put_text(o, "engine", compare_kinds[kind].engine);
	put_text(o, "front", compare_kinds[kind].front);
	put_count(o, "rounds", outcome->rounds);
	put_count(o, "disturbed", outcome->disturbed);
	put_number(o, "ns_per_op", outcome->ns_per_op, 3);
	put_number(o, "cycles_per_op", outcome->ns_per_op * stats_cycles_per_ns(outcome), 3);
	for (int verb = 0; verb < REPLAY_NR_VERBS; verb++) {
		put(o, verbs[verb], new_verb(outcome, verb));
		put(histogram, verbs[verb], new_histogram(outcome, verb));
	}
	put_memory(o, &outcome->memory);
	put(o, "ratio_to_slob", new_ratios(t, kind));
	put(o, "curve", new_engine_curve(t, &outcome->memory));
	put(o, "histogram", histogram);
	put(o, "map", new_map(&outcome->memory));
	return o;
}

/* ---- one trace ---- */

static json_object *new_curve(const struct compared_trace *t)
{
	const struct shared_trace *s = &t->shared;
	json_object *o = json_object_new_object();
	json_object *time = json_object_new_array();

	for (unsigned int i = 0; i < s->nr_points; i++)
		json_object_array_add(
			time,
			json_new_decimal((double)trace_ops_time(&t->load.ops, s->point_op[i]) / 1e9,
					 9));
	put(o, "time", time);
	put(o, "op", new_counts(s->point_op, s->nr_points));
	put(o, "live_bytes", new_counts(t->point_live, s->nr_points));
	return o;
}

static json_object *new_trace(const struct compare *c, const struct compared_trace *t)
{
	const struct trace_ops *ops = &t->load.ops;
	json_object *o = json_object_new_object();
	json_object *engines = json_object_new_object();
	json_object *errors = json_object_new_object();

	put_text(o, "path", t->load.path);
	put_count(o, "events", t->load.events);
	put_count(o, "copies", t->copies);
	put_count(o, "stride", t->stride);
	put_count(o, "operations", ops->nr_ops);
	put_count(o, "allocations", ops->counts.allocations);
	put_count(o, "frees", ops->counts.matched_frees);
	put_number(o, "seconds", (double)trace_ops_time(ops, ops->nr_ops - 1) / 1e9, 9);
	put_count(o, "live_peak_bytes", ops->counts.peak_bytes * t->copies);
	put_count(o, "live_peak_op", ops->counts.peak_op);
	put(o, "curve", new_curve(t));
	for (unsigned int kind = 0; kind < COMPARE_NR; kind++) {
		if (!compare_takes_part(c, kind))
			continue;
		if (t->outcomes[kind].ok)
			put(engines, compare_kinds[kind].name, new_engine(t, kind));
		else
			put_text(errors, compare_kinds[kind].name, t->outcomes[kind].error);
	}
	put(o, "engines", engines);
	put(o, "errors", errors);
	put(o, "scaling", compare_json_scaling(t));
	return o;
}

/* ---- the whole ---- */

static json_object *new_machine(const struct machine *m)
{
	json_object *o = json_object_new_object();

	put_text(o, "cpu", m->cpu);
	put_text(o, "kernel", m->kernel);
	put_count(o, "cpus", (uint64_t)m->cpus);
	put_text(o, "date", m->date);
	return o;
}

static json_object *new_topology(const struct compare_options *options)
{
	struct act_topology real;
	json_object *o = json_object_new_object();

	act_topology(&real);
	put_count(o, "cpus", options->cpus ? options->cpus : real.cpus);
	put_count(o, "nodes", options->cpus ? options->nodes : real.nodes);
	put_bool(o, "made_up", options->cpus);
	put_bool(o, "spread", options->spread);
	return o;
}

static json_object *new_summary(const struct compare *c)
{
	json_object *o, *engines;

	if (c->nr_traces < 2)
		return NULL;
	o = json_object_new_object();
	engines = json_object_new_object();
	for (unsigned int kind = 0; kind < COMPARE_NR; kind++) {
		json_object *engine;

		if (!compare_takes_part(c, kind))
			continue;
		engine = json_object_new_object();
		put_number(engine, "time_ratio_to_slob", stats_overall(c, kind, stats_time_ratio),
			   4);
		put_number(engine, "slab_bytes_ratio_to_slob",
			   stats_overall(c, kind, stats_memory_ratio), 4);
		put(engines, compare_kinds[kind].name, engine);
	}
	put(o, "engines", engines);
	return o;
}

char *compare_json(const struct compare *c, const struct machine *m)
{
	json_object *o = json_object_new_object();
	json_object *traces = json_object_new_array();
	const char *text;
	char *copy = NULL;

	put_count(o, "version", 1);
	put_text(o, "tool", "uslab compare");
	put_text(o, "uslab", USLAB_VERSION_TEXT);
	put_text(o, "command", c->options.command);
	put(o, "machine", new_machine(m));
	put_count(o, "rounds", c->options.rounds);
	put_text(o, "touch", replay_touch_name(c->options.touch));
	put(o, "topology", new_topology(&c->options));
	for (unsigned int i = 0; i < c->nr_traces; i++)
		json_object_array_add(traces, new_trace(c, &c->traces[i]));
	put(o, "traces", traces);
	put(o, "summary", new_summary(c));
	text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_NOSLASHESCAPE);
	if (text && asprintf(&copy, "%s\n", text) < 0)
		copy = NULL;
	json_object_put(o);
	return copy;
}
