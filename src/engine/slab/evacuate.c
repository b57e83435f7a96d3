/* SPDX-License-Identifier: MIT */
/*
 * engine/slab/evacuate.c - slabs that are emptied: taken off the partial list, and put back
 *
 * Why:        docs/adr/0060.
 * Data:       slab_node.evacuated.
 * Invariants: a slab that is being emptied is on that list whatever its inuse, and its free objects
 *             are counted in free_objects as those of any other.
 * Locks:      list_lock.
 * Flow:       called through slab_evacuation; calls node.c, grow.c.
 */
#include "engine/evacuation.h"
#include "engine/slab/slab.h"

static unsigned long read_count(struct slab_node *n, const unsigned long *count)
{
	unsigned long nr;

	lock_acquire(&n->list_lock);
	nr = *count;
	lock_release(&n->list_lock);
	return nr;
}

static unsigned long listed(struct engine *e, unsigned int node)
{
	struct slab_node *n = slab_cache_of(e)->node[node];

	return read_count(n, &n->nr_partial);
}

static unsigned long slabs(struct engine *e, unsigned int node)
{
	struct slab_node *n = slab_cache_of(e)->node[node];

	return read_count(n, &n->total_slabs);
}

static void set_evacuated_locked(struct page *slab, bool on)
{
	struct slab_counters counters = engine_counters(slab);

	counters.frozen = on;
	counters.formatted = on ? SLAB_EVACUATED : 0;
	engine_set_counters(slab, counters);
}

static unsigned int choose(struct engine *e, struct evacuation_choice *choice,
			   struct evacuated *set)
{
	struct slab_node *node = slab_cache_of(e)->node[choice->node];
	unsigned int looked = 0;

	lock_acquire(&node->list_lock);
	while (looked < choice->look && set->nr < EVACUATED_MAX && !list_empty(&node->partial)) {
		struct page *slab = list_last(&node->partial, struct page, lru);
		struct slab_counters counters = engine_counters(slab);

		looked++;
		slab_node_unlink_locked(node, slab);
		if (evacuation_takes(choice, slab, counters.inuse, counters.objects)) {
			set_evacuated_locked(slab, true);
			evacuated_add(set, slab);
		}
		slab_node_link_locked(node, slab, false);
	}
	lock_release(&node->list_lock);
	return looked;
}

static unsigned long end(struct engine *e, struct evacuated *set, unsigned int i, bool tail)
{
	struct slab_node *node = slab_cache_of(e)->node[set->slab[i]->node];
	struct page *slab;
	bool empty;

	lock_acquire(&node->list_lock);
	slab = evacuated_remove(set, i);
	slab_node_unlink_locked(node, slab);
	set_evacuated_locked(slab, false);
	empty = !engine_counters(slab).inuse;
	if (empty) {
		node->total_slabs--;
		slab_node_add_free_locked(node, -(long)engine_counters(slab).objects);
		slab->next = NULL;
	} else {
		slab_node_link_locked(node, slab, tail);
	}
	lock_release(&node->list_lock);
	if (!empty)
		return 0;
	slab_release(e, slab);
	return 1ul << slab_cache_of(e)->geometry.order;
}

const struct engine_evacuation slab_evacuation = {
	.listed = listed,
	.slabs = slabs,
	.choose = choose,
	.take = slab_take_listed,
	.end = end,
};
