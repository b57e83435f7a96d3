/* SPDX-License-Identifier: MIT */
/*
 * api/mempool_kinds.c - allocation functions for memory pools (<uslab/mempool.h>)
 *
 * Data:       a table of the kinds, const.
 * Invariants: contents of an element are nobody's while the pool keeps it.
 * Locks:      none.
 * Flow:       called by mempool_api.c, profile_api.c and programs; calls init.c,
 *             resize_api.c, cache/alloc.c, cache/free.c, cache/kmalloc/kmalloc.c.
 */
#include "api/mempool.h"

#include "base/bits.h"
#include "page/page.h"

static void *alloc_slab(gfp_t flags, void *data, const void *caller)
{
	return cache_alloc_for(cache_of(data), flags, NUMA_NO_NODE, 0, caller);
}

static void free_slab(void *element, void *data, const void *caller)
{
	cache_free_for(cache_of(data), element, caller);
}

static void *alloc_kmalloc(gfp_t flags, void *data, const void *caller)
{
	return api_kmalloc((size_t)data, flags, NUMA_NO_NODE, caller);
}

static void *alloc_kvmalloc(gfp_t flags, void *data, const void *caller)
{
	return api_kvmalloc((size_t)data, 0, flags, NUMA_NO_NODE, caller);
}

/* Of kmalloc, kvmalloc and pages. */
static void free_block(void *element, void *data, const void *caller)
{
	(void)data;
	kmalloc_free(element, caller);
}

static void *alloc_pages(gfp_t flags, void *data, const void *caller)
{
	uintptr_t order = (uintptr_t)data;
	size_t bytes;

	if (order > KMALLOC_MAX_ORDER || api_init())
		return NULL;
	bytes = PAGE_SIZE << order;
	return kmalloc_alloc_pages(bytes, bytes, flags, NUMA_NO_NODE, caller);
}

static const struct uslab_mempool_kind kinds[] = {
	{ mempool_alloc_slab, mempool_free_slab, alloc_slab, free_slab },
	{ mempool_kmalloc, mempool_kfree, alloc_kmalloc, free_block },
	{ mempool_kvmalloc, mempool_kvfree, alloc_kvmalloc, free_block },
	{ mempool_alloc_pages, mempool_free_pages, alloc_pages, free_block },
};

const struct uslab_mempool_kind *api_mempool_kind(mempool_alloc_t *alloc_fn,
						  mempool_free_t *free_fn)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].alloc_fn == alloc_fn && kinds[i].free_fn == free_fn)
			return &kinds[i];
	return NULL;
}

USLAB_API void *mempool_alloc_slab(gfp_t flags, void *pool_data)
{
	return alloc_slab(flags, pool_data, __builtin_return_address(0));
}

USLAB_API void mempool_free_slab(void *element, void *pool_data)
{
	free_slab(element, pool_data, __builtin_return_address(0));
}

USLAB_API void *mempool_kmalloc(gfp_t flags, void *pool_data)
{
	return alloc_kmalloc(flags, pool_data, __builtin_return_address(0));
}

USLAB_API void mempool_kfree(void *element, void *pool_data)
{
	free_block(element, pool_data, __builtin_return_address(0));
}

USLAB_API void *mempool_kvmalloc(gfp_t flags, void *pool_data)
{
	return alloc_kvmalloc(flags, pool_data, __builtin_return_address(0));
}

USLAB_API void mempool_kvfree(void *element, void *pool_data)
{
	free_block(element, pool_data, __builtin_return_address(0));
}

USLAB_API void *mempool_alloc_pages(gfp_t flags, void *pool_data)
{
	return alloc_pages(flags, pool_data, __builtin_return_address(0));
}

USLAB_API void mempool_free_pages(void *element, void *pool_data)
{
	free_block(element, pool_data, __builtin_return_address(0));
}
