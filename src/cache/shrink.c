/* SPDX-License-Identifier: MIT */
/*
 * cache/shrink.c - memory goes back: fronts drained, empty slabs freed
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      cache_lock: one drain of a front at a time, and no cache disappears meanwhile.
 * Flow:       called by api/ and by cache/alloc.c when memory is short.
 */
#include "cache/internal.h"

static int shrink_locked(struct cache *c)
{
	c->front.ops->drain(&c->front);
	return c->engine.ops->shrink(&c->engine);
}

int cache_shrink(struct cache *c)
{
	int ret;

	lock_acquire(&cache_lock);
	ret = shrink_locked(c);
	lock_release(&cache_lock);
	return ret;
}

void cache_shrink_all(void)
{
	struct list_head *pos;

	lock_acquire(&cache_lock);
	list_for_each(pos, &cache_list)
		shrink_locked(list_entry(pos, struct cache, list));
	lock_release(&cache_lock);
}
