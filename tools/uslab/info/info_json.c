/* SPDX-License-Identifier: MIT */
/*
 * uslab/info/info_json.c - a snapshot as JSON; every key comes from inspect/fields.def
 *
 * Flow:       called by cmd_info.c and info_library.c; calls info_rows.c, info_memory.c,
 *             memory_text.c, json_values.c and json-c. In: snapshots; out: one document, or
 *             nothing.
 */
#include <stdio.h>
#include <string.h>

#include "info/info.h"
#include "info/memory_text.h"
#include "json_values.h"

static struct json_object *new_bool(uint64_t value)
{
	return json_object_new_boolean(value != 0);
}

/* A number, or for members of type bool true and false. */
#define NEW_FIELD(value) \
	(_Generic((value), bool : new_bool, default : json_object_new_uint64)(value))

static struct json_object *totals_json(const struct snapshot_totals *t, bool *failed)
{
	struct json_object *object = json_object_new_object();

#define TOTAL_TEXT(member, size, key, help) \
	json_add(object, key, json_object_new_string(t->member), failed);
#define TOTAL_FIELD(type, member, key, help) json_add(object, key, NEW_FIELD(t->member), failed);
#define TOTAL_ADDRESS(member, key, help) json_add(object, key, json_new_address(t->member), failed);
#include "inspect/fields.def"
	return object;
}

static struct json_object *flags_json(slab_flags_t flags, bool *failed)
{
	struct json_object *object = json_object_new_object();

#define CACHE_FLAG(letter, bit, key, help) json_add(object, key, new_bool(flags &(bit)), failed);
#define CACHE_BIT(bit, key, help) json_add(object, key, new_bool(flags &(bit)), failed);
#include "inspect/fields.def"
	return object;
}

/* Numbers that no kernel tells in its tree (tools/uslab/process/tree.c), by their keys. */
static bool is_in_tree(const char *key)
{
	static const char *const missing[] = {
		"ctor_address",	 "cpu_partial_slabs", "capacity",	   "objects_held",
		"objects_cpu",	 "objects_depot",     "objects_shared",	   "objects_alien",
		"depot_limit",	 "depot_overflows",   "depot_underflows",  "depot_exchanges",
		"debug_slabs",	 "guarded",	      "tracked",	   "sampled",
		"objects_lent",	 "movable",	      "defrag_used_ratio", "defrag_slabs",
		"defrag_bytes",	 "defrag_moved",      "defrag_refused",	   "limit",
		"limit_refused",
	};

	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
		if (!strcmp(key, missing[i]))
			return false;
	return true;
}

static struct json_object *stats_json(const unsigned long *stat, bool *failed)
{
	struct json_object *object = json_object_new_object();

#define CACHE_STAT(item, key, help) \
	json_add(object, key, json_object_new_uint64(stat[item]), failed);
#include "inspect/fields.def"
	return object;
}

static struct json_object *node_json(const struct snapshot_node *node, unsigned int number,
				     bool *failed)
{
	struct json_object *object = json_object_new_object();

#define ADD(member) json_add(object, #member, json_object_new_uint64(node->member), failed)
	json_add(object, "node", json_object_new_uint64(number), failed);
	ADD(slabs);
	ADD(partial);
	ADD(cpu_slabs);
	ADD(total_objects);
	ADD(objects_partial);
#undef ADD
	return object;
}

/* Nodes where the cache has slabs. */
static struct json_object *nodes_json(const struct snapshot_cache *c, bool *failed)
{
	struct json_object *array = json_object_new_array();

	for (unsigned int i = 0; i < SNAPSHOT_MAX_NODES; i++)
		if (c->node[i].slabs)
			json_append(array, node_json(&c->node[i], i, failed), failed);
	return array;
}

static void add_bytes(struct json_object *to, const char *key, unsigned long bytes, bool *failed)
{
	json_add(to, key, json_object_new_uint64(bytes), failed);
}

/* Resident bytes of a cache, where they are known. */
static void add_cache_memory(struct json_object *to, const struct memory_cache *m, bool *failed)
{
	struct json_object *object;

	if (!m) {
		json_add_null(to, "memory", failed);
		return;
	}
	object = json_object_new_object();
	add_bytes(object, "live", m->live, failed);
	add_bytes(object, "padding", m->padding, failed);
	add_bytes(object, "held_cpu", m->held_cpu, failed);
	add_bytes(object, "held_node", m->held_node, failed);
	add_bytes(object, "lent", m->lent, failed);
	add_bytes(object, "free", m->free, failed);
	add_bytes(object, "tails", m->tails, failed);
	add_bytes(object, "estimated", m->estimated, failed);
	json_add(to, "memory", object, failed);
}

/* Those of the process: kinds, and sums of them. */
static void add_memory(struct json_object *to, const struct info_subject *subject, bool *failed)
{
	const struct resident *r = subject->resident;
	struct json_object *object, *kinds;

	if (!r || subject->memory_error) {
		json_add_null(to, "memory", failed);
		return;
	}
	object = json_object_new_object();
	kinds = json_object_new_object();
	for (enum memory_kind kind = 0; kind < NR_MEMORY_KINDS; kind++)
		add_bytes(kinds, memory_key(kind), r->memory.kind[kind], failed);
	json_add(object, "kinds", kinds, failed);
	for (enum memory_sum sum = 0; sum < NR_MEMORY_SUMS; sum++)
		json_add(object, memory_sum_key(sum), json_object_new_int64(memory_sum(r, sum)),
			 failed);
	json_add(to, "memory", object, failed);
}

/* Of the machine; none with one node. */
static struct json_object *machine_nodes_json(const struct snapshot *s, bool *failed)
{
	struct json_object *array = json_object_new_array();

	for (unsigned int i = 0; s->totals.nodes > 1 && i < s->totals.nodes; i++) {
		struct json_object *object = json_object_new_object();

		json_add(object, "node", json_object_new_uint64(i), failed);
#define NODE_FIELD(member, key, help) \
	json_add(object, key, json_object_new_uint64(s->node[i].member), failed);
#include "inspect/fields.def"
		json_append(array, object, failed);
	}
	return array;
}

static struct json_object *cache_json(const struct info_subject *subject,
				      const struct snapshot_cache *c, bool *failed)
{
	const struct snapshot *s = subject->s;
	bool tree = subject->source.options.kind == SOURCE_TREE;
	struct json_object *object = json_object_new_object();
	struct json_object *aliases = json_object_new_array();

#define CACHE_TEXT(member, size, key, help) \
	json_add(object, key, json_object_new_string(c->member), failed);
#define CACHE_FIELD(type, member, key, help)        \
	if (tree && !is_in_tree(key))               \
		json_add_null(object, key, failed); \
	else                                        \
		json_add(object, key, NEW_FIELD(c->member), failed);
#include "inspect/fields.def"
	for (unsigned int i = 1; i <= c->nr_aliases; i++)
		json_append(aliases, json_object_new_string(info_name(s, c, i)), failed);
	json_add(object, "aliases", aliases, failed);
	json_add(object, "nodes", nodes_json(c, failed), failed);
	json_add(object, "flags", flags_json(c->flags, failed), failed);
	add_cache_memory(object, info_memory_of(subject, c), failed);
	if (c->no_stats)
		json_add_null(object, "stats", failed);
	else
		json_add(object, "stats", stats_json(c->stat, failed), failed);
	return object;
}

static void add_source(struct json_object *top, const struct info_subject *subject, bool *failed)
{
	const struct source *source = &subject->source;

	if (source->options.kind == SOURCE_TREE) {
		json_add(top, "tree", json_new_printable(source->tree), failed);
		json_add(top, "title", json_object_new_string(source->title), failed);
		return;
	}
	if (source->options.kind == SOURCE_CORE)
		json_add(top, "core", json_new_printable(source->options.core), failed);
	json_add(top, "pid", json_object_new_int((int)source->target.pid), failed);
	json_add(top, "program", json_object_new_string(source->target.program), failed);
	json_add(top, "object", json_new_printable(source->root->object), failed);
	json_add(top, "uslab", totals_json(&subject->s->totals, failed), failed);
	add_memory(top, subject, failed);
	json_add(top, "nodes", machine_nodes_json(subject->s, failed), failed);
}

static struct json_object *subject_json(const struct info_subject *subject, const char *time,
					bool *failed)
{
	struct json_object *top = json_object_new_object();
	struct json_object *caches = json_object_new_array();

	if (time)
		json_add(top, "time", json_object_new_string(time), failed);
	add_source(top, subject, failed);
	for (unsigned int i = 0; i < subject->nr_rows; i++)
		json_append(caches, cache_json(subject, subject->rows[i].cache, failed), failed);
	json_add(top, "caches", caches, failed);
	return top;
}

int info_print_json(FILE *out, const struct info_subject *subjects, unsigned int count,
		    const char *time)
{
	struct json_object *top = NULL;
	bool failed = false;

	if (count == 1) {
		top = subject_json(subjects, time, &failed);
	} else {
		top = json_object_new_array();
		for (unsigned int i = 0; i < count; i++)
			if (subjects[i].open)
				json_append(top, subject_json(&subjects[i], time, &failed),
					    &failed);
	}
	return json_print(out, top, JSON_PRETTY, failed);
}
