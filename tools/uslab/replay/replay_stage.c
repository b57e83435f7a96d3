/* SPDX-License-Identifier: MIT */
/*
 * uslab/replay/replay_stage.c - caches and objects of a trace that is being performed
 *
 * Invariants: objects[] has exactly the objects that are alive after the operations so far.
 * Locks:      none: one thread, which may act for several CPUs.
 * Flow:       called by replay_run.c, replay_report.c, cmd_replay.c and compare/; calls
 *             inspect/act.c, trace/trace_thin.c and the public API. In: struct trace_ops; out:
 *             calls of kmalloc() and kmem_cache_alloc() with their times.
 *
 * Which class an object has is known from the operation that made it and stored nowhere else.
 * stage_walk() therefore goes through the operations backwards: the first allocation in a slot that
 * it meets is the one whose object is in the slot.
 */
#define _GNU_SOURCE
#include "replay/replay_stage.h"
#include "trace/trace_thin.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOUCH_LINE 64u
#define TOUCH_BYTE 0xa5

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
	return s->caches && s->objects && s->parts ? 0 : -ENOMEM;
}

void stage_exit(struct stage *s)
{
	free(s->caches);
	free(s->objects);
	free(s->parts);
	s->caches = NULL;
	s->objects = NULL;
	s->parts = NULL;
}

/* Kernels since 6.18 ask for sheaves of so many objects, 0: for none (uslab's spec, 10.4). */
static unsigned int asked_by_kernel(const char *name)
{
	return !strcmp(name, "maple_node") || !strcmp(name, "vm_area_struct") ? 32 : 0;
}

int stage_create_caches(struct stage *s, char *error, size_t size)
{
	struct kmem_cache_args args = { .engine = s->engine, .front = s->front };

	for (uint32_t i = 0; i < s->trace->nr_caches; i++) {
		const struct trace_cache *c = &s->trace->caches[i];

		args.sheaf_capacity = asked_by_kernel(c->name);
		s->caches[i] = kmem_cache_create_args(c->name, c->size, &args, 0);
		if (s->caches[i])
			continue;
		snprintf(error, size, "cannot create cache '%s' of %u bytes: %s", c->name, c->size,
			 strerror(errno));
		return errno ? -errno : -ENOMEM;
	}
	return 0;
}

void stage_destroy_caches(struct stage *s)
{
	for (uint32_t i = 0; i < s->trace->nr_caches; i++) {
		kmem_cache_destroy(s->caches[i]);
		s->caches[i] = NULL;
	}
	uslab_trim();
}

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
