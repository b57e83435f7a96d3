/* SPDX-License-Identifier: MIT */
/*
 * malloc/direct.c - blocks for a program that moves them by itself: should this one move, where to
 *
 * Why:        docs/adr/0060.
 * Data:       none.
 * Invariants: what is no object of a class is served by malloc() and free().
 * Locks:      none of its own.
 * Flow:       called by the program; calls cache/direct.c, group.c, malloc.c.
 */
#include <stdlib.h>

#include "cache/group/group.h"
#include "malloc/hot.h"
#include "page/nested.h"
#include <uslab/malloc.h>

/* What this thread allocates of a class comes from there; NULL: that is not made yet. */
static struct cache *cache_for(unsigned int class)
{
	if (unlikely(group_current))
		return malloc_group_class(class);
	return cache_of(load_acquire(&malloc_made[class])); /* pairs with cache_create() */
}

/* What a block is of; NULL: of no class. */
static struct cache *cache_at(const void *p)
{
	unsigned int class = page_in_arena(p) ? page_map.class[page_index(p)] : 0;

	if (likely(class))
		return cache_of(percpu_handle(class));
	return groups_are_known() ? malloc_group_cache(p) : NULL;
}

USLAB_API bool uslab_malloc_should_move(const void *p)
{
	return malloc_ready() && cache_should_move(p);
}

USLAB_API void *uslab_malloc_direct(size_t size)
{
	struct cache *c;

	if (size > MALLOC_MAX_SMALL || !malloc_usable())
		return malloc(size);
	c = cache_for(malloc_class_of(size));
	if (!c || c->engine.ops->heap) /* the first of its class, or of no class */
		return malloc(size);
	malloc_poll_mailbox();
	return cache_alloc_direct(c, group_current ? MALLOC_GFP | __GFP_ACCOUNT : MALLOC_GFP,
				  MAX(size, 1ul), MALLOC_CALLER);
}

USLAB_API void uslab_free_direct(void *p)
{
	struct cache *c = malloc_ready() ? cache_at(p) : NULL;

	if (c)
		cache_free_direct(c, p, MALLOC_CALLER);
	else
		free(p);
}
