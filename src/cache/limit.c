/* SPDX-License-Identifier: MIT */
/*
 * cache/limit.c - how much memory the slabs of a cache may have, set on live caches
 *
 * Why:        docs/adr/0063.
 * Data:       none; the limits are engine/limit.h's.
 * Invariants: a cache with a limit is alone.
 * Locks:      cache_lock: one change at a time; alloc and free go on.
 * Flow:       called by api/limits_api.c and control/attribute.c; calls drain.c, engine/limit.h.
 */
#include <errno.h>

#include "base/atomic.h"
#include "cache/internal.h"
#include "engine/limit.h"

int cache_set_limit_locked(struct cache *c, size_t bytes)
{
	struct engine_limit *l = &engine_limits[c->engine.id];
	unsigned long most = bytes >> PAGE_SHIFT;

	if (c->engine.ops->heap)
		return -EOPNOTSUPP;
	if (c->refcount > 1)
		return -EBUSY;
	if (bytes && !most)
		return -EINVAL;
	store_relaxed(&l->most, most);
	if (most)
		c->alone = 1;
	if (most && load_relaxed(&l->pages) > most)
		cache_shrink_locked(c);
	return 0;
}

int cache_set_limit(struct cache *c, size_t bytes)
{
	int ret;

	lock_acquire(&cache_lock);
	ret = cache_set_limit_locked(c, bytes);
	cache_unlock();
	return ret;
}
