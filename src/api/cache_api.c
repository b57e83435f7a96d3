/* SPDX-License-Identifier: MIT */
/*
 * api/cache_api.c - public functions on caches (<uslab/slab.h>)
 *
 * Data:       none.
 * Invariants: creating a cache makes the library ready; the others need a cache.
 * Locks:      none.
 * Flow:       called by programs; calls cache/.
 */
#include <errno.h>

#include "api/api.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "cache/cache.h"
#include "os/die.h"

/* kmem_cache_create failed: the kernel's line, or its panic (spec 5.2). */
static struct kmem_cache *create_failed(const char *name, slab_flags_t flags, int ret)
{
	if (flags & SLAB_PANIC)
		os_die_fmt("kmem_cache_create_usercopy: Failed to create slab '%s'. Error %d",
			   name ? name : "(null)", ret);
	os_say("kmem_cache_create_usercopy(%s) failed with error %d", name ? name : "(null)", ret);
	errno = -ret;
	return NULL;
}

static int spec_from_args(struct cache_spec *spec, const struct kmem_cache_args *args)
{
	if (args->engine && !(spec->engine = cache_engine_by_name(args->engine)))
		return -EINVAL;
	if (args->front && !(spec->front = cache_front_by_name(args->front)))
		return -EINVAL;
	spec->align = args->align;
	spec->ctor = args->ctor;
	spec->capacity = args->capacity;
	return 0;
}

USLAB_API struct kmem_cache *kmem_cache_create_args(const char *name, unsigned int size,
						    const struct kmem_cache_args *args,
						    slab_flags_t flags)
{
	struct cache_spec spec = { .name = name, .size = size, .flags = flags };
	struct kmem_cache *s;
	int ret = api_init();

	if (!ret && flags & SLAB_KMALLOC)
		ret = -EINVAL; /* internal */
	if (!ret && args)
		ret = spec_from_args(&spec, args);
	if (!ret)
		ret = cache_create(&spec, &s);
	return ret ? create_failed(name, flags, ret) : s;
}

USLAB_API struct kmem_cache *kmem_cache_create(const char *name, unsigned int size,
					       unsigned int align, slab_flags_t flags,
					       void (*ctor)(void *obj))
{
	struct kmem_cache_args args = { .align = align, .ctor = ctor };

	return kmem_cache_create_args(name, size, &args, flags);
}

USLAB_API void kmem_cache_destroy(struct kmem_cache *s)
{
	if (s)
		cache_destroy(s, __builtin_return_address(0));
}

USLAB_API int kmem_cache_shrink(struct kmem_cache *s)
{
	return cache_shrink(cache_of(s));
}

USLAB_API void kmem_cache_reap(void)
{
	cache_reap();
}

USLAB_API int kmem_cache_tune(struct kmem_cache *s, unsigned int limit, unsigned int batchcount,
			      unsigned int shared)
{
	return cache_tune(cache_of(s), limit, batchcount, shared);
}

USLAB_API unsigned int kmem_cache_size(struct kmem_cache *s)
{
	return load_relaxed(&cache_of(s)->engine.object_size);
}

USLAB_API const char *kmem_cache_name(struct kmem_cache *s)
{
	return cache_of(s)->name;
}

USLAB_API void *uslab_cache_alloc(struct kmem_cache *s, gfp_t flags)
{
	return cache_alloc_for(cache_of(s), flags, NUMA_NO_NODE, 0, __builtin_return_address(0));
}

USLAB_API void *kmem_cache_alloc_node(struct kmem_cache *s, gfp_t flags, int node)
{
	return cache_alloc_for(cache_of(s), flags, node, 0, __builtin_return_address(0));
}

USLAB_API void uslab_cache_free(struct kmem_cache *s, void *obj)
{
	cache_free_for(cache_of(s), obj, __builtin_return_address(0));
}

USLAB_API int kmem_cache_alloc_bulk(struct kmem_cache *s, gfp_t flags, size_t nr, void **p)
{
	if (nr > INT32_MAX)
		return 0;
	return (int)cache_alloc_bulk_for(cache_of(s), flags, (unsigned int)nr, p,
					 __builtin_return_address(0));
}

/* From the end, as the kernel does; NULL cache: each object's own. */
static void free_bulk_any(size_t nr, void **p, const void *caller)
{
	while (nr)
		kmalloc_free(p[--nr], caller);
}

USLAB_API void kmem_cache_free_bulk(struct kmem_cache *s, size_t nr, void **p)
{
	if (!s) {
		free_bulk_any(nr, p, __builtin_return_address(0));
		return;
	}
	for (size_t n; nr; nr -= n, p += n) {
		n = MIN(nr, (size_t)1 << 30);
		cache_free_bulk_for(cache_of(s), (unsigned int)n, p, __builtin_return_address(0));
	}
}
