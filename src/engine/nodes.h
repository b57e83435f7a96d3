/* SPDX-License-Identifier: MIT */
/*
 * engine/nodes.h - a cache's slabs on one node, as SLUB and debug slabs count and list them
 *
 * Data:       struct engine_node, from page/meta.c. (SLAB has its own: three lists, other counts.)
 * Invariants: nr_partial is the length of partial. A slab that is on no list may be counted.
 * Locks:      list_lock (RANK_ENGINE) for both lists and nr_partial, which is also read without it,
 *             as a hint. The three totals are atomic.
 * Flow:       called by debug/, engine/, cache/direct.c, cache/mobility/choice.c and
 *             cache/reclaim/shrinker.c; calls page/.
 */
#ifndef ENGINE_NODES_H
#define ENGINE_NODES_H

#include "base/atomic.h"
#include "engine/descriptor.h"
#include "engine/engine.h"
#include "os/lock/lock.h"
#include "page/page.h"

struct engine_node {
	struct lock list_lock;
	unsigned long nr_partial;
	struct list_head partial;
	/* slub: debug caches with SLAB_STORE_USER only; debug: and those with another layout */
	struct list_head full;
	unsigned long nr_slabs;	      /* atomic; debug: isolated ones included */
	unsigned long total_objects;  /* atomic */
	unsigned long nr_pages;	      /* atomic; of all slabs */
	unsigned long asked;	      /* atomic; questions since the last look, see slub/sparse.c */
	uint8_t passed[ENGINE_LANES]; /* slub/lane.c: slabs of a lane, since that took from any */
} __attribute__((aligned(CACHE_LINE)));

/* Nodes that a cache has: those of the machine, at least one. */
unsigned int engine_nr_nodes(void);
/*
 * The node that a request starts with, of a cache with nr_nodes: the one asked for; the thread's if
 * that is -1, or does not exist (spec 4.8a).
 */
unsigned int engine_first_node(unsigned int nr_nodes, int node);

/*
 * Pages for a slab: of the preferred order, else of the smallest that holds an object; page.order
 * says which. NULL: out of memory.
 */
struct page *engine_get_pages(struct engine *e, const struct slab_layout *layout, gfp_t gfp,
			      int node);

/* The same without waiting, of what that node has free now; and a block of one order alone. */
struct page *engine_try_pages(const struct engine *e, const struct slab_layout *layout,
			      unsigned int node);
struct page *engine_try_block(const struct engine *e, unsigned int order, unsigned int node);
/*
 * As page_far(), for a cache that may have new slabs below; ULONG_MAX: it has too large ones, or is
 * at its limit.
 */
unsigned long engine_far(const struct engine *e, unsigned long leaving);

/* Of that order, below page far (page/low.h), or NULL. */
struct page *engine_low_block(const struct engine *e, unsigned int order, unsigned long far);

/* NULL: out of memory. */
struct engine_node *engine_node_new(void);
/* NULL is ignored. */
void engine_node_delete(struct engine_node *node);

/* On and off the partial list. tail: that end. */
void engine_node_add_partial_locked(struct engine_node *node, struct page *slab, bool tail);
void engine_node_remove_partial_locked(struct engine_node *node, struct page *slab);

/* One slab more, or less. Any context. */
static inline void engine_node_add(struct engine_node *node, unsigned long objects,
				   unsigned long pages)
{
	fetch_add(&node->nr_slabs, 1);
	fetch_add(&node->total_objects, objects);
	fetch_add(&node->nr_pages, pages);
}

static inline void engine_node_sub(struct engine_node *node, unsigned long objects,
				   unsigned long pages)
{
	fetch_sub(&node->nr_slabs, 1);
	fetch_sub(&node->total_objects, objects);
	fetch_sub(&node->nr_pages, pages);
}

#endif /* ENGINE_NODES_H */
