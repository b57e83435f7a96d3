/* SPDX-License-Identifier: MIT */
/*
 * api/mobility_api.c - public functions of <uslab/mobility.h>
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none.
 * Flow:       calls cache/mobility/ and cache/direct.c.
 */
#include "cache/mobility/mobility.h"

USLAB_API int kmem_cache_setup_mobility(struct kmem_cache *s, kmem_cache_isolate_func isolate,
					kmem_cache_migrate_func migrate)
{
	return mobility_set(cache_of(s),
			    &(struct mobility_functions){ .isolate = isolate, .migrate = migrate });
}

USLAB_API int uslab_cache_set_move(struct kmem_cache *s, uslab_move_func move, void *arg)
{
	return mobility_set(cache_of(s), &(struct mobility_functions){ .move = move, .arg = arg });
}

USLAB_API int uslab_cache_set_defrag_ratio(struct kmem_cache *s, unsigned int percent)
{
	return mobility_set_ratio(cache_of(s), percent);
}

USLAB_API int kmem_cache_defrag(struct kmem_cache *s, int node, unsigned long budget_us)
{
	return cache_defrag(cache_of(s), node, budget_us);
}

USLAB_API bool uslab_should_move(const void *p)
{
	return cache_should_move(p);
}

USLAB_API void *uslab_cache_alloc_direct(struct kmem_cache *s, gfp_t gfp)
{
	return cache_alloc_direct(cache_of(s), gfp, 0, __builtin_return_address(0));
}

USLAB_API void uslab_cache_free_direct(struct kmem_cache *s, void *obj)
{
	if (obj)
		cache_free_direct(cache_of(s), obj, __builtin_return_address(0));
}
