/* SPDX-License-Identifier: MIT */
/*
 * cache/kmalloc.c - caches by size: the kernel's size classes (spec 5.6, 5.7)
 *
 * Data:       caches of fixed numbers, USLAB_ID_KMALLOC + type * 16 + index.
 * Invariants: they are created together by kmalloc_init() and never destroyed.
 * Locks:      none of its own.
 * Flow:       called by api/; calls alloc.c, free.c, page/run.c for more than two pages.
 *
 * Types: normal and reclaimable. The kernel's cgroup type aliases normal when accounting is off,
 * and its DMA type exists only with such a zone; user space has neither.
 */
#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "cache/internal.h"
#include "front/array.h"
#include "os/cpu.h"
#include "os/die.h"
#include "page/run.h"

#define KMALLOC_INDEX_LOW 3   /* 8 bytes */
#define KMALLOC_INDEX_HIGH 13 /* 8192 bytes */
#define KMALLOC_TYPES 2
#define KMALLOC_RECLAIM 1

struct kmem_cache *uslab_kmalloc_handles;

/* Bytes of the cache with the kernel's index i. */
static unsigned int index_size(unsigned int i)
{
	return i == 1 ? 96 : i == 2 ? 192 : 1u << i;
}

/* "kmalloc-rcl-1k": numbers from 1024 up are printed in k. */
static void make_name(char *name, unsigned int type, unsigned int size)
{
	const char *prefix = type == KMALLOC_RECLAIM ? "kmalloc-rcl" : "kmalloc";

	if (size >= 1024)
		os_format(name, CACHE_NAME_MAX, "%s-%uk", prefix, size / 1024);
	else
		os_format(name, CACHE_NAME_MAX, "%s-%u", prefix, size);
}

static int create_one(unsigned int type, unsigned int index)
{
	unsigned int size = index_size(index);
	char name[CACHE_NAME_MAX];
	struct kmem_cache *handle;
	struct cache_spec spec = {
		.name = name,
		.size = size,
		.align = is_pow2(size) ? MIN(size, (unsigned int)PAGE_SIZE) : 0,
		.flags = SLAB_KMALLOC | (type == KMALLOC_RECLAIM ? SLAB_RECLAIM_ACCOUNT : 0),
		.id = USLAB_ID_KMALLOC + type * 16 + index,
		.no_merge = true,
	};

	make_name(name, type, size);
	return cache_create(&spec, &handle);
}

/* Creation order of the kernel: 8, 16, 32, 64, 96, 128, 192, 256, ... */
int kmalloc_init(void)
{
	static const unsigned char order[] = { 3, 4, 5, 6, 1, 7, 2, 8, 9, 10, 11, 12, 13 };
	int ret;

	for (unsigned int type = 0; type < KMALLOC_TYPES; type++)
		for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
			ret = create_one(type, order[i]);
			if (ret)
				return ret;
		}
	store_release(&uslab_kmalloc_handles, percpu_handle(USLAB_ID_KMALLOC));
	return 0;
}

static struct cache *kmalloc_cache(size_t size, gfp_t gfp)
{
	unsigned int type = gfp & __GFP_RECLAIMABLE ? KMALLOC_RECLAIM : 0;

	return cache_of(percpu_handle(USLAB_ID_KMALLOC + type * 16 + uslab_kmalloc_index(size)));
}

/* Whole blocks of 2^order pages, aligned to their size, as the kernel's kmalloc_large(). */
static void *alloc_large(size_t size, gfp_t gfp, int node)
{
	size_t bytes;
	bool zeroed;
	void *p;

	if (size > KMALLOC_MAX_SIZE)
		return NULL;
	if (node >= (int)os_topology.nr_nodes)
		node = NUMA_NO_NODE; /* spec 5.10: as for any cache */
	bytes = PAGE_SIZE << get_order(size);
	p = run_alloc(bytes, bytes, node, &zeroed);
	if (unlikely(!p)) {
		cache_shrink_all();
		p = run_alloc(bytes, bytes, node, &zeroed);
	}
	if (p && gfp & __GFP_ZERO && !zeroed)
		memset(p, 0, bytes);
	return p;
}

void *kmalloc_alloc(size_t size, gfp_t gfp, int node)
{
	if (unlikely(!size))
		return ZERO_SIZE_PTR;
	if (unlikely(size > KMALLOC_MAX_CACHE_SIZE))
		return alloc_large(size, gfp, node);
	return cache_alloc(kmalloc_cache(size, gfp), gfp, node);
}

size_t kmalloc_roundup(size_t size)
{
	if (!size || size == SIZE_MAX)
		return size;
	if (size > KMALLOC_MAX_CACHE_SIZE)
		return size > KMALLOC_MAX_SIZE ? size : PAGE_SIZE << get_order(size);
	return kmalloc_cache(size, 0)->engine.object_size;
}

static cold void bad_pointer(const char *function, const void *p, const void *caller)
{
	os_die_fmt("%s(%p): not an object of uslab, called from %p", function, p, caller);
}

/* Whatever the hit path could not do: another front, a full array, large blocks, mistakes. */
static noinline void free_slow(const void *p, const void *caller)
{
	struct page *page = page_head_of(p);

	if (likely(page && page->type == PAGE_SLAB))
		cache_free(container_of(page->engine, struct cache, engine), (void *)p);
	else if (!run_free((void *)p))
		bad_pointer("kfree", p, caller);
}

/* The page's class byte names the cache; numbers above 255 and runs have 0, whose word misses. */
void kmalloc_free(const void *p, const void *caller)
{
	unsigned long index = page_index(p);

	if (likely(index < load_relaxed(&page_map.nr_pages)) &&
	    likely(array_push_inline(page_map.class[index], (void *)p)))
		return;
	free_slow(p, caller);
}

/* Spec 5.7: stride for plain caches, less where metadata lies behind the object. */
static size_t object_usable(const struct cache *c)
{
	if (c->flags & (SLAB_RED_ZONE | SLAB_POISON))
		return c->engine.object_size;
	if (c->flags & (SLAB_STORE_USER | SLAB_TYPESAFE_BY_RCU))
		return c->engine.layout->inuse;
	return c->engine.size;
}

size_t kmalloc_size(const void *p)
{
	struct page *page = page_head_of(p);
	size_t size;

	if (page && page->type == PAGE_SLAB)
		return object_usable(container_of(page->engine, struct cache, engine));
	size = run_size(p);
	if (!size)
		bad_pointer("ksize", p, __builtin_return_address(0));
	return size;
}
