/* SPDX-License-Identifier: MIT */
/*
 * engine/nodes.c - pages of a node, nodes that come and go, and the partial list of one
 *
 * Data:       see nodes.h.
 * Invariants: see nodes.h.
 * Locks:      see nodes.h.
 * Flow:       see nodes.h.
 */
#include "engine/nodes.h"

#include <limits.h>

#include "base/bits.h"
#include "engine/limit.h"
#include "engine/placement.h"
#include "engine/stats.h"
#include "os/cpu/cpu.h"
#include "page/buddy.h"
#include "page/low.h"
#include "page/meta.h"

unsigned int engine_nr_nodes(void)
{
	return MAX(os_topology.nr_nodes, 1u);
}

unsigned int engine_first_node(unsigned int nr_nodes, int node)
{
	if (node >= 0 && (unsigned int)node < nr_nodes)
		return (unsigned int)node;
	return nr_nodes > 1 ? os_current_node() : 0;
}

struct page *engine_get_pages(struct engine *e, const struct slab_layout *layout, gfp_t gfp,
			      int node)
{
	const struct os_place place = placement_next(e, gfp, node);
	unsigned int order = layout->order;
	struct page *page = placement_pages(e, order, &place);

	if (!page && layout->min_order < order) {
		order = layout->min_order;
		page = placement_pages(e, order, &place);
		if (page)
			engine_count(e, ORDER_FALLBACK);
	}
	if (page)
		page->order = (uint8_t)order;
	return page;
}

struct page *engine_try_block(const struct engine *e, unsigned int order, unsigned int node)
{
	struct page *page;

	if (!engine_limit_take(e, 1ul << order))
		return NULL;
	page = buddy_try_alloc(node, order);
	if (!page)
		engine_limit_give(e, 1ul << order);
	return page;
}

struct page *engine_try_pages(const struct engine *e, const struct slab_layout *layout,
			      unsigned int node)
{
	unsigned int order = layout->order;
	struct page *page = engine_try_block(e, order, node);

	if (!page && layout->min_order < order) {
		order = layout->min_order;
		page = engine_try_block(e, order, node);
	}
	if (page)
		page->order = (uint8_t)order;
	return page;
}

unsigned long engine_far(const struct engine *e, unsigned long leaving)
{
	unsigned int order = load_acquire(&e->layout)->order;

	if (order > LOW_MOST_ORDER || !engine_limit_has_room(e, 1ul << order))
		return ULONG_MAX;
	return page_far(leaving);
}

struct page *engine_low_block(const struct engine *e, unsigned int order, unsigned long far)
{
	struct page *page;

	if (!engine_limit_take(e, 1ul << order))
		return NULL;
	page = buddy_alloc_low(order, far);
	if (page)
		page->order = (uint8_t)order;
	else
		engine_limit_give(e, 1ul << order);
	return page;
}

struct engine_node *engine_node_new(void)
{
	struct engine_node *node = meta_alloc(sizeof(*node));

	if (!node)
		return NULL;
	lock_init(&node->list_lock, RANK_ENGINE);
	list_init(&node->partial);
	list_init(&node->full);
	return node;
}

void engine_node_delete(struct engine_node *node)
{
	meta_free(node, sizeof(*node));
}

void engine_node_add_partial_locked(struct engine_node *node, struct page *slab, bool tail)
{
	if (tail)
		list_add_tail(&slab->lru, &node->partial);
	else
		list_add(&slab->lru, &node->partial);
	store_relaxed(&node->nr_partial, node->nr_partial + 1);
}

void engine_node_remove_partial_locked(struct engine_node *node, struct page *slab)
{
	list_del(&slab->lru);
	store_relaxed(&node->nr_partial, node->nr_partial - 1);
}
