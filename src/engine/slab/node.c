/* SPDX-License-Identifier: MIT */
/*
 * engine/slab/node.c - the three lists of a node (spec 3.1, 3.6)
 *
 * Data:       struct slab_node.
 * Invariants: nr_partial and free_slabs are the lengths of two lists, total_slabs of all three and
 *             the number of isolated slabs.
 *             Checked by slab_check().
 * Locks:      list_lock, but for new and delete.
 * Flow:       called by evacuate.c, refill.c, free.c, reap.c, slab.c, try.c; calls page/meta.c.
 */
#include "engine/slab/slab.h"
#include "page/meta.h"

struct slab_node *slab_node_new(void)
{
	struct slab_node *node = meta_alloc(sizeof(*node));

	if (!node)
		return NULL;
	lock_init(&node->list_lock, RANK_ENGINE);
	list_init(&node->partial);
	list_init(&node->full);
	list_init(&node->free);
	list_init(&node->evacuated);
	return node;
}

void slab_node_delete(struct slab_node *node)
{
	meta_free(node, sizeof(*node));
}

void slab_node_add_free_locked(struct slab_node *node, long objects)
{
	store_relaxed(&node->free_objects, node->free_objects + (unsigned long)objects);
}

void slab_node_link_locked(struct slab_node *node, struct page *slab, bool tail)
{
	struct slab_counters counters = engine_counters(slab);

	if (unlikely(slab_is_evacuated(counters))) {
		list_add(&slab->lru, &node->evacuated);
	} else if (!counters.inuse) {
		node->free_slabs++;
		list_add(&slab->lru, &node->free);
	} else if (counters.inuse == counters.objects) {
		list_add(&slab->lru, &node->full);
	} else {
		node->nr_partial++;
		if (tail)
			list_add_tail(&slab->lru, &node->partial);
		else
			list_add(&slab->lru, &node->partial);
	}
}

void slab_node_unlink_locked(struct slab_node *node, struct page *slab)
{
	struct slab_counters counters = engine_counters(slab);

	if (unlikely(slab_is_evacuated(counters)))
		; /* they are not counted */
	else if (!counters.inuse)
		node->free_slabs--;
	else if (counters.inuse < counters.objects)
		node->nr_partial--;
	list_del(&slab->lru);
}

/* An array in an object is nowhere while a slab is full. */
void slab_node_isolate_locked(struct engine *e, struct slab_node *node, struct page *slab)
{
	struct slab_counters counters = engine_counters(slab);

	engine_mistake(e, page_address(slab), ENGINE_LIST_BROKEN);
	node->said = true;
	slab_node_add_free_locked(node, -(long)(counters.objects - counters.inuse));
	counters.formatted = counters.inuse;
	counters.inuse = counters.objects;
	counters.frozen = 1;
	engine_set_counters(slab, counters);
	if (slab_cache_of(e)->geometry.placement == SLAB_INDEX_OBJECT)
		slab->freelist = NULL;
	slab->lru.next = NULL;
	node->isolated++;
}

struct page *slab_node_pick_locked(struct slab_node *node)
{
	if (!list_empty(&node->partial))
		return list_first(&node->partial, struct page, lru);
	node->free_touched = true;
	if (!list_empty(&node->free))
		return list_first(&node->free, struct page, lru);
	return NULL;
}

bool slab_node_drop_locked(struct slab_node *node, struct page **dropped)
{
	struct page *slab;

	if (list_empty(&node->free))
		return false;
	slab = list_last(&node->free, struct page, lru);
	slab_node_unlink_locked(node, slab);
	node->total_slabs--;
	slab_node_add_free_locked(node, -(long)engine_counters(slab).objects);
	slab->next = *dropped;
	*dropped = slab;
	return true;
}
