/* SPDX-License-Identifier: MIT */
/*
 * uslab/compare/compare_json.h - what the parts of the JSON of `uslab compare` share
 */
#ifndef TOOLS_COMPARE_JSON_H
#define TOOLS_COMPARE_JSON_H

#include "compare/compare.h"
#include "json_values.h"

#include <stddef.h>

/* One of the readings, by its offset in struct job_bytes. */
#define SLAB offsetof(struct job_bytes, slab)
#define REQUESTED offsetof(struct job_bytes, requested)
#define QUEUE offsetof(struct job_bytes, queue)
#define CPU_SLAB offsetof(struct job_bytes, cpu_slab)

/* offset: one of the above. */
static inline uint64_t reading(const struct job_bytes *bytes, size_t offset)
{
	return *(const uint64_t *)((const char *)bytes + offset);
}

/* ---- compare_scale_json.c ---- */

/* The scaling runs of a trace; NULL: there were none. */
json_object *compare_json_scaling(const struct compared_trace *t);

#endif /* TOOLS_COMPARE_JSON_H */
