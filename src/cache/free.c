/* SPDX-License-Identifier: MIT */
/*
 * cache/free.c - an object goes back to its cache
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none held here.
 * Flow:       called by api/ and malloc/ on a miss; calls the front's free; of a cache that is
 *             watched, watch.c. Looks into the mailbox.
 */
#include "cache/object.h"
#include "os/die.h"
#include "os/symbol.h"

#define SYMBOL_MAX 128 /* bytes of a function's name in a message */

void cache_die_no_object(const struct cache *c, const void *p, const void *caller)
{
	char where[SYMBOL_MAX];

	os_symbol_text(where, sizeof(where), (uintptr_t)caller);
	os_die_fmt("%p was freed into cache %s by %s, but is no object of uslab", p, c->name,
		   where);
}

void cache_free_attended(struct cache *c, void *obj, const void *caller)
{
	cache_poll_now();
	if (load_acquire(&c->watch)) /* pairs with set_watch() */
		cache_free_watched(c, obj, caller);
	else
		cache_give_plain(c, obj, caller, false);
}

void cache_free_for(struct cache *c, void *obj, const void *caller)
{
	cache_give(c, obj, caller, false);
}

void cache_free_bulk_for(struct cache *c, unsigned int nr, void **p, const void *caller)
{
	cache_poll_now();
	if (likely(!load_acquire(&c->watch))) { /* pairs with set_watch() */
		c->front.ops->free_bulk(&c->front, nr, p);
		return;
	}
	for (unsigned int i = nr; i-- > 0;) /* from the end, as the kernel does */
		cache_free_watched(c, p[i], caller);
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
