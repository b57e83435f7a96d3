/* SPDX-License-Identifier: MIT */
/*
 * engine/slab/free.c - objects back to their slabs: free_block (spec 3.8)
 *
 * Data:       none of its own.
 * Invariants: after a flush free_objects <= free_limit, or the node has no free slab.
 * Locks:      list_lock, once for neighbours of one node; pages go back without it.
 * Flow:       called by front/ through slab_ops.flush; calls node.c, index.c, grow.c.
 */
#include "engine/slab/slab.h"

/*
 * Takes back the objects of one slab that objs begins with, n at most; returns how many. The slab
 * goes to the end of the partial list, even if it was on it, so that its other objects have the longest
 * time to be freed, too. Moving it once for all of them leaves the lists as moving it each time.
 */
static unsigned int put_objects_locked(const struct engine *e, struct slab_node *node,
				       struct page *slab, void **objs, unsigned int n)
{
	unsigned int i = 0;

	slab_node_unlink_locked(node, slab);
	do
		slab_index_put(e, slab, objs[i]);
	while (++i < n && page_head_unchecked(objs[i]) == slab);
	slab_node_link_locked(node, slab, true);
	slab_node_add_free_locked(node, (long)i);
	return i;
}

/* Takes back the objects of one node that objs begins with, n at most; returns how many. */
static unsigned int flush_to_node(struct engine *e, void **objs, unsigned int n)
{
	struct page *slab = page_head_unchecked(objs[0]);
	struct slab_node *node = slab_cache_of(e)->node[slab->node];
	unsigned int nr = slab->node;
	struct page *dropped = NULL;
	unsigned int done = 0;

	lock_acquire(&node->list_lock);
	do {
		done += put_objects_locked(e, node, slab, objs + done, n - done);
		if (done == n)
			break;
		slab = page_head_unchecked(objs[done]);
	} while (slab->node == nr);
	while (node->free_objects > node->free_limit && slab_node_drop_locked(node, &dropped)) {}
	lock_release(&node->list_lock);
	slab_release(e, dropped);
	return done;
}

void slab_flush(struct engine *e, void **objs, unsigned int n)
{
	while (n) {
		unsigned int done = flush_to_node(e, objs, n);

		objs += done;
		n -= done;
	}
}
