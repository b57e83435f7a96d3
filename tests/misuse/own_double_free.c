/* SPDX-License-Identifier: MIT */
/*
 * misuse/own_double_free.c - no debug flags: what is freed twice of an own cache, at once and after
 * another, inline and in bulk
 *
 * misuse: own_double_free
 */

#include <uslab/slab.h>

#include "misuse.h"

static void construct(void *obj)
{
	*(long *)obj = 42;
}

static __attribute__((noinline)) void free_twice(struct kmem_cache *s)
{
	void *p = wild(kmem_cache_alloc(s, GFP_KERNEL));
	void *q = wild(kmem_cache_alloc(s, GFP_KERNEL));
	void *both[2];

	kmem_cache_free(s, wild(p));
	kmem_cache_free(s, wild(p));
	kmem_cache_free(s, wild(q));
	kmem_cache_free(s, wild(p));
	both[0] = both[1] = wild(kmem_cache_alloc(s, GFP_KERNEL));
	kmem_cache_free_bulk(s, 2, both);
	if (kmem_cache_alloc(s, GFP_KERNEL) == kmem_cache_alloc(s, GFP_KERNEL))
		puts("two objects share an address");
}

int main(void)
{
	stay_here();
	free_twice(kmem_cache_create("plain", 64, 0, SLAB_NOLEAKTRACE, NULL));
	free_twice(kmem_cache_create("constructed", 64, 0, SLAB_NOLEAKTRACE, construct));
	return survived();
}
