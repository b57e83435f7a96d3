/* SPDX-License-Identifier: MIT */
/*
 * api/cache_api.c - public functions on caches (<uslab/slab.h>)
 *
 * Data:       none.
 * Invariants: creating a cache makes the library ready; the others need a cache.
 * Locks:      none.
 * Flow:       called by buckets_api.c, cpp_api.c and programs; calls cache/.
 */
#include <errno.h>

#include "api/api.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "cache/cache.h"
#include "cache/group/group.h"
#include "os/process/die.h"
#include "os/rcu/rcu.h"

#define WHY_BYTES 120

/* A line that says which call failed and why; with SLAB_PANIC the kernel's end (spec 5.2). */
static struct kmem_cache *create_failed(const char *function, const struct cache_spec *spec,
					int error, const char *why)
{
	const char *name = spec->name ? spec->name : "(null)";

	if (spec->flags & SLAB_PANIC)
		os_die_fmt("%s: Failed to create slab '%s'. Error %d: %s", function, name, error,
			   why);
	os_say("%s(%s) failed with error %d: %s", function, name, error, why);
	errno = -error;
	return NULL;
}

static bool holds_pointer(unsigned int offset, unsigned int size)
{
	return size >= sizeof(void *) && offset <= size - sizeof(void *) &&
	       offset % sizeof(void *) == 0;
}

static int spec_from_args(struct cache_spec *spec, const struct kmem_cache_args *args, char *why)
{
	if (args->engine && !(spec->engine = cache_engine_by_name(args->engine))) {
		os_format(why, WHY_BYTES, "no engine is called '%s'", args->engine);
		return -EINVAL;
	}
	if (args->front && !(spec->front = cache_front_by_name(args->front))) {
		os_format(why, WHY_BYTES, "no front is called '%s'", args->front);
		return -EINVAL;
	}
	if (args->use_freeptr_offset && !holds_pointer(args->freeptr_offset, spec->size)) {
		os_format(why, WHY_BYTES, "no free pointer fits at offset %u of %u bytes",
			  args->freeptr_offset, spec->size);
		return -EINVAL;
	}
	spec->align = args->align;
	spec->ctor = args->ctor;
	spec->dtor = args->dtor;
	spec->reclaim = args->reclaim;
	spec->reclaim_arg = args->reclaim_arg;
	spec->capacity = args->capacity;
	spec->sheaf_capacity = args->sheaf_capacity;
	/* spec 5.2.3: what is outside of the object counts as none */
	if (args->usersize <= spec->size && spec->size - args->usersize >= args->useroffset) {
		spec->useroffset = args->useroffset;
		spec->usersize = args->usersize;
	}
	return 0;
}

/* Flags that the cache floor knows, and no program may ask for. */
static int check_flags(slab_flags_t flags, char *why)
{
	if (flags & SLAB_KMALLOC) {
		os_format(why, WHY_BYTES, "SLAB_KMALLOC is not for callers");
		return -EINVAL;
	}
	if (flags & SLAB_TYPESAFE_BY_RCU && !os_rcu_is_bound()) {
		os_format(why, WHY_BYTES, "SLAB_TYPESAFE_BY_RCU needs an RCU: uslab_set_rcu()");
		return -EOPNOTSUPP;
	}
	return 0;
}

static struct kmem_cache *create(const char *function, struct cache_spec *spec,
				 const struct kmem_cache_args *args)
{
	char why[WHY_BYTES] = "";
	struct kmem_cache *s;
	int ret = api_init();

	if (!ret)
		ret = check_flags(spec->flags, why);
	if (!ret && args)
		ret = spec_from_args(spec, args, why);
	if (!ret)
		ret = cache_create(spec, &s);
	if (!ret)
		return s;
	if (!why[0])
		cache_explain(spec, ret, why, sizeof(why));
	return create_failed(function, spec, ret, why);
}

USLAB_API struct kmem_cache *kmem_cache_create_args(const char *name, unsigned int size,
						    const struct kmem_cache_args *args,
						    slab_flags_t flags)
{
	struct cache_spec spec = { .name = name, .size = size, .flags = flags };

	return create("kmem_cache_create_args", &spec, args);
}

USLAB_API struct kmem_cache *kmem_cache_create_usercopy(const char *name, unsigned int size,
							unsigned int align, slab_flags_t flags,
							unsigned int useroffset,
							unsigned int usersize,
							void (*ctor)(void *obj))
{
	const struct kmem_cache_args args = {
		.align = align, .useroffset = useroffset, .usersize = usersize, .ctor = ctor
	};
	struct cache_spec spec = { .name = name, .size = size, .flags = flags };

	return create("kmem_cache_create_usercopy", &spec, &args);
}

/* In parentheses: it is a macro as well, which is not meant here. */
USLAB_API struct kmem_cache *(kmem_cache_create)(const char *name, unsigned int size,
						 unsigned int align, slab_flags_t flags,
						 void (*ctor)(void *obj))
{
	struct cache_spec spec = {
		.name = name, .size = size, .align = align, .flags = flags, .ctor = ctor
	};

	return create("kmem_cache_create", &spec, NULL);
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
	group_watch_if_asked(cache_of(s), flags);
	return cache_alloc_for(cache_of(s), flags, NUMA_NO_NODE, 0, __builtin_return_address(0));
}

USLAB_API void *kmem_cache_alloc_node(struct kmem_cache *s, gfp_t flags, int node)
{
	if (unlikely(!cache_has_node(flags, node)))
		return NULL;
	group_watch_if_asked(cache_of(s), flags);
	return cache_alloc_for(cache_of(s), flags, node, 0, __builtin_return_address(0));
}

USLAB_API void uslab_cache_free(struct kmem_cache *s, void *obj)
{
	cache_free_for(cache_of(s), obj, __builtin_return_address(0));
}

USLAB_API int uslab_cache_alloc_bulk(struct kmem_cache *s, gfp_t flags, size_t nr, void **p,
				     size_t done)
{
	const void *caller = __builtin_return_address(0);

	if (unlikely(nr > INT32_MAX)) {
		cache_free_bulk_for(cache_of(s), (unsigned int)done, p, caller);
		return 0;
	}
	group_watch_if_asked(cache_of(s), flags);
	return (int)cache_alloc_bulk_for(cache_of(s), flags, (unsigned int)nr, p,
					 (unsigned int)done, caller);
}

USLAB_API int kmem_cache_alloc_array(struct kmem_cache *s, gfp_t flags, size_t nr, void **objs,
				     unsigned int mode)
{
	if (unlikely(nr > INT32_MAX || mode & ~(unsigned int)SLAB_ARRAY_ALL))
		return -EINVAL;
	group_watch_if_asked(cache_of(s), flags);
	return (int)cache_alloc_array_for(cache_of(s), flags, (unsigned int)nr, objs,
					  mode ? mode : SLAB_ARRAY_ALL,
					  __builtin_return_address(0));
}

USLAB_API void kmem_cache_free_array(struct kmem_cache *s, size_t nr, void **objs)
{
	cache_free_array_for(cache_of(s), nr, objs, __builtin_return_address(0));
}

static noinline void free_very_many(struct cache *c, size_t nr, void **p, const void *caller)
{
	for (size_t n; nr; nr -= n, p += n) {
		n = MIN(nr, (size_t)INT32_MAX);
		cache_free_bulk_for(c, (unsigned int)n, p, caller);
	}
}

USLAB_API void uslab_cache_free_bulk(struct kmem_cache *s, size_t nr, void **p)
{
	const void *caller = __builtin_return_address(0);

	if (!s)
		kmalloc_free_bulk(caller, nr, p);
	else if (likely(nr <= INT32_MAX))
		cache_free_bulk_for(cache_of(s), (unsigned int)nr, p, caller);
	else
		free_very_many(cache_of(s), nr, p, caller);
}
