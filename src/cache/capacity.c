/* SPDX-License-Identifier: MIT */
/*
 * cache/capacity.c - how many objects a CPU's array of a cache holds, changed on live caches
 *
 * Why:        docs/adr/0055.
 * Data:       struct cache: capacity, as asked for; that of the front follows from it.
 * Invariants: none.
 * Locks:      cache_lock: one change, drain or switch of a front at a time; alloc and free go on.
 * Flow:       called by control/attribute.c and api/limits_api.c; calls the front's set_capacity.
 */
#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "cache/instrument/instrument.h"
#include "cache/internal.h"

int cache_set_capacity_locked(struct cache *c, unsigned int objects)
{
	int ret;

	if (!c->front.ops->set_capacity)
		return -EOPNOTSUPP;
	if (objects > CACHE_MAX_CAPACITY && objects != FRONT_CAPACITY_NONE)
		return -EINVAL;
	instrument_enter();
	cache_verify_frees_locked(c, true);
	ret = c->front.ops->set_capacity(&c->front, objects);
	cache_verify_frees_locked(c, false);
	instrument_leave();
	/* caches merge with those that ask for the same */
	if (!ret)
		c->capacity = (uint16_t)objects;
	return ret;
}

int cache_set_capacity(struct cache *c, unsigned int objects)
{
	int ret;

	lock_acquire(&cache_lock);
	ret = cache_set_capacity_locked(c, objects);
	cache_unlock();
	return ret;
}

static long set_one(struct cache *c, const void *arg)
{
	return cache_set_capacity_locked(c, *(const unsigned int *)arg);
}

int cache_set_capacity_pattern(const char *pattern, unsigned int objects)
{
	struct cache_result result;

	lock_acquire(&cache_lock);
	cache_each_locked(pattern, strlen(pattern) + 1, set_one, &objects, &result);
	cache_unlock();
	return cache_result_of_pattern(&result);
}
