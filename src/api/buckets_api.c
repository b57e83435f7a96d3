/* SPDX-License-Identifier: MIT */
/*
 * api/buckets_api.c - caches by size for one user (<uslab/slab.h>)
 *
 * Why:        docs/adr/0042.
 * Data:       a kmem_buckets: its caches, by the kernel's index of their size.
 * Invariants: it has all of its caches, which do not merge; kfree() finds the cache of an object.
 *             None in buckets over an engine where it does not: see below.
 * Locks:      none.
 * Flow:       called by programs; calls cache_api.c, kmalloc_api.c, resize_api.c, cache/alloc.c,
 *             cache/kmalloc/kmalloc.c.
 *
 * In pages of a heap an object of a cache is not found by its address. So over an engine with a
 * heap there are no buckets: as in a kernel that was built without them the result is
 * ZERO_SIZE_PTR, and allocations are kmalloc's.
 */
#include "api/api.h"
#include "base/bits.h"

#define NAME_ROOM (CACHE_NAME_MAX + 8) /* bytes: a name that is too long is refused as such */

/* Of objects of that size: the window of all, as far as it lies in these. */
static struct kmem_cache_args args_for(unsigned int size, const struct kmem_cache_args *all)
{
	struct kmem_cache_args args = *all;

	args.useroffset = MIN(args.useroffset, size);
	args.usersize = MIN(args.usersize, size - args.useroffset);
	return args;
}

static struct kmem_cache *make_one(const char *name, unsigned int size,
				   const struct kmem_cache_args *all, slab_flags_t flags)
{
	const struct kmem_cache_args args = args_for(size, all);
	char of_size[NAME_ROOM];

	if (name)
		kmalloc_name(of_size, sizeof(of_size), name, size);
	return kmem_cache_create_args(name ? of_size : NULL, size, &args, flags | SLAB_NO_MERGE);
}

static bool make_all(kmem_buckets *b, const char *name, const struct kmem_cache_args *all,
		     slab_flags_t flags)
{
	for (unsigned int i = 1; i < ARRAY_SIZE(*b); i++) {
		(*b)[i] = make_one(name, kmalloc_index_size(i), all, flags);
		if (!(*b)[i])
			return false;
	}
	return true;
}

static void destroy(kmem_buckets *b)
{
	for (unsigned int i = 1; i < ARRAY_SIZE(*b); i++)
		kmem_cache_destroy((*b)[i]);
	kfree(b);
}

static bool has_heap(const struct kmem_cache *s)
{
	return cache_of(s)->engine.ops->heap;
}

USLAB_API kmem_buckets *kmem_buckets_create(const char *name, slab_flags_t flags,
					    unsigned int useroffset, unsigned int usersize,
					    void (*ctor)(void *obj))
{
	const struct kmem_cache_args all = { .useroffset = useroffset,
					     .usersize = usersize,
					     .ctor = ctor };
	kmem_buckets *b = kzalloc(sizeof(*b), GFP_KERNEL);
	bool made;

	if (!b)
		return NULL;
	made = make_all(b, name, &all, flags);
	if (made && !has_heap((*b)[1]))
		return b;
	destroy(b);
	return made ? ZERO_SIZE_PTR : NULL;
}

/* NULL: the size is that of no cache, or there are no buckets. */
static struct cache *cache_for(kmem_buckets *b, size_t size)
{
	if (ZERO_OR_NULL_PTR(b) || size - 1 >= KMALLOC_MAX_CACHE_SIZE)
		return NULL;
	return cache_of((*b)[uslab_kmalloc_index(size)]);
}

USLAB_API void *uslab_kmalloc_buckets(kmem_buckets *b, size_t size, gfp_t flags, const void *caller)
{
	struct cache *c = cache_for(b, size);

	return c ? cache_alloc_for(c, flags, NUMA_NO_NODE, size, caller)
		 : api_kmalloc(size, flags, NUMA_NO_NODE, caller);
}

USLAB_API void *kmem_buckets_alloc(kmem_buckets *b, size_t size, gfp_t flags)
{
	return uslab_kmalloc_buckets(b, size, flags, __builtin_return_address(0));
}

USLAB_API void *kmem_buckets_valloc(kmem_buckets *b, size_t size, gfp_t flags)
{
	const void *caller = __builtin_return_address(0);
	struct cache *c = cache_for(b, size);

	return c ? cache_alloc_for(c, flags, NUMA_NO_NODE, size, caller)
		 : api_kvmalloc(size, 0, flags, NUMA_NO_NODE, caller);
}
