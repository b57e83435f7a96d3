/* SPDX-License-Identifier: MIT */
/*
 * api/limits_api.c - public functions on how much memory there may be: of the process, of a cache,
 * of what CPUs hold of it, when that goes back, and which group a cache belongs to
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none.
 * Flow:       called by programs; calls cache/, page/limit.h.
 */
#include <errno.h>

#include "api/api.h"
#include "base/assert.h"
#include "base/atomic.h"
#include "cache/cache.h"
#include "cache/group/group.h"
#include "page/buddy.h"
#include "page/limit.h"
#include <uslab/group.h>

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

USLAB_API int kmem_cache_set_limit(struct kmem_cache *s, size_t bytes)
{
	return cache_set_limit(cache_of(s), bytes);
}

USLAB_API int kmem_cache_set_group(struct kmem_cache *s, struct uslab_group *group)
{
	if (!s)
		return -EINVAL;
	return groups_are_known() ? group_adopt(cache_of(s), group) : -ENOENT;
}

USLAB_API int uslab_set_limit(size_t bytes)
{
	int ret = api_init();

	if (ret)
		return ret;
	if (bytes && bytes < PAGE_SIZE)
		return -EINVAL;
	limit_set(bytes ? bytes : SIZE_MAX);
	if (limit_is_near(0))
		cache_shrink_all();
	if (limit_is_near(0))
		buddy_trim(0);
	return 0;
}

USLAB_API size_t uslab_limit(size_t *held)
{
	unsigned long limit = load_relaxed(&limit_counters.limit);

	if (held)
		*held = limit_held() << PAGE_SHIFT;
	return limit == LIMIT_NONE ? 0 : limit << PAGE_SHIFT;
}

USLAB_API int uslab_set_capacity(const char *pattern, unsigned int objects)
{
	int ret = pattern ? api_init() : -EINVAL;

	BUILD_ASSERT(USLAB_CAPACITY_NONE == FRONT_CAPACITY_NONE);
	return ret ? ret : cache_set_capacity_pattern(pattern, objects);
}
