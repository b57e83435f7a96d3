/* SPDX-License-Identifier: MIT */
/*
 * engine/slab/try.c - one object, out of a slab and back, without waiting
 *
 * Why:        docs/adr/0048.
 * Data:       none of its own.
 * Invariants: as in refill.c and free.c. A slab whose index array cannot be right is left as it is,
 *             for an ordinary call to report.
 * Locks:      list_lock, which is tried; a new slab is made under it.
 * Flow:       called through slab_ops; calls node.c, index.c, grow.c.
 */
#include "engine/slab/slab.h"

/* A new slab, on no list. */
static struct page *add_new_locked(struct engine *e, struct slab_node *node, unsigned int nr)
{
	struct page *slab = slab_try_grow_locked(e, nr);

	if (slab) {
		node->total_slabs++;
		slab_node_add_free_locked(node, (long)slab_cache_of(e)->geometry.num);
	}
	return slab;
}

static void *take_from_node(struct engine *e, unsigned int nr)
{
	const struct slab_cache *c = slab_cache_of(e);
	struct slab_node *node = c->node[nr];
	struct page *slab;
	void *obj = NULL;

	if (!lock_try(&node->list_lock))
		return NULL;
	/* as in refill_from_node(): only then has the free list been looked at */
	slab = node->free_objects ? slab_node_pick_locked(node) : NULL;
	if (slab)
		slab_node_unlink_locked(node, slab);
	else
		slab = add_new_locked(e, node, nr);
	if (slab) {
		slab_node_add_free_locked(node, -(long)slab_index_take(c, slab, &obj, 1));
		slab_node_link_locked(node, slab, false);
	}
	lock_release(&node->list_lock);
	return obj;
}

void *slab_try_alloc(struct engine *e, int node)
{
	unsigned int nr_nodes = slab_cache_of(e)->nr_nodes;
	unsigned int first = engine_first_node(nr_nodes, node);
	void *obj = take_from_node(e, first);

	for (unsigned int i = 1; !obj && i < nr_nodes; i++)
		obj = take_from_node(e, (first + i) % nr_nodes);
	return obj;
}

/* Does the slab take it, and stay? */
static bool fits_locked(const struct slab_node *node, const struct page *slab)
{
	unsigned int inuse = engine_counters(slab).inuse;

	return slab->lru.next && inuse && (inuse > 1 || node->free_objects + 1 <= node->free_limit);
}

bool slab_try_free(struct engine *e, void *obj)
{
	const struct slab_cache *c = slab_cache_of(e);
	unsigned int number;
	struct page *slab = slab_home(c, obj, &number);
	struct slab_node *node;
	bool done = false;

	if (!slab || load_relaxed(&e->verify_frees))
		return false;
	node = c->node[slab->node];
	if (!lock_try(&node->list_lock))
		return false;
	if (slab_is_of(c, slab) && fits_locked(node, slab)) {
		slab_node_unlink_locked(node, slab);
		done = slab_index_put(c, slab, number, false);
		slab_node_link_locked(node, slab, true);
		slab_node_add_free_locked(node, done);
	}
	lock_release(&node->list_lock);
	return done;
}
