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

void cache_free_attended(struct cache *c, void *obj, const void *caller)
{
	cache_poll_now();
	if (load_acquire(&c->watch)) /* pairs with set_watch() */
		cache_free_watched(c, obj, caller);
	else
		cache_give_plain(c, obj, caller);
}

static void give(void *c, void *obj, const void *caller)
{
	cache_free_for(c, obj, caller);
}

void cache_free_inside(struct cache *c, void *obj, const void *caller)
{
	if (nested_look())
		nested_defer(give, c, obj, caller);
	else
		cache_give(c, obj, caller);
}

void cache_free_for(struct cache *c, void *obj, const void *caller)
{
	cache_give(c, obj, caller);
}

/*
 * Those before an object that bears a mark go first: it may be one of them. Objects that are refused are left out.
 */
static void free_bulk_plain(struct cache *c, unsigned int nr, void **p, const void *caller)
{
	unsigned int from = 0;

	for (unsigned int i = 0; i < nr; i++) {
		bool sound = cache_may_own(c, p[i]) &&
			     !(c->engine.mark && mark_is_set(p[i], c->engine.mark));

		if (likely(sound)) {
			if (c->engine.mark)
				mark_set(p[i], c->engine.mark);
			continue;
		}
		c->front.ops->free_bulk(&c->front, i - from, p + from);
		cache_give_plain(c, p[i], caller);
		from = i + 1;
	}
	c->front.ops->free_bulk(&c->front, nr - from, p + from);
}

static noinline void free_bulk_watched(struct cache *c, unsigned int nr, void **p,
				       const void *caller)
{
	while (nr) /* from the end, as the kernel does */
		cache_free_watched(c, p[--nr], caller);
}

/*
 * Own caches with arrays: single calls would find most objects room inline, where nothing is looked at. As many
 * are looked at here as would come out of line, one for each array. false: look at all.
 */
static bool is_as_single(const struct cache *c, unsigned int nr, void **p)
{
	if (!c->front.capacity || c->engine.mark)
		return false;
	for (unsigned int i = 0; i < nr; i += USLAB_SHEAF_CAPACITY)
		if (!cache_may_own(c, p[i]))
			return false;
	return true;
}

void cache_free_bulk_for(struct cache *c, unsigned int nr, void **p, const void *caller)
{
	if (nested_call()) {
		while (nr)
			nested_defer(give, c, p[--nr], caller);
		return;
	}
	if (cache_is_attended(c, ~0u)) {
		cache_poll_now();
		if (load_acquire(&c->watch)) { /* pairs with set_watch() */
			free_bulk_watched(c, nr, p, caller);
			return;
		}
	}
	if (likely(is_as_single(c, nr, p)))
		c->front.ops->free_bulk(&c->front, nr, p);
	else
		free_bulk_plain(c, nr, p, caller);
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
