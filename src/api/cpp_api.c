/* SPDX-License-Identifier: MIT */
/*
 * api/cpp_api.c - the caches of uslab::allocator (<uslab/cache.hpp>), one per size
 *
 * Why:        docs/adr/0043.
 * Data:       caches, by size; NULL: none was made yet.
 * Invariants: an entry is written once; its cache is never destroyed.
 * Locks:      none: who comes second takes what is there.
 * Flow:       called by programs; calls cache_api.c.
 */
#include <errno.h>

#include "api/api.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "os/process/say.h"

static struct kmem_cache *caches[KMALLOC_MAX_CACHE_SIZE / ARCH_SLAB_MINALIGN];

/* Aligned to the largest power of two that divides size, so it serves all types of that size. */
static struct kmem_cache *make(size_t size)
{
	size_t align = size & (~size + 1);
	char name[USLAB_MAX_NAME + 1];

	os_format(name, sizeof(name), "cpp-%zu", size);
	return kmem_cache_create(name, (unsigned int)size, (unsigned int)MIN(align, PAGE_SIZE), 0,
				 NULL);
}

/* Of two threads that make a cache at once one destroys its own. */
static cold struct kmem_cache *make_and_keep(struct kmem_cache **entry, size_t size)
{
	struct kmem_cache *made = make(size);

	if (!made || cmpxchg(entry, NULL, made)) /* pairs with uslab_cache_of_size() */
		return made;
	kmem_cache_destroy(made);
	return load_acquire(entry);
}

USLAB_API struct kmem_cache *uslab_cache_of_size(size_t size)
{
	struct kmem_cache **entry, *there;

	if (!size || size > KMALLOC_MAX_CACHE_SIZE || size % ARCH_SLAB_MINALIGN) {
		errno = EINVAL;
		return NULL;
	}
	entry = &caches[size / ARCH_SLAB_MINALIGN - 1];
	there = load_acquire(entry); /* pairs with make_and_keep() */
	return likely(there) ? there : make_and_keep(entry, size);
}
