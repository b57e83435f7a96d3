/* SPDX-License-Identifier: MIT */
/*
 * uslab/info/info_json.c - a snapshot as JSON; every key comes from inspect/fields.def
 *
 * json-c answers out of memory with NULL at every step, and adding NULL would write "null": a step
 * that fails marks the whole document as failed.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "info/info.h"

static void add(struct json_object *to, const char *key, struct json_object *value, bool *failed)
{
	if (!to || !value || json_object_object_add(to, key, value)) {
		json_object_put(value);
		*failed = true;
	}
}

static void append(struct json_object *to, struct json_object *value, bool *failed)
{
	if (!to || !value || json_object_array_add(to, value)) {
		json_object_put(value);
		*failed = true;
	}
}

static struct json_object *new_bool(uint64_t value)
{
	return json_object_new_boolean(value != 0);
}

static struct json_object *new_address(uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)value);
	return json_object_new_string(text);
}

/* A number, or for members of type bool true and false. */
#define NEW_FIELD(value) \
	(_Generic((value), bool : new_bool, default : json_object_new_uint64)(value))

static struct json_object *totals_json(const struct snapshot_totals *t, bool *failed)
{
	struct json_object *object = json_object_new_object();

#define TOTAL_TEXT(member, size, key, help) \
	add(object, key, json_object_new_string(t->member), failed);
#define TOTAL_FIELD(type, member, key, help) add(object, key, NEW_FIELD(t->member), failed);
#define TOTAL_ADDRESS(member, key, help) add(object, key, new_address(t->member), failed);
#include "inspect/fields.def"
	return object;
}

static struct json_object *flags_json(slab_flags_t flags, bool *failed)
{
	struct json_object *object = json_object_new_object();

#define CACHE_FLAG(letter, bit, key, help) add(object, key, new_bool(flags &(bit)), failed);
#define CACHE_BIT(bit, key, help) add(object, key, new_bool(flags &(bit)), failed);
#include "inspect/fields.def"
	return object;
}

/* What is not known. */
static void add_null(struct json_object *to, const char *key, bool *failed)
{
	if (!to || json_object_object_add(to, key, NULL))
		*failed = true;
}

/* Numbers that no kernel tells in its tree (tools/uslab/process/tree.c), by their keys. */
static bool is_in_tree(const char *key)
{
	static const char *const missing[] = {
		"ctor_address", "cpu_partial_slabs", "capacity",       "objects_held",
		"objects_cpu",	"objects_depot",     "objects_shared", "objects_alien",
		"debug_slabs",	"guarded",	     "tracked",	       "sampled",
	};

	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
		if (!strcmp(key, missing[i]))
			return false;
	return true;
}

static struct json_object *stats_json(const unsigned long *stat, bool *failed)
{
	struct json_object *object = json_object_new_object();

#define CACHE_STAT(item, key, help) add(object, key, json_object_new_uint64(stat[item]), failed);
#include "inspect/fields.def"
	return object;
}

static struct json_object *node_json(const struct snapshot_node *node, unsigned int number,
				     bool *failed)
{
	struct json_object *object = json_object_new_object();

#define ADD(member) add(object, #member, json_object_new_uint64(node->member), failed)
	add(object, "node", json_object_new_uint64(number), failed);
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
			append(array, node_json(&c->node[i], i, failed), failed);
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
	add(object, key, json_object_new_string(c->member), failed);
#define CACHE_FIELD(type, member, key, help)   \
	if (tree && !is_in_tree(key))          \
		add_null(object, key, failed); \
	else                                   \
		add(object, key, NEW_FIELD(c->member), failed);
#include "inspect/fields.def"
	for (unsigned int i = 1; i <= c->nr_aliases; i++)
		append(aliases, json_object_new_string(info_name(s, c, i)), failed);
	add(object, "aliases", aliases, failed);
	add(object, "nodes", nodes_json(c, failed), failed);
	add(object, "flags", flags_json(c->flags, failed), failed);
	if (c->no_stats)
		add_null(object, "stats", failed);
	else
		add(object, "stats", stats_json(c->stat, failed), failed);
	return object;
}

static void add_source(struct json_object *top, const struct info_subject *subject, bool *failed)
{
	const struct source *source = &subject->source;

	if (source->options.kind == SOURCE_TREE) {
		add(top, "tree", json_object_new_string(source->tree), failed);
		add(top, "title", json_object_new_string(source->title), failed);
		return;
	}
	if (source->options.kind == SOURCE_CORE)
		add(top, "core", json_object_new_string(source->options.core), failed);
	add(top, "pid", json_object_new_int((int)source->target.pid), failed);
	add(top, "program", json_object_new_string(source->target.program), failed);
	add(top, "object", json_object_new_string(source->root->object), failed);
	add(top, "uslab", totals_json(&subject->s->totals, failed), failed);
}

static struct json_object *subject_json(const struct info_subject *subject, const char *time,
					bool *failed)
{
	struct json_object *top = json_object_new_object();
	struct json_object *caches = json_object_new_array();

	if (time)
		add(top, "time", json_object_new_string(time), failed);
	add_source(top, subject, failed);
	for (unsigned int i = 0; i < subject->nr_rows; i++)
		append(caches, cache_json(subject, subject->rows[i].cache, failed), failed);
	add(top, "caches", caches, failed);
	return top;
}

int info_print_json(const struct info_subject *subjects, unsigned int count, const char *time)
{
	struct json_object *top = NULL;
	bool failed = false;
	const char *text;

	if (count == 1) {
		top = subject_json(subjects, time, &failed);
	} else {
		top = json_object_new_array();
		for (unsigned int i = 0; i < count; i++)
			if (subjects[i].open)
				append(top, subject_json(&subjects[i], time, &failed), &failed);
	}
	text = failed ? NULL
		      : json_object_to_json_string_ext(top, JSON_C_TO_STRING_PRETTY |
								    JSON_C_TO_STRING_NOSLASHESCAPE);
	if (text)
		puts(text);
	json_object_put(top);
	return text ? 0 : -ENOMEM;
}
