/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/cache_fixture.h - a library of floors 1 to 5 that is made ready
 * in each test's own child
 *
 * Nothing here refers to the api floor: its constructor would make the library ready before a test
 * could choose a topology or set USLAB_CONF.
 */
#ifndef UNIT_CACHE_FIXTURE_H
#define UNIT_CACHE_FIXTURE_H

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>
#include <uslab/arch/rseq.h>

#include "bare.h"
#include "base/bits.h"
#include "cache/lent.h"
#include "child.h"
#include "os/cpu/cpu.h"
#include "os/process/die.h"
#include "page/buddy.h"
#include "page/large.h"
#include "page/meta.h"
#include "page/run.h"
#include "pages_out.h"

/* The same for what limits the process's memory. */
#define IN_BARE_CHILD(name)                    \
	static void name##_bare(void **state); \
	static void name(void **state)         \
	{                                      \
		if (!bare_process())           \
			skip();                \
		name##_bare(state);            \
	}                                      \
	IN_CHILD(name##_bare)

static inline void ready(void)
{
	CHILD_CHECK(cache_init() == 0);
}

static inline struct cache *made(const struct cache_spec *spec)
{
	struct kmem_cache *s = NULL;
	int ret = cache_create(spec, &s);

	if (ret) {
		dprintf(STDERR_FILENO, "cache_create(%s): %d\n", spec->name, ret);
		CHILD_CHECK(!ret);
	}
	return cache_of(s);
}

/* As kmem_cache_create(): may merge. */
static inline struct cache *make(const char *name, unsigned int size, unsigned int align,
				 slab_flags_t flags)
{
	return made(
		&(struct cache_spec){ .name = name, .size = size, .align = align, .flags = flags });
}

/* With a front; never merges. */
static inline struct cache *make_front(const char *name, unsigned int size, const char *front)
{
	return made(&(struct cache_spec){
		.name = name, .size = size, .front = front_by_name(front), .no_merge = true });
}

static inline void *get(struct cache *c)
{
	return cache_alloc(c, GFP_KERNEL, NUMA_NO_NODE);
}

/* This thread acts on one CPU only. */
static inline int stay_here(void)
{
	int cpu = sched_getcpu();
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	return cpu;
}

/* From now on the arena grows no further, and nothing is mapped. */
static inline void no_more_memory(void)
{
	const struct rlimit none = { 0, 0 };

	child_limit(RLIMIT_DATA, &none);
}

static inline struct engine_stats stats_of(struct cache *c)
{
	struct engine_stats stats;

	CHILD_CHECK(c);
	c->engine.ops->stats(&c->engine, &stats);
	return stats;
}

/* Objects that the program has, by the books of engine, front and lent sheaves. */
static inline unsigned long in_use(struct cache *c)
{
	struct engine_stats stats = stats_of(c);

	return stats.total_objects - stats.free_objects - c->front.ops->held(&c->front) -
	       lent_sum(c).objects;
}

/* As the inline functions do it: the hit path first. */
static inline void *obj_alloc(struct cache *c)
{
#if USLAB_HAVE_RSEQ
	void *obj;

	if (uslab_rseq_take(c->handle, uslab_rseq_offset, &obj))
		return obj;
#endif
	return get(c);
}

static inline void obj_free(struct cache *c, void *obj)
{
#if USLAB_HAVE_RSEQ
	if (uslab_rseq_give(c->handle, obj, uslab_rseq_offset))
		return;
#endif
	cache_free(c, obj);
}

#endif /* UNIT_CACHE_FIXTURE_H */
