/* SPDX-License-Identifier: MIT */
/*
 * engine/slab/refill.c - objects for a front: of the node's slabs, else of one new slab (spec 3.6)
 *
 * Data:       none of its own.
 * Invariants: a slab changes lists in the same hold of list_lock that changed its inuse.
 * Locks:      list_lock, once for all slabs of a node; new slabs are made without it.
 * Flow:       called through slab_ops and through slab_evacuation; calls node.c, index.c, grow.c.
 *
 * Objects come out ascending as the index array of each slab has them; a queue that takes the last
 * one first consumes a new slab in descending order of addresses. A request is content with one
 * object: a slab is made only when there is none at all, and never a second one.
 *
 * Policies are for each request (spec 0.4), which is for one object with the front queues.
 */
#include <limits.h>

#include "engine/evacuation.h"
#include "engine/slab/slab.h"
#include "os/cpu/cpu.h"
#include "os/cpu/nodes.h"

#define LOOKS 16u /* slabs of a list, in one hold of list_lock */

/* Up to max objects of a slab on a list of the node. Returns how many; 0: it was isolated. */
static unsigned int take_locked(struct engine *e, struct slab_node *node, struct page *slab,
				void **objs, unsigned int max)
{
	unsigned int n;

	slab_node_unlink_locked(node, slab);
	n = slab_index_take(slab_cache_of(e), slab, objs, max);
	if (likely(n))
		slab_node_link_locked(node, slab, false);
	else
		slab_node_isolate_locked(e, node, slab);
	return n;
}

/* From the partial and the free slabs of a node. Returns how many. */
static unsigned int refill_from_node(struct engine *e, unsigned int nr, void **objs,
				     unsigned int want)
{
	struct slab_node *node = slab_cache_of(e)->node[nr];
	unsigned int got = 0;
	struct page *slab;

	/* Without the lock: objects that are missed here cost at most a new slab. */
	if (!load_relaxed(&node->free_objects))
		return 0;
	lock_acquire(&node->list_lock);
	while (got < want && (slab = slab_node_pick_locked(node)))
		got += take_locked(e, node, slab, objs + got, want - got);
	slab_node_add_free_locked(node, -(long)got);
	engine_unlock(&node->list_lock, &node->said);
	return got;
}

/*
 * From a new slab; what is left of it goes to its node. Returns 0 if there is none (NULL), or if it
 * is broken already.
 */
static unsigned int refill_from_slab(struct engine *e, struct page *slab, void **objs,
				     unsigned int want)
{
	struct slab_cache *c = slab_cache_of(e);
	struct slab_node *node;
	unsigned int got;

	if (!slab)
		return 0;
	got = slab_index_take(c, slab, objs, want);
	node = c->node[slab->node];
	lock_acquire(&node->list_lock);
	node->total_slabs++;
	slab_node_add_free_locked(node, (long)(c->geometry.num - got));
	if (likely(got))
		slab_node_link_locked(node, slab, false);
	else /* by the constructor */
		slab_node_isolate_locked(e, node, slab);
	engine_unlock(&node->list_lock, &node->said);
	return got;
}

static unsigned int refill_from_new(struct engine *e, const struct os_place *place, void **objs,
				    unsigned int want)
{
	return refill_from_slab(e, slab_grow(e, place, false), objs, want);
}

/*
 * fallback_alloc (spec 3.10): the node that was asked for has no memory. Free objects of others,
 * the nearest first, and then a slab of whatever memory there is.
 */
static cold unsigned int refill_elsewhere(struct engine *e, const struct os_place *place,
					  void **objs, unsigned int want)
{
	const uint8_t *zonelist = os_nodes.order[place->first];
	unsigned int i;

	for (i = 0; i < slab_cache_of(e)->nr_nodes; i++) {
		unsigned int got = 0;

		if (place->nodes & os_node_bit(zonelist[i]))
			got = refill_from_node(e, zonelist[i], objs, want);
		if (got)
			return got;
	}
	return refill_from_new(e, place, objs, want);
}

static unsigned int refill(struct engine *e, void **objs, unsigned int want, gfp_t gfp, int node)
{
	const struct os_place place = placement_next(e, gfp, node);
	const struct os_place first = placement_first(&place);
	unsigned int got;

	if (unlikely(!first.nodes)) /* the cache is not bound to the only node that would do */
		return 0;
	got = refill_from_node(e, place.first, objs, want);
	if (!got)
		got = refill_from_new(e, &first, objs, want);
	if (unlikely(!got) && !(gfp & __GFP_THISNODE))
		got = refill_elsewhere(e, &place, objs, want);
	return got;
}

unsigned int slab_refill(struct engine *e, void **objs, unsigned int want, gfp_t gfp, int node)
{
	const struct os_policy *policy;
	unsigned int got;

	do {
		policy = placement_policy(e);
		got = refill(e, objs, want, gfp, node);
	} while (unlikely(!got) && placement_changed(e, policy));
	return got;
}

/* ---- arrays (spec 13.2): slabs with all their objects ---- */

unsigned int slab_take_partial(struct engine *e, void **objs, unsigned int want)
{
	const struct slab_cache *c = slab_cache_of(e);
	struct slab_node *node = c->node[placement_search(e, c->nr_nodes, NUMA_NO_NODE)];
	unsigned int got = 0;

	if (!load_relaxed(&node->free_objects)) /* as in refill_from_node() */
		return 0;
	lock_acquire(&node->list_lock);
	while (got < want && !list_empty(&node->partial)) {
		struct page *slab = list_first(&node->partial, struct page, lru);
		struct slab_counters counters = engine_counters(slab);

		if ((unsigned int)(counters.objects - counters.inuse) > want - got)
			break;
		got += take_locked(e, node, slab, objs + got, want - got);
	}
	slab_node_add_free_locked(node, -(long)got);
	engine_unlock(&node->list_lock, &node->said);
	return got;
}

/* The first slab of a list below page far; NULL: none of the first LOOKS is. */
static struct page *first_below(const struct list_head *list, unsigned long far)
{
	unsigned int looks = 0;
	struct list_head *pos;

	list_for_each(pos, list) {
		struct page *slab = list_entry(pos, struct page, lru);

		if (evacuation_index(slab) < far)
			return slab;
		if (++looks == LOOKS)
			break;
	}
	return NULL;
}

/* Of partial slabs below page far, and of free ones if it may grow. */
static unsigned int take_below(struct engine *e, struct slab_node *n, void **objs,
			       unsigned int want, unsigned long far, bool grows)
{
	unsigned int got = 0;

	lock_acquire(&n->list_lock);
	while (got < want) {
		struct page *slab = first_below(&n->partial, far);

		if (!slab && grows)
			slab = first_below(&n->free, far);
		if (!slab)
			break;
		got += take_locked(e, n, slab, objs + got, want - got);
	}
	slab_node_add_free_locked(n, -(long)got);
	engine_unlock(&n->list_lock, &n->said);
	return got;
}

unsigned int slab_take_listed(struct engine *e, unsigned int node, void **objs, unsigned int want,
			      unsigned long far, bool grows)
{
	struct slab_node *n = slab_cache_of(e)->node[node];
	unsigned int got = take_below(e, n, objs, want, far, grows);

	if (!got && grows)
		got = refill_from_slab(e, slab_grow_low(e, far), objs, want);
	if (!got && grows)
		got = take_below(e, n, objs, want, ULONG_MAX, false);
	return got;
}

unsigned int slab_take_new(struct engine *e, void **objs, unsigned int want, gfp_t gfp)
{
	const struct slab_cache *c = slab_cache_of(e);
	unsigned int got = 0;

	while (want - got >= c->geometry.num) {
		const struct os_place place = placement_next(e, gfp, NUMA_NO_NODE);
		struct page *slab = slab_grow(e, &place, true);
		struct slab_node *node;
		char *obj;

		if (!slab)
			break;
		node = c->node[slab->node];
		obj = slab_objects(c, slab);
		for (unsigned int i = 0; i < c->geometry.num; i++, obj += c->geometry.size)
			objs[got++] = obj;
		lock_acquire(&node->list_lock);
		node->total_slabs++;
		slab_node_link_locked(node, slab, false);
		lock_release(&node->list_lock);
	}
	return got;
}
