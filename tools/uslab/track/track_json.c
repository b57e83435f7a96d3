/* SPDX-License-Identifier: MIT */
/*
 * uslab/track/track_json.c - call sites as JSON, one object to a line
 *
 * Flow:       called by track_run.c; calls track_print.c, symbols/resolve.c, json_values.c and
 *             json-c. In: rows; out: one line.
 */
#include <math.h>

#include "json_values.h"
#include "track/track.h"

/* NAN, which is not known, is null. */
static void add_number(struct json_object *to, const char *key, double value, bool *failed)
{
	if (isnan(value))
		json_add_null(to, key, failed);
	else
		json_add(to, key, json_object_new_double(value), failed);
}

/* frame: one of those at that address. */
static struct json_object *frame_json(const struct resolve_name *name,
				      const struct resolve_frame *frame, uint64_t pc, bool *failed)
{
	struct json_object *object = json_object_new_object();
	bool inlined = frame != &name->frame[name->nr_frames - 1];

	json_add(object, "address", json_new_address(pc), failed);
	json_add(object, "function", json_object_new_string(frame->function), failed);
	json_add(object, "symbol", json_object_new_string(frame->symbol), failed);
	json_add(object, "inlined", json_object_new_boolean(inlined), failed);
	json_add(object, "object", json_object_new_string(name->object), failed);
	json_add(object, "module", json_object_new_string(name->mapping.path), failed);
	json_add(object, "module_offset", json_new_address(name->mapping.address), failed);
	json_add(object, "build_id", json_object_new_string(name->mapping.build_id), failed);
	json_add(object, "file", json_object_new_string(frame->file), failed);
	if (frame->line)
		json_add(object, "line", json_object_new_uint64(frame->line), failed);
	else
		json_add_null(object, "line", failed);
	return object;
}

/* Innermost first, as the stack is. */
static void append_frames(struct json_object *stack, struct tracking *t, uint64_t pc, bool *failed)
{
	const struct resolve_name *name = resolve_address(t->resolve, pc);

	for (unsigned int i = 0; i < name->nr_frames; i++)
		json_append(stack, frame_json(name, &name->frame[i], pc, failed), failed);
}

static struct json_object *age_json(const struct track_row *row, bool *failed)
{
	struct json_object *object = json_object_new_object();

	json_add(object, "min", json_object_new_uint64(row->age_min), failed);
	json_add(object, "mean", json_object_new_double(row->age_mean), failed);
	json_add(object, "max", json_object_new_uint64(row->age_max), failed);
	return object;
}

/* known: else the number is null, and only the ends are there. */
static void add_estimate(struct json_object *to, const char *key, const struct estimate *e,
			 bool known, bool *failed)
{
	char text[64];

	add_number(to, key, known ? e->value : NAN, failed);
	snprintf(text, sizeof(text), "%s_low", key);
	add_number(to, text, e->low, failed);
	snprintf(text, sizeof(text), "%s_high", key);
	add_number(to, text, e->high, failed);
}

static void add_numbers(struct json_object *object, const struct track_row *row, bool *failed)
{
	add_estimate(object, "objects", &row->objects, !row->vague, failed);
	add_estimate(object, "bytes", &row->bytes, !row->vague, failed);
	add_estimate(object, "kept_per_second", &row->kept, !row->vague, failed);
	add_estimate(object, "kept_bytes_per_second", &row->kept_bytes, !row->vague, failed);
	add_estimate(object, "share", &row->share, !row->vague, failed);
	json_add(object, "too_few_samples", json_object_new_boolean(row->vague), failed);
}

static struct json_object *site_json(struct tracking *t, const struct track_row *row, bool *failed)
{
	uint64_t pc = track_site_of(t, row);
	const struct resolve_name *name = resolve_address(t->resolve, pc);
	struct json_object *object = frame_json(name, &name->frame[name->site], pc, failed);
	struct json_object *stack = json_object_new_array();

	json_add(object, "cache", json_object_new_string(t->cache[row->cache].name), failed);
	json_add(object, "caches", json_object_new_uint64(row->nr_caches), failed);
	add_numbers(object, row, failed);
	json_add(object, "tracked", json_object_new_uint64(row->tracked), failed);
	json_add(object, "age_ms", age_json(row, failed), failed);
	for (unsigned int i = 0; i < row->nr; i++)
		append_frames(stack, t, row->pc[i], failed);
	json_add(object, "stack", stack, failed);
	return object;
}

static struct json_object *cache_json(const struct track_cache *c, bool *failed)
{
	struct json_object *object = json_object_new_object();

	json_add(object, "name", json_object_new_string(c->name), failed);
	json_add(object, "sampled", json_object_new_boolean(c->sampled), failed);
	json_add(object, "objects", json_object_new_uint64(c->live), failed);
	json_add(object, "tracked", json_object_new_uint64(c->tracked), failed);
	add_number(object, "growth_bytes_per_second", c->growth, failed);
	return object;
}

static struct json_object *all_json(struct tracking *t, bool *failed)
{
	struct json_object *object = json_object_new_object();
	struct json_object *caches = json_object_new_array();
	struct json_object *sites = json_object_new_array();

	json_add(object, "source", json_object_new_string(t->source.title), failed);
	add_number(object, "seconds", t->table.seconds > 0 ? t->table.seconds : NAN, failed);
	json_add(object, "at_least", json_object_new_boolean(t->table.at_least), failed);
	json_add(object, "estimated", json_object_new_boolean(t->table.estimated), failed);
	for (unsigned int i = 0; i < t->nr_caches; i++)
		json_append(caches, cache_json(&t->cache[i], failed), failed);
	json_add(object, "caches", caches, failed);
	for (unsigned int i = 0; i < t->table.nr && i < t->options->top; i++)
		json_append(sites, site_json(t, &t->table.row[i], failed), failed);
	json_add(object, "sites", sites, failed);
	return object;
}

int track_print_json(FILE *out, struct tracking *t)
{
	bool failed = false;
	struct json_object *object = all_json(t, &failed);

	return json_print(out, object, JSON_C_TO_STRING_PLAIN, failed);
}
