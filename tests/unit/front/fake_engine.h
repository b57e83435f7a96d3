/* SPDX-License-Identifier: MIT */
/*
 * unit/front/fake_engine.h - an engine of numbered objects under a front, and the floors below
 *
 * The objects lie in one block of pages that is marked as a slab of this engine, so that a front's
 * check accepts them. refill hands out the lowest free ones in ascending order and stops when the
 * budget is used up; flush takes back only what is out. Every call is counted.
 */
#ifndef UNIT_FRONT_FAKE_ENGINE_H
#define UNIT_FRONT_FAKE_ENGINE_H

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/bits.h"
#include "child.h"
#include "front/depot.h"
#include "front/front.h"
#include "os/cpu/cpu.h"
#include "os/process/die.h"
#include "os/cpu/rseq.h"
#include "page/arena.h"
#include "page/buddy.h"
#include "page/meta.h"

#define FAKE_OBJECTS 1024u
#define FAKE_SIZE 64u
#define FAKE_PAGES (FAKE_OBJECTS * FAKE_SIZE / PAGE_SIZE)

struct fake {
	struct engine e;
	char *memory;
	bool out[FAKE_OBJECTS]; /* with the front or its user */
	unsigned int nr_out;
	unsigned int budget; /* objects that refill may still hand out */
	/* of the calls since the test last cleared them */
	unsigned int refills;
	unsigned int flushes;
	unsigned int last_want;
	unsigned int last_flush;
	int last_node;
};

/* Bytes of metadata in use, but for the lanes of that front, which it keeps. */
static inline size_t used_but_lanes(const struct front *f)
{
	size_t lanes = 0;

	for (unsigned int node = 0; node < os_topology.nr_nodes; node++)
		if (f->depot[node].lanes)
			lanes += f->depot[node].nr_lanes * sizeof(struct depot_lane);
	return meta_counters.used - lanes;
}

static inline struct fake *fake_of(struct engine *e)
{
	return container_of(e, struct fake, e);
}

static inline unsigned int fake_number(const struct fake *fake, const void *obj)
{
	size_t offset = (size_t)((const char *)obj - fake->memory);

	if (offset % FAKE_SIZE || offset / FAKE_SIZE >= FAKE_OBJECTS)
		os_die(__FILE__, __LINE__, "not an object of the fake engine");
	return (unsigned int)(offset / FAKE_SIZE);
}

static inline unsigned int fake_refill(struct engine *e, void **objs, unsigned int want, gfp_t gfp,
				       int node)
{
	struct fake *fake = fake_of(e);
	unsigned int got = 0;

	(void)gfp;
	fake->refills++;
	fake->last_want = want;
	fake->last_node = node;
	for (unsigned int i = 0; i < FAKE_OBJECTS && got < want && fake->budget; i++) {
		if (fake->out[i])
			continue;
		fake->out[i] = true;
		fake->nr_out++;
		fake->budget--;
		objs[got++] = fake->memory + (size_t)i * FAKE_SIZE;
	}
	return got;
}

static inline void fake_flush(struct engine *e, void **objs, unsigned int n)
{
	struct fake *fake = fake_of(e);

	fake->flushes++;
	fake->last_flush = n;
	for (unsigned int i = 0; i < n; i++) {
		unsigned int number = fake_number(fake, objs[i]);

		if (!fake->out[number])
			os_die(__FILE__, __LINE__, "flushed twice");
		fake->out[number] = false;
		fake->nr_out--;
	}
}

static const struct engine_ops fake_ops = {
	.name = "fake",
	.refill = fake_refill,
	.flush = fake_flush,
};

/* What cache_init() does for the floors below the front. made up: cpus > 0. */
static inline void floors_init(unsigned int cpus, unsigned int nodes)
{
	if (cpus && os_topology_set(cpus, nodes))
		os_die(__FILE__, __LINE__, "no such topology");
	os_cpu_init();
	if (!cpus && os_topology.nr_cpu_ids == 1) {
		/* one more is possible: a machine that can have but one has no shared queues */
		os_topology.nr_cpu_ids = os_topology.nr_cpus = 2;
		os_topology.nr_windows = MAX(os_topology.nr_windows, 2u);
	}
	os_rseq_init();
	if (arena_init(os_topology.nr_cpu_ids))
		os_die(__FILE__, __LINE__, "no arena");
	buddy_init(os_topology.nr_nodes);
	percpu_init();
	front_stop_words(USLAB_ID_NONE);
}

static inline void fake_init(struct fake *fake, unsigned int size)
{
	struct page *page = buddy_alloc(-1, get_order(FAKE_OBJECTS * FAKE_SIZE), false, NULL);

	*fake = (struct fake){ .budget = ~0u };
	fake->e = (struct engine){ .ops = &fake_ops, .name = "fake", .size = size };
	fake->memory = page_address(page);
	page->engine = &fake->e;
	page_set_block(page, PAGE_SLAB, FAKE_PAGES);
}

/* A front of cache number id over the engine. */
static inline int front_make(struct front *f, const struct front_ops *ops, struct fake *fake,
			     unsigned int id, unsigned int capacity)
{
	*f = (struct front){ .ops = ops, .engine = &fake->e, .id = id };
	return ops->init(f, capacity);
}

/*
 * The CPU that this thread acts for and stays on: per-CPU results are the same each time only where
 * the thread stays.
 */
static inline int here(void)
{
	cpu_set_t set;
	int cpu;

	if (os_topology.made_up) {
		os_act_as_cpu(1);
		return 1;
	}
	cpu = sched_getcpu();
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	return cpu;
}

/*
 * The same in both modes: with sequences where this process has them, and on a made-up topology of
 * four CPUs and two nodes, which goes without.
 */
#define BOTH_MODES(name)                                              \
	static void name##_body(void);                                \
	static void name##_real(__attribute__((unused)) void *arg)    \
	{                                                             \
		floors_init(0, 0);                                    \
		name##_body();                                        \
	}                                                             \
	static void name##_made_up(__attribute__((unused)) void *arg) \
	{                                                             \
		floors_init(4, 2);                                    \
		name##_body();                                        \
	}                                                             \
	static void name(void **state)                                \
	{                                                             \
		struct child c = child_run(name##_real, state);       \
                                                                      \
		assert_true(child_passed(&c));                        \
		c = child_run(name##_made_up, state);                 \
		assert_true(child_passed(&c));                        \
	}                                                             \
	static void name##_body(void)

#endif /* UNIT_FRONT_FAKE_ENGINE_H */
