/* SPDX-License-Identifier: MIT */
/*
 * engine/slab/slab.c - the SLAB engine's table, and its birth and end (spec 3.3, 3.5)
 *
 * Data:       struct slab_cache and one struct slab_node per node, from page/meta.c.
 * Invariants: const after init but for the nodes.
 * Locks:      none in init and destroy: the cache is not known to anybody else. tune, stats: each
 *             list_lock in turn. fork: all list_locks, in node order.
 * Flow:       called through slab_ops; calls geometry.c, node.c.
 */
#include <errno.h>

#include "base/bits.h"
#include "engine/slab/slab.h"
#include "os/cpu/cpu.h"
#include "page/meta.h"

static size_t state_size(unsigned int nr_nodes)
{
	return sizeof(struct slab_cache) + nr_nodes * sizeof(struct slab_node *);
}

static void state_delete(struct slab_cache *c)
{
	unsigned int i;

	for (i = 0; i < c->nr_nodes; i++)
		slab_node_delete(c->node[i]);
	meta_free(c, state_size(c->nr_nodes));
}

/* CPUs that do not exist (yet) count to node 0 in the topology, but not here. */
static unsigned int node_cpus(unsigned int node)
{
	unsigned int count = 0;
	unsigned int cpu;

	for (cpu = 0; cpu < os_topology.nr_cpu_ids; cpu++)
		count += os_cpu_to_node(cpu) == node;
	return MIN(count, os_topology.nr_cpus);
}

static void slab_tune(struct engine *e, unsigned int batchcount)
{
	struct slab_cache *c = slab_cache_of(e);
	unsigned int i;

	for (i = 0; i < c->nr_nodes; i++) {
		struct slab_node *node = c->node[i];

		lock_acquire(&node->list_lock);
		node->free_limit = slab_free_limit(c->geometry.num, node_cpus(i), batchcount);
		lock_release(&node->list_lock);
	}
}

static struct slab_layout make_layout(const struct slab_geometry *g, unsigned int object_size)
{
	return (struct slab_layout){
		.stride = g->size,
		.magic = SLAB_MAGIC(g->size),
		.object_size = object_size,
		.inuse = ALIGN_UP(object_size, (unsigned int)sizeof(void *)),
		.colour_off = g->colour > 1 ? g->colour_off : 0, /* else all start at 0 */
		.order = g->order,
		.objects = g->num,
		.min_order = g->order,
		.min_objects = g->num,
	};
}

/* NULL: out of memory. */
static struct slab_cache *state_new(const struct slab_geometry *g, unsigned int object_size)
{
	unsigned int nr_nodes = engine_nr_nodes();
	struct slab_cache *c = meta_alloc(state_size(nr_nodes));
	unsigned int i;

	if (!c)
		return NULL;
	c->geometry = *g;
	c->reciprocal = DIV_ROUND_UP(1ull << 32, g->size);
	c->layout = make_layout(g, object_size);
	c->nr_nodes = nr_nodes;
	for (i = 0; i < nr_nodes; i++) {
		c->node[i] = slab_node_new();
		if (!c->node[i]) {
			state_delete(c);
			return NULL;
		}
	}
	return c;
}

static int slab_init(struct engine *e, const struct engine_params *params)
{
	struct slab_geometry g;
	struct slab_cache *c;
	int err;

	err = slab_geometry(&g, params->object_size, params->align, params->flags, params->ctor,
			    slab_max_order());
	if (err)
		return err;
	c = state_new(&g, params->object_size);
	if (!c)
		return -ENOMEM;
	engine_init(e, params, &slab_ops, &c->layout, c);
	e->allocflags = __GFP_COMP | engine_page_flags(params->flags);
	e->page_lists = params->page_lists;
	slab_tune(e, slab_batchcount(g.size));
	return 0;
}

static void slab_stats(struct engine *e, struct engine_stats *stats)
{
	const struct slab_cache *c = slab_cache_of(e);
	unsigned int i;

	*stats = (struct engine_stats){ 0 };
	for (i = 0; i < c->nr_nodes; i++) {
		struct slab_node *node = c->node[i];

		lock_acquire(&node->list_lock);
		stats->nr_slabs += node->total_slabs;
		stats->nr_partial += node->nr_partial;
		stats->free_objects += node->free_objects;
		lock_release(&node->list_lock);
	}
	stats->total_objects = stats->nr_slabs * c->geometry.num;
	stats->slab_bytes = stats->nr_slabs * (PAGE_SIZE << c->geometry.order);
}

static unsigned long slab_destroy(struct engine *e)
{
	struct engine_stats stats;

	slab_shrink(e);
	slab_stats(e, &stats);
	if (stats.nr_slabs)
		return stats.total_objects - stats.free_objects;
	state_delete(slab_cache_of(e));
	e->state = NULL;
	e->layout = NULL;
	return 0;
}

static void slab_each_lock(struct engine *e, void (*act)(struct lock *l))
{
	const struct slab_cache *c = slab_cache_of(e);
	unsigned int i;

	for (i = 0; i < c->nr_nodes; i++)
		act(&c->node[i]->list_lock);
}

const struct engine_ops slab_ops = {
	.name = TEXT_IN_CORES("slab"),
	.front = "queues",
	.kmalloc_min = 32,
	.kmalloc_flags = SLAB_HWCACHE_ALIGN,
	.init = slab_init,
	.refill = slab_refill,
	.take_partial = slab_take_partial,
	.take_new = slab_take_new,
	.flush = slab_flush,
	.try_alloc = slab_try_alloc,
	.try_free = slab_try_free,
	.shrink = slab_shrink,
	.destroy = slab_destroy,
	.walk = slab_walk,
	.walk_slab = slab_walk_slab,
	.is_free = slab_is_free,
	.stats = slab_stats,
	.evacuation = &slab_evacuation,
	.tune = slab_tune,
	.reap = slab_reap,
	.each_lock = slab_each_lock,
	.check = slab_check,
};
