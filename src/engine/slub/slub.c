/* SPDX-License-Identifier: MIT */
/*
 * engine/slub/slub.c - the SLUB engine's table, and its birth and end (spec 4.2)
 *
 * Data:       struct slub and one struct engine_node per node, from page/meta.c.
 * Invariants: const after init but for the knobs min_partial, cpu_partial and
 *             remote_node_defrag_ratio, which may change at any time.
 * Locks:      none in init and destroy: the cache is not known to anybody else. fork: all
 *             list_locks, in node order.
 * Flow:       called through slub_ops; calls layout.c, node.c.
 */
#include <errno.h>

#include "base/bits.h"
#include "engine/slub/slab.h"
#include "os/cpu/cpu.h"
#include "os/process/random.h"
#include "page/meta.h"
#include "page/realtime.h"

static size_t state_size(unsigned int nr_nodes)
{
	return sizeof(struct slub) + nr_nodes * sizeof(struct engine_node *);
}

static void state_delete(struct slub *s)
{
	unsigned int i;

	for (i = 0; i < s->nr_nodes; i++)
		engine_node_delete(s->node[i]);
	meta_free(s->random_seq, s->layout.objects * sizeof(*s->random_seq));
	slub_delete_orders(s);
	meta_free(s, state_size(s->nr_nodes));
}

/* The numbers that follow from the layout. 0 or -ENOMEM. */
static int init_state(struct slub *s, const struct engine_params *params)
{
	const struct slab_layout *layout = &s->layout;
	unsigned int i;

	s->pack = params->pack;
	s->magic = UINT64_MAX / layout->stride + 1;
	s->hardened = params->hardened;
	s->counted = params->counted;
	s->remote_node_defrag_ratio = 1000;
	s->min_partial = s->pack ? slub_pack_min_partial(layout->order)
				 : slub_min_partial(layout->stride);
	if (!(params->flags & DEBUG_SLAB_FLAGS) && !params->counted)
		s->cpu_partial = slub_cpu_partial(layout->stride);
	s->cpu_partial_slabs = slub_cpu_partial_slabs(s);
	if (params->hardened || params->randomised)
		s->random = os_random();
	if (params->randomised && layout->objects > 1) {
		s->random_seq = slub_random_sequence(layout->objects, os_random());
		if (!s->random_seq)
			return -ENOMEM;
	}
	/* hardened: each free object has a link, which is looked at when it is handed out */
	s->lazy = (params->pack || params->queued || realtime_is_on()) && !params->randomised &&
		  !params->ctor && !params->hardened;
	for (i = 0; i < s->nr_nodes; i++) {
		s->node[i] = engine_node_new();
		if (!s->node[i])
			return -ENOMEM;
	}
	return 0;
}

static int slub_init(struct engine *e, const struct engine_params *params)
{
	unsigned int nr_nodes = engine_nr_nodes();
	struct slab_layout layout;
	struct slub *s;
	int err;

	slub_layout_sizes(&layout, params->object_size, params->align, params->flags, params->ctor);
	/*
	 * In the line that the user writes first and last, so that batches find it in the cache;
	 * but not where the mark of a free object is, unless there is no other place (base/mark.h).
	 */
	if (params->queued && layout.offset < layout.inuse)
		layout.offset = layout.inuse >= 2 * sizeof(void *) ? sizeof(void *) : 0;
	err = slub_layout_orders(&layout, params->pack);
	if (err)
		return err;
	s = meta_alloc(state_size(nr_nodes));
	if (!s)
		return -ENOMEM;
	s->nr_nodes = nr_nodes;
	s->layout = layout;
	err = init_state(s, params);
	if (err) {
		state_delete(s);
		return err;
	}
	engine_init(e, params, &slub_ops, &s->layout, s);
	e->allocflags = (layout.order ? __GFP_COMP : 0) | engine_page_flags(params->flags);
	e->page_lists = params->page_lists;
	e->lanes = !realtime_is_on() && slub_may_have_lanes(s, e->size);
	return 0;
}

static void slub_stats(struct engine *e, struct engine_stats *stats)
{
	const struct slub *s = slub_of(e);
	unsigned int i;

	*stats = (struct engine_stats){ 0 };
	for (i = 0; i < s->nr_nodes; i++) {
		struct engine_node *node = s->node[i];

		stats->nr_slabs += load_relaxed(&node->nr_slabs);
		stats->nr_partial += load_relaxed(&node->nr_partial);
		stats->total_objects += load_relaxed(&node->total_objects);
		stats->slab_bytes += load_relaxed(&node->nr_pages) * PAGE_SIZE;
		stats->free_objects += slub_node_count_free(node);
	}
}

static unsigned long slub_destroy(struct engine *e)
{
	struct engine_stats stats;

	slub_shrink(e);
	slub_stats(e, &stats);
	if (stats.nr_slabs)
		return stats.total_objects - stats.free_objects;
	state_delete(slub_of(e));
	e->state = NULL;
	e->layout = NULL;
	return 0;
}

static void slub_each_lock(struct engine *e, void (*act)(struct lock *l))
{
	const struct slub *s = slub_of(e);
	unsigned int i;

	for (i = 0; i < s->nr_nodes; i++)
		act(&s->node[i]->list_lock);
}

const struct engine_ops slub_ops = {
	.name = TEXT_IN_CORES("slub"),
	.front = "cpuslab",
	.init = slub_init,
	.refill = slub_refill,
	.refill_near = slub_refill_near,
	.take_partial = slub_take_partial,
	.take_new = slub_take_new,
	.flush = slub_flush,
	.try_alloc = slub_try_alloc,
	.try_free = slub_try_free,
	.shrink = slub_shrink,
	.destroy = slub_destroy,
	.walk = slub_walk,
	.walk_slab = slub_walk_slab,
	.is_free = slub_is_free,
	.stats = slub_stats,
	.evacuation = &slub_evacuation,
	.reap = slub_reap,
	.each_lock = slub_each_lock,
	.check = slub_check,
};
