/* SPDX-License-Identifier: MIT */
/*
 * api/kmalloc_api.c - public functions of kmalloc (<uslab/slab.h>)
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none.
 * Flow:       called by programs; calls cache/kmalloc/kmalloc.c.
 */
#include <string.h>

#include "api/api.h"
#include "base/bits.h"
#include "cache/cache.h"
#include "os/instrument/memcheck.h"
#include "page/nested.h"

static void *alloc(size_t size, gfp_t flags, int node, const void *caller)
{
	if (unlikely(api_init()))
		return size ? NULL : ZERO_SIZE_PTR;
	return kmalloc_alloc_for(size, flags, node, caller);
}

USLAB_API void *uslab_kmalloc(size_t size, gfp_t flags)
{
	return alloc(size, flags, NUMA_NO_NODE, __builtin_return_address(0));
}

USLAB_API void *kmalloc_node(size_t size, gfp_t flags, int node)
{
	if (unlikely(!cache_has_node(flags, node)))
		return NULL;
	return alloc(size, flags, node, __builtin_return_address(0));
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

static void *copy_of(const void *p, size_t bytes, size_t size, gfp_t flags, const void *caller)
{
	void *copy = alloc(size, flags, NUMA_NO_NODE, caller);

	if (copy)
		memmove(copy, p, bytes); /* of a free object it may be the same */
	return copy;
}

/* Moves to a new object; the whole old one is copied (spec 5.7). */
static void *realloc_move(const void *p, size_t old_size, size_t new_size, gfp_t flags,
			  const void *caller)
{
	void *moved = copy_of(p, old_size, new_size, flags, caller);

	if (moved)
		kmalloc_free(p, caller);
	return moved;
}

USLAB_API void *krealloc(const void *p, size_t new_size, gfp_t flags)
{
	static const struct cache_call call = { "krealloc", FIX_NOT_RESIZED };
	const void *caller = __builtin_return_address(0);
	size_t size;

	if (!new_size) {
		kmalloc_free_as(&call, p, caller);
		return ZERO_SIZE_PTR;
	}
	if (ZERO_OR_NULL_PTR(p))
		return alloc(new_size, flags, NUMA_NO_NODE, caller);
	size = kmalloc_size_for(&call, p);
	if (!size)
		return NULL; /* it was reported */
	if (cache_resizes_freed(p, caller))
		return copy_of(p, MIN(size, new_size), new_size, flags, caller);
	if (new_size > size)
		return realloc_move(p, size, new_size, flags, caller);
	/* memcheck is notified of a new object and of the old one's end. */
	if (unlikely(os_memcheck_on))
		return realloc_move(p, new_size, new_size, flags, caller);
	if (kmalloc_resize(p, new_size))
		return (void *)p; /* what lies behind it is nobody's now */
	if (flags & __GFP_ZERO)
		memset((char *)p + new_size, 0, size - new_size);
	return (void *)p;
}
