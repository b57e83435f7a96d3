/* SPDX-License-Identifier: MIT */
/*
 * uslab/replay/replay_report.c - what a replay found, as text or as JSON with the same numbers
 *
 * Flow:       called by cmd_replay.c; calls replay_stage.c and trace/trace_parse.c for names,
 *             json_values.c and json-c. In: struct replay; out: text or JSON on stdout.
 *
 * Section "trace" counts what the trace says; all others are of all copies that were performed.
 *
 * One walk (put_all) visits every number once, with its JSON key and its text; a sink writes it in
 * one form or the other. So neither form can have a number that the other lacks.
 */
#include "replay/replay_report.h"
#include "inspect/snapshot.h"
#include "json_values.h"
#include "util.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

struct sink {
	json_object *root;    /* NULL: text */
	json_object *section; /* JSON: object that numbers go to */
	bool failed;	      /* JSON: out of memory */
};

/* ---- one number ---- */

static json_object *new_object(struct sink *sink, json_object *parent, const char *key)
{
	json_object *object = json_object_new_object();

	json_add(parent, key, object, &sink->failed);
	/* After a failure numbers go to the root, which is thrown away. */
	return sink->failed ? sink->root : object;
}

static json_object *new_element(struct sink *sink, json_object *array)
{
	json_object *object = json_object_new_object();

	json_append(array, object, &sink->failed);
	return sink->failed ? sink->root : object;
}

static void put_section(struct sink *sink, const char *key, const char *title)
{
	if (sink->root)
		sink->section = new_object(sink, sink->root, key);
	else
		printf("%s\n", title);
}

static void put_text(struct sink *sink, const char *key, const char *label, const char *value)
{
	if (sink->root)
		json_add(sink->section, key, json_object_new_string(value), &sink->failed);
	else
		printf("  %-40s %14s\n", label, value);
}

static void put_count(struct sink *sink, const char *key, const char *label, uint64_t value)
{
	if (sink->root)
		json_add(sink->section, key, json_object_new_uint64(value), &sink->failed);
	else
		printf("  %-40s %14" PRIu64 "\n", label, value);
}

static void put_bytes(struct sink *sink, const char *key, const char *label, uint64_t value)
{
	char size[UTIL_SIZE_TEXT];

	if (sink->root)
		json_add(sink->section, key, json_object_new_uint64(value), &sink->failed);
	else
		printf("  %-40s %14" PRIu64 "  %s\n", label, value,
		       util_size(size, sizeof(size), value));
}

static void put_decimal(struct sink *sink, const char *key, const char *label, double value,
			int digits)
{
	if (sink->root)
		json_add(sink->section, key, json_new_decimal(value, digits), &sink->failed);
	else
		printf("  %-40s %14.*f\n", label, digits, value);
}

/* In JSON only; of no operation the time is not known. */
static void put_known(struct sink *sink, const char *key, bool known, double value)
{
	if (known)
		json_add(sink->section, key, json_new_decimal(value, 1), &sink->failed);
	else
		json_add_null(sink->section, key, &sink->failed);
}

/* ---- sections ---- */

/* What the trace says of its objects, of which each copy has as many. */
static void put_trace_objects(struct sink *sink, const struct trace_counts *c)
{
	put_count(sink, "allocations", "allocations", c->allocations);
	put_count(sink, "matched_frees", "matched frees", c->matched_frees);
	put_count(sink, "implied_frees", "  implied by a second allocation", c->implied_frees);
	put_count(sink, "unmatched_frees", "frees of pointers never seen", c->unmatched_frees);
	put_count(sink, "null_frees", "frees of NULL", c->null_frees);
	put_count(sink, "other_cache_frees", "frees that name another cache", c->other_cache_frees);
	put_count(sink, "failed", "allocations that failed in the kernel", c->failed);
	put_count(sink, "zero_size", "allocations of 0 bytes", c->zero_size);
	put_count(sink, "too_large", "allocations of more than 4 MiB", c->too_large);
}

static void put_trace(struct sink *sink, const struct trace_load *load)
{
	put_section(sink, "trace", "Trace");
	put_text(sink, "file", "file", load->path);
	put_count(sink, "lines", "lines", load->lines);
	put_count(sink, "events", "memory events", load->events);
	for (int kind = 0; kind < TRACE_NR_KINDS; kind++) {
		const char *name = trace_kind_name(kind);
		char label[40];

		snprintf(label, sizeof(label), "  %s", name);
		put_count(sink, name, label, load->ops.counts.events[kind]);
	}
	put_count(sink, "ignored", "other events", load->ignored);
	put_count(sink, "gaps", "places where the tracer lost events", load->gaps);
	put_count(sink, "lost", "events that it lost", load->lost);
	put_count(sink, "bad_lines", "lines left out", load->bad);
	put_count(sink, "early", "events over 1 ms out of order in time", load->early);
	put_count(sink, "cpus", "CPUs that have events", load->ops.counts.cpus);
	put_trace_objects(sink, &load->ops.counts);
}

/* What the library really used: its first cache says so, the kmalloc caches being always there. */
static const struct snapshot_cache *any_cache(const struct snapshot *s)
{
	for (unsigned int i = 0; i < s->nr_caches; i++)
		if (s->cache[i].id)
			return &s->cache[i];
	return NULL;
}

static void put_replay(struct sink *sink, const struct replay_report *report)
{
	const struct replay *replay = report->replay;
	const struct snapshot_cache *cache = any_cache(replay->snapshot);

	put_section(sink, "replay", "Replay");
	put_text(sink, "engine", "engine", cache ? cache->engine : "none used");
	put_text(sink, "front", "front", cache ? cache->front : "none used");
	put_text(sink, "merging", "merging", report->nomerge ? "off" : "on");
	put_text(sink, "touch", "bytes written to objects",
		 replay_touch_name(replay->options.touch));
	if (replay->cpu >= 0)
		put_count(sink, "cpu", "on CPU", (uint64_t)replay->cpu);
	if (replay->topology.made_up) {
		put_count(sink, "made_up_cpus", "made-up CPUs", replay->topology.cpus);
		put_count(sink, "made_up_nodes", "on nodes", replay->topology.nodes);
		put_count(sink, "copies", "copies of the trace", replay->copies);
	}
	put_count(sink, "rounds", "rounds", replay->options.rounds);
	put_count(sink, "caches", "caches in the trace", replay->trace->nr_caches);
	put_count(sink, "unknown_strides", "  with strides that nothing explains",
		  trace_ops_unknown_strides(replay->trace));
	put_count(sink, "library_caches", "caches that serve them", replay->nr_caches);
	put_decimal(sink, "seconds", "seconds per round", replay->result.seconds, 6);
}

static void put_objects(struct sink *sink, const struct replay_report *report)
{
	const struct replay *replay = report->replay;
	const struct replay_result *r = &replay->result;

	put_section(sink, "objects", "Objects");
	put_count(sink, "live", "live at the end", r->live);
	put_count(sink, "live_library", "live at the end, by the library", r->live_library);
	put_count(sink, "peak", "most alive at once",
		  replay->trace->counts.peak_objects * replay->copies);
	put_count(sink, "out_of_memory", "allocations that failed here", r->out_of_memory);
	if (replay->options.free_at_end)
		put_count(sink, "live_freed", "live after freeing all", r->live_freed);
}

static void put_memory(struct sink *sink, const struct replay_report *report)
{
	const struct replay *replay = report->replay;
	const struct trace_counts *c = &replay->trace->counts;
	const struct replay_result *r = &replay->result;

	put_section(sink, "bytes", "Bytes");
	put_bytes(sink, "requested_peak", "requested, peak", c->peak_bytes * replay->copies);
	put_bytes(sink, "requested_end", "requested, at the end", c->live_bytes * replay->copies);
	put_bytes(sink, "slabs_peak", "in slabs, peak", r->slab_peak);
	put_bytes(sink, "slabs_end", "in slabs, at the end", r->slab_end);
	put_bytes(sink, "large_peak", "in large kmallocs, peak", r->large_peak);
	put_bytes(sink, "large_end", "in large kmallocs, at the end", r->large_end);
	if (replay->options.free_at_end)
		put_bytes(sink, "slabs_freed", "in slabs, after freeing all", r->slab_freed);
}

static void put_times(struct sink *sink, const struct replay *replay)
{
	static const char *const verbs[REPLAY_NR_VERBS] = { "alloc", "free" };
	double overhead = replay->clock.overhead * replay->clock.ns_per_tick;
	double resolution = (double)replay->clock.resolution * replay->clock.ns_per_tick;
	json_object *time;

	put_section(sink, "time", "Time of one operation");
	put_text(sink, "clock", "clock", replay->clock.source);
	put_decimal(sink, "clock_ns", "its own cost in ns, taken off", overhead, 1);
	put_decimal(sink, "resolution_ns", "its resolution in ns", resolution, 1);
	if (!sink->root)
		printf("  %-8s %12s %10s %10s %10s %12s\n", "ns", "operations", "median", "p99",
		       "p99.9", "max");
	time = sink->section;
	for (int verb = 0; verb < REPLAY_NR_VERBS; verb++) {
		const struct replay_times *t = &replay->result.time[verb];

		if (!sink->root) {
			printf("  %-8s %12" PRIu64 " %10.1f %10.1f %10.1f %12.1f\n", verbs[verb],
			       t->count, t->median, t->p99, t->p99_9, t->max);
			continue;
		}
		sink->section = new_object(sink, time, verbs[verb]);
		put_count(sink, "operations", "", t->count);
		put_known(sink, "median_ns", t->count, t->median);
		put_known(sink, "p99_ns", t->count, t->p99);
		put_known(sink, "p99_9_ns", t->count, t->p99_9);
		put_known(sink, "max_ns", t->count, t->max);
	}
}

/* ---- event counters ---- */

static const char *const stat_names[NR_ENGINE_STATS] = {
#define CACHE_STAT(item, key, help) [item] = key,
#include "inspect/fields.def"
};

static bool has_events(const struct snapshot_cache *c)
{
	for (int item = 0; item < NR_ENGINE_STATS; item++)
		if (c->stat[item])
			return true;
	return false;
}

/* Every cache in which something happened; as text without the zeros. */
static void put_stats(struct sink *sink, const struct snapshot *s)
{
	json_object *all = NULL;

	if (sink->root) {
		all = json_object_new_array();
		json_add(sink->root, "statistics", all, &sink->failed);
	}
	for (unsigned int i = 0; i < s->nr_caches && !sink->failed; i++) {
		const struct snapshot_cache *c = &s->cache[i];

		if (!has_events(c))
			continue;
		if (sink->root)
			sink->section = new_element(sink, all);
		else
			printf("Events\n");
		put_text(sink, "name", "cache", c->name);
		put_count(sink, "object_size", "object size", c->object_size);
		for (int item = 0; item < NR_ENGINE_STATS; item++)
			if (sink->root || c->stat[item])
				put_count(sink, stat_names[item], stat_names[item], c->stat[item]);
	}
}

/* ---- the whole ---- */

static void put_all(struct sink *sink, const struct replay_report *report)
{
	put_trace(sink, report->load);
	put_replay(sink, report);
	put_objects(sink, report);
	put_memory(sink, report);
	put_times(sink, report->replay);
	if (report->stats)
		put_stats(sink, report->replay->snapshot);
}

int replay_print_text(const struct replay_report *report)
{
	struct sink sink = { 0 };

	put_all(&sink, report);
	return 0;
}

int replay_print_json(const struct replay_report *report)
{
	struct sink sink = { .root = json_object_new_object() };

	if (!sink.root)
		return -ENOMEM;
	put_all(&sink, report);
	return json_print(stdout, sink.root, JSON_PRETTY, sink.failed);
}
