/* SPDX-License-Identifier: MIT */
/*
 * engine/slab/reap.c - free slabs go: a few at a time, or all (spec 3.9)
 *
 * Data:       none of its own.
 * Invariants: the slab that has been free for the longest goes first.
 * Locks:      list_lock, once for all slabs of a node; pages go back without it.
 * Flow:       called by slab.c and through slab_ops: reap by the front's timer, shrink after the
 *             front was drained; calls node.c, grow.c.
 */
#include <limits.h>

#include "base/bits.h"
#include "engine/slab/slab.h"

/* Up to max free slabs of a node go. Returns how many. Context: list_lock; releases it. */
static unsigned long drain_and_unlock(struct engine *e, struct slab_node *node, unsigned long max)
{
	struct page *dropped = NULL;
	unsigned long n = 0;

	while (n < max && slab_node_drop_locked(node, &dropped))
		n++;
	engine_unlock(&node->list_lock, &node->said);
	slab_release(e, dropped);
	return n;
}

unsigned long slab_reap(struct engine *e, unsigned int node)
{
	struct slab_cache *c = slab_cache_of(e);
	struct slab_node *n = c->node[node];
	unsigned long fifth;

	lock_acquire(&n->list_lock);
	fifth = DIV_ROUND_UP(n->free_limit, 5ul * c->geometry.num);
	if (n->free_touched) {
		n->free_touched = false;
		fifth = 0;
	}
	return drain_and_unlock(e, n, fifth);
}

static void isolate_broken_locked(struct engine *e, struct slab_node *node, struct list_head *list)
{
	bool is_free[SLAB_MAX_NUM];
	struct list_head *pos;
	struct list_head *tmp;

	list_for_each_safe(pos, tmp, list) {
		struct page *slab = list_entry(pos, struct page, lru);

		if (slab_index_mark(slab_cache_of(e), slab, is_free))
			continue;
		slab_node_unlink_locked(node, slab);
		slab_node_isolate_locked(e, node, slab);
	}
}

int slab_shrink(struct engine *e)
{
	struct slab_cache *c = slab_cache_of(e);
	unsigned long remain = 0;
	unsigned int i;

	for (i = 0; i < c->nr_nodes; i++) {
		struct slab_node *node = c->node[i];

		lock_acquire(&node->list_lock);
		/*
		 * what a tool asks for must not give away slabs whose array is no
		 * proof that they are free
		 */
		if (load_relaxed(&e->verify_frees)) {
			isolate_broken_locked(e, node, &node->partial);
			isolate_broken_locked(e, node, &node->free);
		}
		remain += node->total_slabs - node->free_slabs;
		drain_and_unlock(e, node, ULONG_MAX);
	}
	return remain != 0;
}
