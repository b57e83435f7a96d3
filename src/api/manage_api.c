/* SPDX-License-Identifier: MIT */
/*
 * api/manage_api.c - public functions of <uslab/manage.h>
 *
 * Data:       none.
 * Invariants: what a program knows of struct kmem_cache_statistics is filled in, and no more.
 * Locks:      none.
 * Flow:       calls cache/.
 */
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "cache/pressure.h"

/* Up to the last member that the first version had. */
#define STATS_FIRST (offsetof(struct kmem_cache_statistics, slab_bytes) + sizeof(size_t))

USLAB_API int kmem_cache_stats(struct kmem_cache *s, struct kmem_cache_statistics *stats)
{
	struct kmem_cache_statistics all;
	size_t size = MIN(stats->size, sizeof(all));

	if (size < STATS_FIRST)
		return -EINVAL;
	cache_stats(cache_of(s), &all);
	all.size = size;
	memcpy(stats, &all, size);
	return 0;
}

USLAB_API int kmem_cache_destroy_all_objects(struct kmem_cache *s)
{
	return cache_clear(cache_of(s), __builtin_return_address(0));
}

USLAB_API void uslab_set_oom_hook(uslab_oom_hook hook, void *arg)
{
	pressure_set_hook(hook, arg);
}
