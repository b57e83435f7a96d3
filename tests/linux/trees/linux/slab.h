/* SPDX-License-Identifier: MIT */
/*
 * linux/trees/linux/slab.h - in front of ours: shim.c comes before each allocation of a cache
 */
#include_next <linux/slab.h>

#ifndef kmem_cache_alloc
void shim_before_alloc(gfp_t gfp, size_t n);
#define kmem_cache_alloc(s, gfp) (shim_before_alloc(gfp, 1), kmem_cache_alloc(s, gfp))
#define kmem_cache_alloc_bulk(s, gfp, n, p) \
	(shim_before_alloc(gfp, n), kmem_cache_alloc_bulk(s, gfp, n, p))
#endif
