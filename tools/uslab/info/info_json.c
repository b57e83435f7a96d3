/* SPDX-License-Identifier: MIT */
/*
 * uslab/info/info_json.c - a snapshot as JSON; every key comes from inspect/fields.def
 *
 * Flow:       called by cmd_info.c and info_library.c; calls info_rows.c, json_values.c and json-c.
 *             In: snapshots; out: one document, or nothing.
 */
#include <stdio.h>
#include <string.h>

#include "info/info.h"
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
		"ctor_address", "cpu_partial_slabs", "capacity",	 "objects_held",
		"objects_cpu",	"objects_depot",     "objects_shared",	 "objects_alien",
		"depot_limit",	"depot_overflows",   "depot_underflows", "depot_exchanges",
		"debug_slabs",	"guarded",	     "tracked",		 "sampled",
		"objects_lent",
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
		json_add(top, "tree", json_object_new_string(source->tree), failed);
		json_add(top, "title", json_object_new_string(source->title), failed);
		return;
	}
	if (source->options.kind == SOURCE_CORE)
		json_add(top, "core", json_object_new_string(source->options.core), failed);
	json_add(top, "pid", json_object_new_int((int)source->target.pid), failed);
	json_add(top, "program", json_object_new_string(source->target.program), failed);
	json_add(top, "object", json_object_new_string(source->root->object), failed);
	json_add(top, "uslab", totals_json(&subject->s->totals, failed), failed);
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
