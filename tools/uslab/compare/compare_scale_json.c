/* SPDX-License-Identifier: MIT */
/*
 * uslab/compare/compare_scale_json.c - what grows with the CPUs, as JSON
 *
 * Flow:       called by compare_json.c; calls json_values.c for numbers. In: a trace's scaling;
 *             out: a json_object, NULL without scaling runs.
 */
#include "compare/compare_json.h"

#include <math.h>

/* One reading of the peaks, or of those on one node, on each number of CPUs. */
static json_object *new_scaled(const struct scaling *s, const struct scale_point *points,
			       size_t offset, bool one_node)
{
	json_object *array = json_object_new_array();

	for (unsigned int at = 0; at < s->nr; at++) {
		const struct scale_point *p = &points[at];
		uint64_t value = reading(one_node ? &p->one_node : &p->peak, offset);

		json_object_array_add(array, p->ok ? json_object_new_uint64(value) : NULL);
	}
	return array;
}

static json_object *new_scaled_times(const struct scaling *s, const struct scale_point *points)
{
	json_object *array = json_object_new_array();

	for (unsigned int at = 0; at < s->nr; at++)
		json_object_array_add(
			array, json_new_decimal(points[at].ok ? points[at].ns_per_op : NAN, 3));
	return array;
}

static json_object *new_scaled_engine(const struct scaling *s, unsigned int kind, bool constant)
{
	const struct scale_point *points = constant ? s->constant[kind] : s->points[kind];
	json_object *o = json_object_new_object();

	json_object_object_add(o, "queue_bytes", new_scaled(s, points, QUEUE, false));
	json_object_object_add(o, "cpu_slab_bytes", new_scaled(s, points, CPU_SLAB, false));
	json_object_object_add(o, "slab_bytes", new_scaled(s, points, SLAB, false));
	if (constant)
		return o;
	json_object_object_add(o, "ns_per_op", new_scaled_times(s, points));
	json_object_object_add(o, "queue_bytes_one_node", new_scaled(s, points, QUEUE, true));
	json_object_object_add(o, "cpu_slab_bytes_one_node", new_scaled(s, points, CPU_SLAB, true));
	return o;
}

static json_object *new_series(const struct scaling *s, bool constant, size_t operations)
{
	json_object *o = json_object_new_object();
	json_object *cpus = json_object_new_array();
	json_object *nodes = json_object_new_array();
	json_object *engines = json_object_new_object();

	for (unsigned int at = 0; at < s->nr; at++) {
		json_object_array_add(cpus, json_object_new_int64(s->cpus[at]));
		json_object_array_add(nodes, json_object_new_int64(s->nodes[at]));
	}
	for (unsigned int kind = 0; kind < COMPARE_NR; kind++)
		if (s->chosen & 1u << kind)
			json_object_object_add(engines, compare_kinds[kind].name,
					       new_scaled_engine(s, kind, constant));
	json_object_object_add(o, "cpus", cpus);
	json_object_object_add(o, "nodes", nodes);
	json_object_object_add(o, constant ? "operations" : "events",
			       json_object_new_uint64(operations));
	json_object_object_add(o, "engines", engines);
	return o;
}

json_object *compare_json_scaling(const struct compared_trace *t)
{
	json_object *o;

	if (!t->scaling.nr)
		return NULL;
	o = new_series(&t->scaling, false, t->shared.nr_ops);
	json_object_object_add(o, "constant", new_series(&t->scaling, true, t->whole.nr_ops));
	return o;
}
