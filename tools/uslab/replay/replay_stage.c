/* SPDX-License-Identifier: MIT */
/*
 * uslab/replay/replay_stage.c - caches and objects of a trace that is being performed
 *
 * Invariants: objects[] has exactly the objects that are alive after the operations so far.
 * Locks:      none: one thread, which may act for several CPUs.
 * Flow:       called by replay_run.c, replay_report.c, cmd_replay.c and compare/; calls
 *             inspect/act.c, inspect/classes.c, trace/trace_ops.c, trace/trace_stride.c,
 *             trace/trace_thin.c and the public API. In: struct trace_ops; out: calls of kmalloc()
 *             and kmem_cache_alloc() with their times.
 *
 * Which class an object has is known from the operation that made it and stored nowhere else.
 * stage_walk() therefore goes through the operations backwards: the first allocation in a slot that
 * it meets is the one whose object is in the slot.
 */
#define _GNU_SOURCE
#include "replay/replay_stage.h"
#include "trace/trace_stride.h"
#include "trace/trace_thin.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOUCH_LINE 64u
#define TOUCH_BYTE 0xa5
#define PAGE 4096u

unsigned int stage_copies(const struct trace_ops *trace, unsigned int cpus)
{
	uint64_t loaded = trace->counts.cpus ? trace->counts.cpus : 1;

	return cpus > loaded ? (unsigned int)(cpus / loaded) : 1;
}

int stage_pin(int cpu)
{
	cpu_set_t *set;
	size_t size;
	int ret;

	if (cpu < 0)
		cpu = sched_getcpu();
	if (cpu < 0)
		return -1;
	set = CPU_ALLOC(cpu + 1);
	if (!set)
		return -1;
	size = CPU_ALLOC_SIZE(cpu + 1);
	CPU_ZERO_S(size, set);
	CPU_SET_S(cpu, size, set);
	ret = sched_setaffinity(0, size, set);
	CPU_FREE(set);
	return ret ? -1 : cpu;
}

int stage_init(struct stage *s)
{
	act_topology(&s->topology);
	s->acting = s->topology.cpus;
	s->caches = calloc(s->trace->nr_caches + 1u, sizeof(struct kmem_cache *));
	s->objects = calloc((size_t)s->copies * s->trace->nr_slots + 1u, sizeof(void *));
	s->parts = calloc(s->trace->nr_slots + 1u, sizeof(*s->parts));
	s->ranks = calloc(TRACE_MAX_CPUS, sizeof(*s->ranks));
	if (!s->caches || !s->objects || !s->parts || !s->ranks)
		return -ENOMEM;
	trace_ops_rank_cpus(s->trace, s->ranks);
	return 0;
}

void stage_exit(struct stage *s)
{
	free(s->caches);
	free(s->objects);
	free(s->parts);
	free(s->ranks);
	s->caches = NULL;
	s->objects = NULL;
	s->parts = NULL;
	s->ranks = NULL;
}

/* ---- caches ---- */

/* Kernels since 6.18 ask for sheaves of so many objects, 0: for none (uslab's spec, 10.4). */
static unsigned int asked_by_kernel(const char *name)
{
	return !strcmp(name, "maple_node") || !strcmp(name, "vm_area_struct") ? 32 : 0;
}

/* Has SLUB keep its pointer behind the object. What the kernel's constructor does is not known. */
static void constructor(void *object)
{
	(void)object;
}

/*
 * As the kernel's: with the same stride, and merged as there. A name in a trace is that of a cache
 * after merging, so caches with names stay apart.
 */
static struct kmem_cache *create_cache(const struct stage *s, const struct trace_cache *c)
{
	struct trace_stride stride = trace_stride_of(c->size, c->stride);
	struct kmem_cache_args args = { .engine = s->engine,
					.front = s->front,
					.align = stride.align,
					.ctor = stride.outside ? constructor : NULL,
					.sheaf_capacity = asked_by_kernel(c->name) };
	slab_flags_t flags = (c->named ? SLAB_NO_MERGE : 0) | (c->accounted ? SLAB_ACCOUNT : 0);

	return kmem_cache_create_args(c->name, c->size, &args, flags);
}

/* Bytes of the objects of the cache that serves that one of kmalloc's. */
static uint32_t kmalloc_cache_size(const struct stage *s, const struct trace_cache *c)
{
	return c->size > s->classes.min ? c->size : s->classes.min;
}

/* An earlier one of that kind which serves the size as well. NULL: there is none. */
static struct kmem_cache *find_kmalloc_cache(const struct stage *s, uint32_t number)
{
	const struct trace_cache *caches = s->trace->caches;

	for (uint32_t i = 0; i < number; i++)
		if (caches[i].kmalloc == caches[number].kmalloc &&
		    kmalloc_cache_size(s, &caches[i]) == kmalloc_cache_size(s, &caches[number]))
			return s->caches[i];
	return NULL;
}

/* As kmalloc()'s own (spec 5.6), whose engine and front it has. */
static struct kmem_cache *create_kmalloc_cache(const struct stage *s, const struct trace_cache *c)
{
	uint32_t size = kmalloc_cache_size(s, c);
	struct kmem_cache_args args = { .align = size & (size - 1) ? 0 : size };
	slab_flags_t flags = s->classes.flags | SLAB_NO_MERGE | (c->accounted ? SLAB_ACCOUNT : 0);
	char name[TRACE_CACHE_NAME];

	if (args.align > PAGE)
		args.align = PAGE;
	trace_kmalloc_name(name, c->kmalloc, size);
	return kmem_cache_create_args(name, size, &args, flags);
}

/* Cache number i of the trace. False: there was no memory. */
static bool make_cache(struct stage *s, uint32_t i)
{
	const struct trace_cache *c = &s->trace->caches[i];

	if (c->kmalloc == TRACE_KMALLOC_NONE) {
		s->caches[i] = create_cache(s, c);
	} else if (s->classes.heap) {
		return true;
	} else {
		s->caches[i] = find_kmalloc_cache(s, i);
		if (!s->caches[i])
			s->caches[i] = create_kmalloc_cache(s, c);
	}
	return s->caches[i] != NULL;
}

int stage_create_caches(struct stage *s, char *error, size_t size)
{
	kmalloc_size_roundup(1); /* makes the library ready */
	classes_look(&s->classes);
	for (uint32_t i = 0; i < s->trace->nr_caches; i++) {
		const struct trace_cache *c = &s->trace->caches[i];

		if (make_cache(s, i))
			continue;
		snprintf(error, size, "cannot create cache '%s' of %u bytes: %s", c->name, c->size,
			 strerror(errno));
		return errno ? -errno : -ENOMEM;
	}
	return 0;
}

/* Does an earlier cache of the trace have the same one, which is destroyed once? */
static bool is_shared_kmalloc(const struct stage *s, uint32_t i)
{
	return s->trace->caches[i].kmalloc != TRACE_KMALLOC_NONE && s->caches[i] &&
	       find_kmalloc_cache(s, i) == s->caches[i];
}

void stage_destroy_caches(struct stage *s)
{
	for (uint32_t i = s->trace->nr_caches; i--;) {
		if (!is_shared_kmalloc(s, i))
			kmem_cache_destroy(s->caches[i]);
		s->caches[i] = NULL;
	}
	uslab_trim();
}

/* ---- operations ---- */

unsigned int stage_part(struct stage *s, const struct trace_op *op)
{
	if (op->kind == TRACE_OP_ALLOC)
		s->parts[op->slot] = (uint16_t)trace_part(s->nr_objects++, s->copies);
	return s->parts[op->slot];
}

const char *replay_touch_name(unsigned int touch)
{
	static const char *const names[] = {
		[REPLAY_TOUCH_NONE] = "none", [REPLAY_TOUCH_LINE] = "line", [REPLAY_TOUCH_ALL] = "all"
	};

	return touch < sizeof(names) / sizeof(names[0]) ? names[touch] : NULL;
}

void stage_touch(const struct stage *s, void *object, size_t size)
{
	if (s->touch == REPLAY_TOUCH_NONE)
		return;
	if (s->touch == REPLAY_TOUCH_LINE && size > TOUCH_LINE)
		size = TOUCH_LINE;
	memset(object, TOUCH_BYTE, size);
}

void stage_free_all(struct stage *s, size_t nr_ops)
{
	for (size_t i = nr_ops; i--;) {
		const struct trace_op *op = &s->trace->ops[i];

		for (unsigned int copy = 0; op->kind == TRACE_OP_ALLOC && copy < s->copies;
		     copy++) {
			void **object = stage_object(s, op, copy);

			if (!*object)
				continue;
			stage_act(s, op, copy);
			stage_free(s, stage_class(s, op), *object);
			*object = NULL;
		}
	}
}

int stage_walk(const struct stage *s, size_t nr_ops,
	       void (*visit)(const void *object, uint32_t size, void *arg), void *arg)
{
	bool *seen = calloc(s->trace->nr_slots + 1u, sizeof(*seen));

	if (!seen)
		return -ENOMEM;
	for (size_t i = nr_ops; i--;) {
		const struct trace_op *op = &s->trace->ops[i];

		if (seen[op->slot])
			continue;
		seen[op->slot] = true; /* a free that is met first: nothing lies there */
		for (unsigned int copy = 0; copy < s->copies; copy++)
			if (*stage_object(s, op, copy))
				visit(*stage_object(s, op, copy), stage_class(s, op)->size, arg);
	}
	free(seen);
	return 0;
}
