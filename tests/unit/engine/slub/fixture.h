/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slub/fixture.h - an arena, engines made in one line, and counted events
 *
 * Most tests share one arena in the process (slub_group_setup); those that need a machine of their
 * own or end badly run in a child, with CHILD_CHECK for assertions.
 */
#ifndef UNIT_ENGINE_SLUB_FIXTURE_H
#define UNIT_ENGINE_SLUB_FIXTURE_H

#include <sys/resource.h>
#include "engine/slub/slab.h"
#include "events.h"
#include "limit.h"
#include "unit/engine/engines.h"

/* An arena with a made-up machine; a table of orders is for a number of CPUs. */
static inline void slub_machine(unsigned int cpus, unsigned int nodes)
{
	machine_init(cpus, nodes);
	events_reset();
}

static inline int slub_group_setup(__attribute__((unused)) void **state)
{
	slub_machine(2, 1);
	return 0;
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

/* All objects of a new slab, ascending, taken one by one. Returns the slab. */
static inline struct page *fill_slab(struct engine *e, void **objs)
{
	unsigned int i;

	for (i = 0; i < e->layout->objects; i++)
		if (slub_refill(e, &objs[i], 1, 0, -1) != 1)
			abort();
	return slab_of(objs[0]);
}

static inline struct slab_counters counters_of(const struct page *slab)
{
	return slub_read(slab).counters;
}

/* Slab number i of the node's partial list, from the head; NULL: it is shorter. */
static inline struct page *partial_at(struct engine *e, unsigned int i)
{
	return listed_at(&slub_of(e)->node[0]->partial, i);
}

static inline unsigned long nr_partial(struct engine *e)
{
	return slub_of(e)->node[0]->nr_partial;
}

static inline unsigned long nr_slabs(struct engine *e)
{
	return stats_of(e).nr_slabs;
}

/* Checks the engine and ends it; all its objects must have come back. */
#define END_ENGINE(e)                                     \
	do {                                              \
		slub_check(e);                            \
		assert_int_equal(slub_ops.destroy(e), 0); \
		buddy_check();                            \
	} while (0)

#endif /* UNIT_ENGINE_SLUB_FIXTURE_H */
