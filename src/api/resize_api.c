/* SPDX-License-Identifier: MIT */
/*
 * api/resize_api.c - kvmalloc, and krealloc of both kinds, with alignment and node (<uslab/slab.h>)
 *
 * Why:        docs/adr/0040.
 * Data:       struct request.
 * Invariants: none.
 * Locks:      none.
 * Flow:       called by buckets_api.c, mempool_api.c, mempool_kinds.c, string_api.c and
 *             programs; calls cache/kmalloc/kmalloc.c.
 */
#include <string.h>

#include "api/api.h"
#include "base/bits.h"
#include "os/instrument/memcheck.h"
#include "page/page.h"

/* What a call asks for. */
struct request {
	size_t size;
	size_t align; /* a power of two, or 0: any */
	gfp_t flags;
	int node;
	const void *caller;
	struct uslab_kmalloc_site *site; /* NULL: none */
};

static bool is_aligned(const void *p, size_t align)
{
	return !align || (uintptr_t)p % align == 0;
}

/*
 * At least size bytes, of which a block has that alignment: those of powers of two are aligned to
 * their size, but for blocks of heaps.
 */
static size_t aligned_size(size_t size, size_t align)
{
	if (align <= ARCH_KMALLOC_MINALIGN || !size || size > KMALLOC_MAX_SIZE)
		return size;
	return MAX(align, 1ul << fls(size - 1));
}

/* As kmalloc_node(); NULL also for an alignment that there is not. */
static void *alloc_aligned(const struct request *r)
{
	void *p;

	if (unlikely(!cache_has_node(r->flags, r->node)))
		return NULL;
	p = api_kmalloc_at(r->site, aligned_size(r->size, r->align), r->flags, r->node, r->caller);
	if (likely(is_aligned(p, r->align)) || ZERO_OR_NULL_PTR(p))
		return p;
	kmalloc_free(p, r->caller);
	return NULL;
}

static bool is_alignment(size_t align)
{
	return !align || (is_pow2(align) && align <= KMALLOC_MAX_SIZE);
}

/* As kvmalloc_node_align(), with an alignment. */
static void *alloc_kv(const struct request *r)
{
	if (aligned_size(r->size, r->align) <= KMALLOC_MAX_CACHE_SIZE)
		return alloc_aligned(r);
	if (r->size > INT32_MAX || !cache_has_node(r->flags, r->node) || api_init())
		return NULL;
	return kmalloc_alloc_pages(r->size, r->align, r->flags, r->node, r->caller);
}

void *api_kvmalloc(size_t size, size_t align, gfp_t flags, int node, const void *caller)
{
	const struct request r = { size, align, flags, node, caller, NULL };

	return is_alignment(align) ? alloc_kv(&r) : NULL;
}

USLAB_API void *kvmalloc_node_align(size_t size, size_t align, gfp_t flags, int node)
{
	return api_kvmalloc(size, align, flags, node, __builtin_return_address(0));
}

USLAB_API void *uslab_kvmalloc_at(size_t size, size_t align, gfp_t flags, int node,
				  struct uslab_kmalloc_site *site)
{
	const struct request r = { size, align, flags, node, __builtin_return_address(0), site };

	return is_alignment(align) ? alloc_kv(&r) : NULL;
}

/* ---- resizing (spec 5.7) ---- */

typedef void *alloc_function(const struct request *r);

static void *copy_of(const void *p, size_t bytes, const struct request *r, alloc_function *alloc)
{
	void *copy = alloc(r);

	if (copy)
		memmove(copy, p, bytes); /* of a free object it may be the same */
	return copy;
}

static void *move(const void *p, size_t bytes, const struct request *r, alloc_function *alloc)
{
	void *moved = copy_of(p, bytes, r, alloc);

	if (moved)
		kmalloc_free(p, r->caller);
	return moved;
}

/* Mappings of their own have no node. */
static bool is_on_node(const void *p, int node)
{
	const struct page *page = page_head_of(p);

	return node < 0 || node >= (int)os_topology.nr_nodes || !page || page->node == node;
}

/* The block at p, of size bytes, may stay and gets r->size bytes. */
static void *resize_in_place(const void *p, size_t size, const struct request *r)
{
	if (kmalloc_resize(p, r->size))
		return (void *)p; /* what lies behind it is nobody's now */
	if (r->flags & __GFP_ZERO)
		memset((char *)p + r->size, 0, size - r->size);
	return (void *)p;
}

static void *resize(const struct cache_call *call, const void *p, const struct request *r,
		    alloc_function *alloc)
{
	size_t size;

	if (!r->size) {
		kmalloc_free_as(call, p, r->caller);
		return ZERO_SIZE_PTR;
	}
	if (ZERO_OR_NULL_PTR(p))
		return alloc(r);
	size = kmalloc_size_for(call, p);
	if (!size)
		return NULL; /* it was reported */
	if (cache_resizes_freed(p, r->caller))
		return copy_of(p, MIN(size, r->size), r, alloc);
	/* The whole old block is copied. memcheck is notified of a new one and of its end. */
	if (r->size > size || unlikely(os_memcheck_on) || !is_aligned(p, r->align) ||
	    !is_on_node(p, r->node))
		return move(p, MIN(size, r->size), r, alloc);
	return resize_in_place(p, size, r);
}

static const struct cache_call krealloc_call = { "krealloc", FIX_NOT_RESIZED };

USLAB_API void *krealloc(const void *p, size_t new_size, gfp_t flags)
{
	const struct request r = { new_size, 0, flags, NUMA_NO_NODE, __builtin_return_address(0),
				   NULL };

	return resize(&krealloc_call, p, &r, alloc_aligned);
}

USLAB_API void *krealloc_node_align(const void *p, size_t new_size, size_t align, gfp_t flags,
				    int node)
{
	const struct request r = { new_size, align, flags, node, __builtin_return_address(0), NULL };

	return is_alignment(align) ? resize(&krealloc_call, p, &r, alloc_aligned) : NULL;
}

USLAB_API void *uslab_krealloc_at(const void *p, size_t new_size, size_t align, gfp_t flags,
				  int node, struct uslab_kmalloc_site *site)
{
	const struct request r = { new_size, align, flags, node, __builtin_return_address(0), site };

	return is_alignment(align) ? resize(&krealloc_call, p, &r, alloc_aligned) : NULL;
}

static const struct cache_call kvrealloc_call = { "kvrealloc", FIX_NOT_RESIZED };

USLAB_API void *kvrealloc_node_align(const void *p, size_t new_size, size_t align, gfp_t flags,
				     int node)
{
	const struct request r = { new_size, align, flags, node, __builtin_return_address(0), NULL };

	return is_alignment(align) ? resize(&kvrealloc_call, p, &r, alloc_kv) : NULL;
}

USLAB_API void *uslab_kvrealloc_at(const void *p, size_t new_size, size_t align, gfp_t flags,
				   int node, struct uslab_kmalloc_site *site)
{
	const struct request r = { new_size, align, flags, node, __builtin_return_address(0), site };

	return is_alignment(align) ? resize(&kvrealloc_call, p, &r, alloc_kv) : NULL;
}
