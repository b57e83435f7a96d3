/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slub/fixture.h - an arena, engines made in one line, and counted events
 *
 * Most tests share one arena in the process (slub_group_setup); those that need a machine of their
 * own or end badly run in a child, with CHILD_CHECK for assertions.
 */
#ifndef UNIT_ENGINE_SLUB_FIXTURE_H
#define UNIT_ENGINE_SLUB_FIXTURE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/bits.h"
#include "child.h"
#include "engine/slub/slab.h"
#include "limit.h"
#include "os/cpu/cpu.h"
#include "page/arena.h"
#include "page/buddy.h"

/* Events of all engines since the last events_reset(). */
static unsigned long events[NR_SLUB_STATS];

static inline void events_count(__attribute__((unused)) const struct engine *e, enum slub_stat item)
{
	__atomic_fetch_add(&events[item], 1, __ATOMIC_RELAXED);
}

static inline void events_reset(void)
{
	memset(events, 0, sizeof(events));
	slub_count_hook = events_count;
}

/* An arena with a made-up machine; a table of orders is for a number of CPUs. */
static inline void slub_machine(unsigned int cpus, unsigned int nodes)
{
	os_cpu_init();
	if (os_topology_set(cpus, nodes) || arena_init(os_topology.nr_cpu_ids))
		abort();
	buddy_init(os_topology.nr_nodes);
	events_reset();
}

static inline int slub_group_setup(__attribute__((unused)) void **state)
{
	slub_machine(2, 1);
	return 0;
}

static inline struct engine_params plain_params(unsigned int size)
{
	return (struct engine_params){ .name = "test", .object_size = size, .align = 8 };
}

static inline struct engine make_engine(struct engine_params params)
{
	struct engine e;

	if (slub_ops.init(&e, &params))
		abort();
	events_reset();
	return e;
}

static inline struct engine make_plain(unsigned int size)
{
	return make_engine(plain_params(size));
}

static inline struct engine make_pack(unsigned int size)
{
	struct engine_params params = plain_params(size);

	params.pack = true;
	return make_engine(params);
}

/* The slab that holds an object. */
static inline struct page *slab_of(const void *obj)
{
	struct page *slab = page_head_of(obj);

	if (!slab || slab->type != PAGE_SLAB)
		abort();
	return slab;
}

/* All objects of a new slab, ascending, taken one by one. Returns the slab. */
static inline struct page *fill_slab(struct engine *e, void **objs)
{
	unsigned int i;

	for (i = 0; i < e->layout->objects; i++)
		if (slub_refill(e, &objs[i], 1, 0, -1) != 1)
			abort();
	return slab_of(objs[0]);
}

static inline void free_one(struct engine *e, void *obj)
{
	slub_flush(e, &obj, 1);
}

static inline struct slab_counters counters_of(const struct page *slab)
{
	return slab_read(slab).counters;
}

/* Slab number i of the node's partial list, from the head; NULL: it is shorter. */
static inline struct page *partial_at(struct engine *e, unsigned int i)
{
	struct slub_node *node = slub_of(e)->node[0];
	struct list_head *pos;

	list_for_each(pos, &node->partial)
		if (i-- == 0)
			return list_entry(pos, struct page, lru);
	return NULL;
}

static inline unsigned long nr_partial(struct engine *e)
{
	return slub_of(e)->node[0]->nr_partial;
}

static inline unsigned long nr_slabs(struct engine *e)
{
	struct engine_stats stats;

	slub_ops.stats(e, &stats);
	return stats.nr_slabs;
}

/* Checks the engine and ends it; all its objects must have come back. */
#define END_ENGINE(e)                                     \
	do {                                              \
		slub_check(e);                            \
		assert_int_equal(slub_ops.destroy(e), 0); \
		buddy_check();                            \
	} while (0)

#endif /* UNIT_ENGINE_SLUB_FIXTURE_H */
