/* SPDX-License-Identifier: MIT */
/*
 * uslab/bench/report_json.c - the results as JSON
 *
 * Flow:       called by cmd_bench.c; calls report.c, report_locality.c, run.c, stats.c, machine.c,
 *             catalogue.c, given_peers.c and json-c. In: struct session; out: a text to be freed.
 *
 * Everything that the text says and every single sample, so that runs can be compared by program.
 * bench/README.md lists the keys.
 */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "../util.h"

#include <json-c/json.h>
#include <string.h>

static void put_string(struct json_object *o, const char *key, const char *value)
{
	json_object_object_add(o, key, value && value[0] ? json_object_new_string(value) : NULL);
}

/* A path without the working folder in front: results are kept, and compared between machines. */
static const char *below_here(const char *path)
{
	static char here[PATH_MAX];
	size_t len;

	if (!path || !getcwd(here, sizeof(here)))
		return path;
	len = strlen(here);
	return !strncmp(path, here, len) && path[len] == '/' ? path + len + 1 : path;
}

/* Negative: not known. Six digits are more than a clock gives. */
static void put_number(struct json_object *o, const char *key, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.6g", value);
	json_object_object_add(o, key, value < 0 ? NULL : json_object_new_double_s(value, text));
}

static void put_int(struct json_object *o, const char *key, int64_t value)
{
	json_object_object_add(o, key, json_object_new_int64(value));
}

static void put_variable(const char *name, const char *value, void *object)
{
	json_object_object_add(object, name, json_object_new_string(value));
}

static struct json_object *machine_json(const struct machine *m)
{
	struct json_object *o = json_object_new_object();
	struct json_object *environment = json_object_new_object();

	put_string(o, "cpu", m->cpu);
	put_int(o, "cpus", m->cpus);
	put_int(o, "memory_bytes", (int64_t)m->memory);
	put_number(o, "load", m->load);
	put_string(o, "kernel", m->kernel);
	put_string(o, "libc", m->libc);
	put_string(o, "compiler", m->compiler);
	machine_environment(put_variable, environment);
	json_object_object_add(o, "environment", environment);
	return o;
}

static void put_known(struct json_object *o, const char *key, bool known, unsigned int value)
{
	put_number(o, key, known ? (double)value : -1);
}

static void put_protocol_settings(struct json_object *j, const struct session *s)
{
	const struct options *o = &s->options;
	unsigned int takes = s->benchmark->takes;

	put_known(j, "objects", takes & TAKES_OBJECTS, o->objects);
	put_known(j, "threads", takes & TAKES_THREADS, plan_threads(s));
	put_known(j, "groups", takes & TAKES_GROUPS, o->groups);
	put_known(j, "fds", takes & TAKES_GROUPS, o->fds);
	put_known(j, "loops", takes & TAKES_GROUPS, o->loops);
	put_known(j, "made_up_cpus", o->cpus, o->cpus);
	put_known(j, "made_up_nodes", o->cpus, o->nodes);
}

static struct json_object *settings_json(const struct session *s)
{
	const struct options *o = &s->options;
	struct json_object *j = json_object_new_object();
	struct json_object *cpus = json_object_new_array();

	put_int(j, "rounds", o->rounds);
	put_int(j, "ms", o->ms);
	put_int(j, "size", o->size ? o->size : s->benchmark->size);
	json_object_array_add(cpus, json_object_new_int(o->cpu[0]));
	if (plan_second_cpu(s))
		json_object_array_add(cpus, json_object_new_int(o->cpu[1]));
	json_object_object_add(j, "cpus", cpus);
	if (s->benchmark->columns)
		put_protocol_settings(j, s);
	else if (s->benchmark->takes & TAKES_BULK)
		put_known(j, "objects", o->objects, o->objects);
	else if (s->benchmark->takes & TAKES_OPS)
		put_int(j, "ops", o->ops);
	return j;
}

static struct json_object *metric_json(const struct session *s, const struct metric *m)
{
	const struct entry *peer = ratio_base(s, m->name);
	struct json_object *o = json_object_new_object();
	struct json_object *samples = json_object_new_array();

	put_number(o, "median", m->stats.median);
	put_number(o, "min", m->stats.min);
	put_number(o, "max", m->stats.max);
	put_number(o, "q1", m->stats.q1);
	put_number(o, "q3", m->stats.q3);
	put_number(o, "spread", m->stats.spread);
	put_number(o, "ratio",
		   peer ? stats_ratio(m->stats.median, entry_metric(peer, m->name)->stats.median)
			: -1);
	for (size_t i = 0; i < m->stats.n; i++) {
		char text[32];

		snprintf(text, sizeof(text), "%.6g", m->values[i]);
		json_object_array_add(samples, json_object_new_double_s(m->values[i], text));
	}
	json_object_object_add(o, "samples", samples);
	return o;
}

static struct json_object *counts_json(const struct session *s, const struct counts *c)
{
	struct json_object *o = json_object_new_object();

	if (s->benchmark->takes & TAKES_OPS) {
		put_number(o, "longest", c->longest);
		return o;
	}
	put_number(o, "single_step", c->stepped);
	put_number(o, "in_library", c->in_library);
	put_number(o, "callgrind", c->callgrind);
	return o;
}

static struct json_object *list_json(const struct list *l)
{
	struct json_object *o = json_object_new_array();

	for (size_t i = 0; l && i < l->n; i++)
		json_object_array_add(o, json_object_new_int64(l->values[i]));
	return o;
}

static struct json_object *locality_json(const struct entry *e)
{
	struct json_object *o = json_object_new_object();
	struct json_object *reuse = json_object_new_object();
	struct distances d;

	distances_of(&d, entry_list(e, "offsets"));
	put_int(o, "steps", (int64_t)d.steps);
	put_int(o, "stride_bytes", d.stride);
	put_int(o, "next_to", (int64_t)d.next_to);
	put_int(o, "within_page", (int64_t)d.within_page);
	put_int(o, "median_bytes", d.median);
	json_object_object_add(o, "lifo", json_object_new_boolean(reuse_is_lifo(e)));
	for (size_t i = 0; i < e->nr_lists; i++)
		if (!strncmp(e->lists[i].name, "reuse.", 6))
			json_object_object_add(reuse, e->lists[i].name + 6,
					       list_json(&e->lists[i]));
	json_object_object_add(o, "reuse_after_free_of", reuse);
	json_object_object_add(o, "offsets", list_json(entry_list(e, "offsets")));
	return o;
}

/* VARIABLE: VALUE of a peer given by its path; NULL: there are none. */
static struct json_object *variables_json(const struct given_peer *p)
{
	struct json_object *o = p && p->nr_variables ? json_object_new_object() : NULL;

	for (size_t i = 0; o && i < p->nr_variables; i++) {
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(p->variables[i], "="),
			 p->variables[i]);
		put_variable(name, strchr(p->variables[i], '=') + 1, o);
	}
	return o;
}

static struct json_object *entry_json(const struct session *s, const struct entry *e)
{
	struct json_object *o = json_object_new_object();
	struct json_object *metrics = json_object_new_object();

	put_string(o, "name", e->who->name);
	put_string(o, "role", role_name(e->who->role));
	put_string(o, "what", e->who->what);
	put_string(o, "conf", e->who->conf);
	put_string(o, "library",
		   given_peer_of(e->who) ? util_file_name(e->library_path)
					 : below_here(e->library_path));
	put_string(o, "package", e->package);
	put_string(o, "version", e->version);
	json_object_object_add(o, "environment", variables_json(given_peer_of(e->who)));
	for (size_t i = 0; i < e->nr_metrics; i++)
		json_object_object_add(metrics, e->metrics[i].name, metric_json(s, &e->metrics[i]));
	json_object_object_add(o, "metrics", metrics);
	if (s->options.counts)
		json_object_object_add(o, "instructions", counts_json(s, &e->counts));
	if (s->benchmark == benchmark_at(BENCH_LOCALITY))
		json_object_object_add(o, "locality", locality_json(e));
	return o;
}

/* What each column of the table is, and what others have published for it. */
static void put_columns(struct json_object *o, const struct benchmark *b)
{
	static const char *const names[NR_PUBLISHED] = { [PUBLISHED_SLOB] = "slob",
							 [PUBLISHED_SLOBSEG] = "slobseg",
							 [PUBLISHED_SLAB] = "slab",
							 [PUBLISHED_SLUB] = "slub" };
	struct json_object *all = json_object_new_array();

	put_string(o, "unit", b->unit);
	put_string(o, "published_by", b->source);
	for (const struct column *c = b->columns; c->metric; c++) {
		struct json_object *column = json_object_new_object();
		struct json_object *published = json_object_new_object();

		put_string(column, "metric", c->metric);
		put_string(column, "title", c->title);
		for (size_t i = 0; i < NR_PUBLISHED; i++)
			if (c->published[i] > 0)
				put_number(published, names[i], c->published[i]);
		json_object_object_add(column, "published", published);
		json_object_array_add(all, column);
	}
	json_object_object_add(o, "columns", all);
}

char *report_json(const struct session *s, const struct machine *m)
{
	const struct entry *peer = ratio_base(s, s->benchmark->key);
	struct json_object *o = json_object_new_object();
	struct json_object *all = json_object_new_array();
	const char *text;
	char *result = NULL;

	put_string(o, "benchmark", s->benchmark->name);
	put_string(o, "what", s->benchmark->what);
	put_string(o, "command", s->options.command);
	put_string(o, "version", USLAB_VERSION_TEXT);
	put_string(o, "date", m->date);
	put_string(o, "note", s->options.note);
	json_object_object_add(o, "machine", machine_json(m));
	json_object_object_add(o, "settings", settings_json(s));
	put_string(o, "key", s->benchmark->key);
	put_string(o, s->benchmark->columns ? "base" : "fastest_peer",
		   peer ? peer->who->name : NULL);
	if (s->benchmark->columns)
		put_columns(o, s->benchmark);
	for (size_t i = 0; i < s->nr; i++)
		json_object_array_add(all, entry_json(s, &s->entries[i]));
	json_object_object_add(o, "contestants", all);
	put_string(o, "count_note", s->count_note);
	text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY |
							 JSON_C_TO_STRING_NOSLASHESCAPE);
	if (text) {
		size_t length = strlen(text);

		result = malloc(length + 2);
		if (result)
			memcpy(mempcpy(result, text, length), "\n", 2);
	}
	json_object_put(o);
	return result;
}
