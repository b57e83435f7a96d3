/* SPDX-License-Identifier: MIT */
/*
 * api/shrinker_api.c - public functions of <uslab/shrinker.h>
 *
 * Data:       none; shrinkers of shrinker_alloc() lie in metadata.
 * Invariants: SHRINKER_ALLOCATED is set for these alone.
 * Locks:      none.
 * Flow:       called by programs; calls cache/reclaim/shrinker.c, page/meta.c.
 */
#include "cache/reclaim/shrinker.h"

#include "api/api.h"
#include "page/meta.h"

#define FOR_CALLERS (SHRINKER_NUMA_AWARE | SHRINKER_MEMCG_AWARE | SHRINKER_NONSLAB)

USLAB_API struct shrinker *shrinker_alloc(unsigned int flags, const char *fmt, ...)
{
	struct shrinker *s = api_init() ? NULL : meta_alloc(sizeof(*s));

	(void)fmt;
	if (s)
		*s = (struct shrinker){ .seeks = DEFAULT_SEEKS,
					.flags = (flags & FOR_CALLERS) | SHRINKER_ALLOCATED };
	return s;
}

USLAB_API void shrinker_register(struct shrinker *shrinker)
{
	shrinker_add(shrinker);
}

USLAB_API void shrinker_free(struct shrinker *shrinker)
{
	if (!shrinker)
		return;
	shrinker_remove(shrinker);
	if (shrinker->flags & SHRINKER_ALLOCATED)
		meta_free(shrinker, sizeof(*shrinker));
}

USLAB_API int(register_shrinker)(struct shrinker *shrinker, const char *fmt, ...)
{
	int ret = api_init();

	(void)fmt;
	return ret ? ret : shrinker_add(shrinker);
}

USLAB_API void unregister_shrinker(struct shrinker *shrinker)
{
	shrinker_remove(shrinker);
}
