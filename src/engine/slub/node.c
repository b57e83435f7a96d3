/* SPDX-License-Identifier: MIT */
/*
 * engine/slub/node.c - the partial list of a node, and the choice of a node
 *
 * Data:       struct slub_node.
 * Invariants: nr_partial is the length of partial; a slab that is on no list has lru.next NULL.
 *             Checked by slub_check().
 * Locks:      list_lock (RANK_ENGINE) for both lists and nr_partial; nr_partial is also read
 *             without it, as a hint. The three totals are atomic.
 * Flow:       called by all of engine/slub/; calls page/meta.c.
 */
#include "engine/slub/slab.h"
#include "os/cpu/cpu.h"
#include "page/meta.h"

struct slub_node *node_new(void)
{
	struct slub_node *node = meta_alloc(sizeof(*node));

	if (!node)
		return NULL;
	lock_init(&node->list_lock, RANK_ENGINE);
	list_init(&node->partial);
	list_init(&node->full);
	return node;
}

void node_delete(struct slub_node *node)
{
	meta_free(node, sizeof(*node));
}

void node_add_partial_locked(struct slub_node *node, struct page *slab, bool tail)
{
	if (tail)
		list_add_tail(&slab->lru, &node->partial);
	else
		list_add(&slab->lru, &node->partial);
	store_relaxed(&node->nr_partial, node->nr_partial + 1);
}

void node_remove_partial_locked(struct slub_node *node, struct page *slab)
{
	list_del(&slab->lru);
	store_relaxed(&node->nr_partial, node->nr_partial - 1);
}

void node_add_full_locked(const struct engine *e, struct slub_node *node, struct page *slab)
{
	if (load_relaxed(&e->flags) & SLAB_STORE_USER)
		list_add(&slab->lru, &node->full);
}

void node_remove_full_locked(struct page *slab)
{
	if (slab->lru.next)
		list_del(&slab->lru);
}

unsigned long node_count_free(struct slub_node *node)
{
	struct list_head *pos;
	unsigned long free = 0;

	lock_acquire(&node->list_lock);
	list_for_each(pos, &node->partial) {
		struct slab_counters c = slab_read(list_entry(pos, struct page, lru)).counters;

		free += c.objects - c.inuse;
	}
	lock_release(&node->list_lock);
	return free;
}

unsigned int node_first(const struct slub *s, int node)
{
	if (node >= 0 && (unsigned int)node < s->nr_nodes)
		return (unsigned int)node;
	return s->nr_nodes > 1 ? os_current_node() : 0;
}

bool node_try_others(struct slub *s, unsigned int first, bool (*take)(struct slub_node *, void *),
		     void *arg)
{
	unsigned int i;

	if (s->nr_nodes == 1 || !s->remote_node_defrag_ratio ||
	    slub_draw(s) % 1024 > s->remote_node_defrag_ratio)
		return false;
	for (i = 1; i < s->nr_nodes; i++) {
		struct slub_node *node = s->node[(first + i) % s->nr_nodes];

		/* A node keeps the few partial slabs that it needs itself. */
		if (load_relaxed(&node->nr_partial) > load_relaxed(&s->min_partial) &&
		    take(node, arg))
			return true;
	}
	return false;
}
