/* SPDX-License-Identifier: MIT */
/*
 * cache/free.c - an object goes back to its cache
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none held here.
 * Flow:       called by api/ and malloc/ on a miss; calls the front's free.
 */
#include "cache/internal.h"

void cache_free_for(struct cache *c, void *obj, const void *caller)
{
	(void)caller;
	c->front.ops->free(&c->front, obj);
}

void cache_free_bulk_for(struct cache *c, unsigned int nr, void **p, const void *caller)
{
	(void)caller;
	c->front.ops->free_bulk(&c->front, nr, p);
}

/* By what the heap wrote beside it; whatever that is, only a cache of this heap comes out of it. */
static struct cache *owner_in_heap(const struct engine_heap *heap, const void *p)
{
	unsigned int id = heap->owner(p);
	struct cache *c = id && id < USLAB_ID_FIRST_FREE ? cache_of(percpu_handle(id)) : NULL;

	return c && c->engine.ops->heap == heap ? c : NULL;
}

struct cache *cache_of_object(const void *p)
{
	struct page *page = page_head_of(p);

	if (page && page->type == PAGE_SLAB)
		return container_of(page->engine, struct cache, engine);
	return page && page->type == PAGE_HEAP ? owner_in_heap(page->heap, p) : NULL;
}
