/* SPDX-License-Identifier: MIT */
/*
 * engine/slub/node.c - full slabs, free objects of a node, and the choice of another node
 *
 * Data:       struct engine_node.
 * Invariants: those of engine/nodes.h; a slab that is on no list has lru.next NULL. Checked by
 *             slub_check().
 * Locks:      see engine/nodes.h.
 * Flow:       called by engine/slub/.
 */
#include "engine/placement.h"
#include "engine/slub/slab.h"
#include "os/cpu/nodes.h"

void slub_node_add_full_locked(const struct engine *e, struct engine_node *node, struct page *slab)
{
	if (load_relaxed(&e->flags) & SLAB_STORE_USER)
		list_add(&slab->lru, &node->full);
}

void slub_node_remove_full_locked(struct page *slab)
{
	if (slab->lru.next)
		list_del(&slab->lru);
}

unsigned long slub_node_count_free(struct engine_node *node)
{
	struct list_head *pos;
	unsigned long free = 0;

	lock_acquire(&node->list_lock);
	list_for_each(pos, &node->partial) {
		struct slab_counters c = slub_read(list_entry(pos, struct page, lru)).counters;

		free += c.objects - c.inuse;
	}
	lock_release(&node->list_lock);
	return free;
}

bool slub_node_try_others(struct engine *e, unsigned int first,
			  bool (*take)(struct engine_node *, void *), void *arg)
{
	struct slub *s = slub_of(e);
	const uint8_t *zonelist;
	unsigned int i;

	if (s->nr_nodes == 1 || !s->remote_node_defrag_ratio ||
	    slub_draw(s) % 1024 > s->remote_node_defrag_ratio)
		return false;
	zonelist = os_nodes.order[placement_zonelist(e)];
	for (i = 0; i < s->nr_nodes; i++) {
		struct engine_node *node = s->node[zonelist[i]];

		/* A node keeps the few partial slabs that it needs itself. */
		if (zonelist[i] != first &&
		    load_relaxed(&node->nr_partial) > load_relaxed(&s->min_partial) &&
		    take(node, arg))
			return true;
	}
	return false;
}
