/* SPDX-License-Identifier: MIT */
/*
 * uslab/compare/compare_json.h - what the parts of the JSON of `uslab compare` share
 */
#ifndef TOOLS_COMPARE_JSON_H
#define TOOLS_COMPARE_JSON_H

#include "compare/compare.h"

#include <json-c/json.h>
#include <stddef.h>

/* One of the readings, by its offset in struct job_bytes. */
#define SLAB offsetof(struct job_bytes, slab)
#define REQUESTED offsetof(struct job_bytes, requested)
#define QUEUE offsetof(struct job_bytes, queue)
#define CPU_SLAB offsetof(struct job_bytes, cpu_slab)

static inline uint64_t reading(const struct job_bytes *bytes, size_t offset)
{
	return *(const uint64_t *)((const char *)bytes + offset);
}

/* NULL, which json-c prints as null, for what is no number. */
json_object *compare_json_number(double value, int digits);

/* ---- compare_scale_json.c ---- */

/* The scaling runs of a trace; NULL: there were none. */
json_object *compare_json_scaling(const struct compared_trace *t);

#endif /* TOOLS_COMPARE_JSON_H */
