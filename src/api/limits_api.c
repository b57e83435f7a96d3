/* SPDX-License-Identifier: MIT */
/*
 * api/limits_api.c - public functions on what CPUs hold of a cache: how much, and when it goes back
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none.
 * Flow:       called by programs; calls cache/.
 */
#include <errno.h>

#include "api/api.h"
#include "base/assert.h"
#include "cache/cache.h"

USLAB_API void kmem_cache_reap(void)
{
	cache_reap();
}

USLAB_API int kmem_cache_tune(struct kmem_cache *s, unsigned int limit, unsigned int batchcount,
			      unsigned int shared)
{
	return cache_tune(cache_of(s), limit, batchcount, shared);
}

USLAB_API int kmem_cache_set_capacity(struct kmem_cache *s, unsigned int objects)
{
	return cache_set_capacity(cache_of(s), objects);
}

USLAB_API int uslab_set_capacity(const char *pattern, unsigned int objects)
{
	int ret = pattern ? api_init() : -EINVAL;

	BUILD_ASSERT(USLAB_CAPACITY_NONE == FRONT_CAPACITY_NONE);
	return ret ? ret : cache_set_capacity_pattern(pattern, objects);
}
