/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slab/fixture.h - an arena, engines made in one line, and a look at the lists
 *
 * Most tests share one arena in the process (slab_group_setup); those that need a machine of their
 * own or end badly run in a child, with CHILD_CHECK for assertions.
 */
#ifndef UNIT_ENGINE_SLAB_FIXTURE_H
#define UNIT_ENGINE_SLAB_FIXTURE_H

#include "base/assert.h"
#include "engine/slab/slab.h"
#include "heard.h"
#include "page/meta.h"
#include "unit/engine/engines.h"

/* An arena with a made-up machine. */
static inline void slab_machine(unsigned int cpus, unsigned int nodes)
{
	machine_init(cpus, nodes);
	os_act_as_cpu(0);
}

static inline int slab_group_setup(__attribute__((unused)) void **state)
{
	slab_machine(2, 1);
	return 0;
}

static inline struct engine make_engine(struct engine_params params)
{
	struct engine e;

	if (slab_ops.init(&e, &params))
		abort();
	return e;
}

static inline struct engine make_plain(unsigned int size)
{
	return make_engine(plain_params(size));
}

static inline struct engine make_with_ctor(unsigned int size, void (*ctor)(void *obj))
{
	struct engine_params params = plain_params(size);

	params.ctor = ctor;
	return make_engine(params);
}

static inline const struct slab_geometry *geometry_of(const struct engine *e)
{
	return &slab_cache_of(e)->geometry;
}

static inline struct slab_node *node_of(const struct engine *e, unsigned int node)
{
	return slab_cache_of(e)->node[node];
}

/* Where object i of a slab lies. */
static inline void *object_at(const struct page *slab, unsigned int i)
{
	return slab_objects(slab_cache_of(slab->engine), slab) + (size_t)i * slab->layout->stride;
}

static inline unsigned int inuse_of(const struct page *slab)
{
	return engine_counters(slab).inuse;
}

/* All objects of one slab; the cache must have no free ones. Returns the slab. */
static inline struct page *fill_slab(struct engine *e, void **objs)
{
	if (slab_refill(e, objs, geometry_of(e)->num, 0, -1) != geometry_of(e)->num)
		abort();
	return slab_of(objs[0]);
}

/* In a child: no node gets more memory from now on, and this one has none left. */
static inline void exhaust_node(int node)
{
	page_map.limit = page_map.nr_pages;
	use_up_pages(node);
}

/* Checks the engine and ends it; all its objects must have come back. */
#define END_ENGINE(e)                                     \
	do {                                              \
		slab_check(e);                            \
		assert_int_equal(slab_ops.destroy(e), 0); \
		buddy_check();                            \
		meta_check();                             \
	} while (0)

#endif /* UNIT_ENGINE_SLAB_FIXTURE_H */
