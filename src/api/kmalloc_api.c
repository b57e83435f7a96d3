/* SPDX-License-Identifier: MIT */
/*
 * api/kmalloc_api.c - public functions of kmalloc (<uslab/slab.h>)
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none.
 * Flow:       called by buckets_api.c and programs; calls cache/kmalloc/kmalloc.c.
 */
#include <string.h>

#include "api/api.h"
#include "page/nested.h"

USLAB_API void *uslab_kmalloc(size_t size, gfp_t flags)
{
	return api_kmalloc(size, flags, NUMA_NO_NODE, __builtin_return_address(0));
}

USLAB_API void *kmalloc_node(size_t size, gfp_t flags, int node)
{
	if (unlikely(!cache_has_node(flags, node)))
		return NULL;
	return api_kmalloc(size, flags, node, __builtin_return_address(0));
}

USLAB_API void *uslab_kmalloc_caller(size_t size, gfp_t flags, int node, const void *caller)
{
	return unlikely(!cache_has_node(flags, node)) ? NULL
						      : api_kmalloc(size, flags, node, caller);
}

USLAB_API void *uslab_kmalloc_at(size_t size, gfp_t flags, int node,
				 struct uslab_kmalloc_site *site)
{
	if (unlikely(!cache_has_node(flags, node)))
		return NULL;
	return api_kmalloc_at(site, size, flags, node, __builtin_return_address(0));
}

USLAB_API void kfree(const void *p)
{
	kmalloc_free(p, __builtin_return_address(0));
}

USLAB_API size_t ksize(const void *p)
{
	return ZERO_OR_NULL_PTR(p) ? 0 : kmalloc_size(p);
}

USLAB_API void kfree_sensitive(const void *p)
{
	static const struct cache_call call = { "kfree_sensitive", FIX_NOT_FREED };
	const void *caller = __builtin_return_address(0);
	size_t size;

	if (ZERO_OR_NULL_PTR(p))
		return;
	size = kmalloc_size_for(&call, p);
	if (!size && !nested_call())
		return;		/* it was reported */
	if (cache_is_free(p)) { /* its mark must be there when it is reported */
		kmalloc_free(p, caller);
		return;
	}
	if (cache_resizes_freed(p, caller)) /* debug slabs: their poison must stay as it is */
		return;
	explicit_bzero((void *)p, size);
	kmalloc_free_as(&call, p, caller);
}

USLAB_API size_t kmalloc_size_roundup(size_t size)
{
	return api_init() ? size : kmalloc_roundup(size);
}
