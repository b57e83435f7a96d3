/* SPDX-License-Identifier: MIT */
/*
 * engine/slab/grow.c - a slab from its first page to its last (spec 3.7)
 *
 * Data:       struct page of type SLAB: engine, layout, freelist, counters.
 * Invariants: type and class bytes are written before any object's address leaves this file, and
 *             cleared by pcp_free() after the last object has come back.
 * Locks:      list_lock for colour_next; the slab itself is private here.
 * Flow:       called by evacuate.c, refill.c, free.c, reap.c, try.c; calls index.c, page/pcp.c.
 */
#include "engine/slab/slab.h"
#include "engine/typesafe.h"
#include "page/buddy.h"

/* Slabs of a node take turns, so that objects of equal number do not share cache sets. */
static unsigned int next_colour_locked(const struct slab_cache *c, struct slab_node *node)
{
	unsigned int colour = node->colour_next + 1;

	if (colour >= c->geometry.colour)
		colour = 0;
	node->colour_next = colour;
	return colour;
}

static unsigned int next_colour(const struct slab_cache *c, struct slab_node *node)
{
	unsigned int colour;

	lock_acquire(&node->list_lock);
	colour = next_colour_locked(c, node);
	lock_release(&node->list_lock);
	return colour;
}

static void construct(const struct engine *e, const struct page *slab)
{
	const struct slab_geometry *g = &slab_cache_of(e)->geometry;
	char *first = slab_objects(slab_cache_of(e), slab);
	unsigned int i;

	for (i = 0; i < g->num; i++)
		e->ctor(first + (size_t)i * g->size);
}

/*
 * Pages become a slab, its objects all free or (full) all in use. false: there is no memory for its
 * index array.
 */
static bool open_slab(struct engine *e, struct page *slab, unsigned int colour, bool full)
{
	struct slab_cache *c = slab_cache_of(e);
	const struct slab_geometry *g = &c->geometry;
	struct slab_counters counters = { .objects = (uint16_t)(g->num & SLAB_MAX_NUM),
					  .colour = (uint16_t)colour };

	counters.inuse = full ? counters.objects : 0;
	engine_set_counters(slab, counters);
	if (!slab_index_new(c, slab, full))
		return false;
	engine_own_pages(e, slab, &c->layout);
	if (e->ctor)
		construct(e, slab);
	if (e->page_class)
		page_set_class(slab, 1ul << g->order, e->page_class);
	page_set_block(slab, PAGE_SLAB, 1ul << g->order);
	engine_hide_slab(e, page_address(slab), PAGE_SIZE << g->order);
	return true;
}

/* Pages that were taken become a slab. slab NULL: there were none. */
static struct page *grow(struct engine *e, struct page *slab, bool full)
{
	struct slab_cache *c = slab_cache_of(e);
	unsigned int order = c->geometry.order;

	if (!slab)
		return NULL;
	if (!open_slab(e, slab, next_colour(c, c->node[slab->node]), full)) {
		engine_limit_give(e, 1ul << order);
		pcp_free(slab, order, e->page_lists);
		return NULL;
	}
	if (likely(placement_keeps(e, slab)))
		return slab;
	slab->next = NULL;
	slab_release(e, slab);
	return NULL; /* as if the place had no memory: slab_refill() begins anew */
}

struct page *slab_grow(struct engine *e, const struct os_place *place, bool full)
{
	return grow(e, placement_pages(e, slab_cache_of(e)->geometry.order, place), full);
}

struct page *slab_grow_low(struct engine *e, unsigned long far)
{
	return grow(e, engine_low_block(e, slab_cache_of(e)->geometry.order, far), false);
}

struct page *slab_try_grow_locked(struct engine *e, unsigned int node)
{
	struct slab_cache *c = slab_cache_of(e);
	struct page *slab = NULL;

	if (c->geometry.placement != SLAB_INDEX_OFF) /* or it would need a block of its own */
		slab = engine_try_block(e, c->geometry.order, node);
	if (slab)
		open_slab(e, slab, next_colour_locked(c, c->node[node]), false);
	return slab;
}

void slab_release(struct engine *e, struct page *slabs)
{
	while (slabs) {
		struct page *slab = slabs;

		slabs = slab->next;
		if (unlikely(e->dtor))
			engine_destruct_slab(e, slab_objects(slab_cache_of(e), slab),
					     slab_cache_of(e)->geometry.size,
					     slab_cache_of(e)->geometry.num);
		slab_index_delete(slab_cache_of(e), slab);
		engine_free_pages(e, slab);
	}
}
