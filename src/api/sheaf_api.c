/* SPDX-License-Identifier: MIT */
/*
 * api/sheaf_api.c - public functions on lent sheaves (<uslab/slab.h>)
 *
 * Data:       none.
 * Invariants: see cache/lent.h.
 * Locks:      none.
 * Flow:       called by programs; calls cache/lent.c.
 */
#include "base/compiler.h"
#include "cache/lent.h"

USLAB_API struct slab_sheaf *kmem_cache_prefill_sheaf(struct kmem_cache *s, gfp_t gfp,
						      unsigned int size)
{
	return lent_prefill(cache_of(s), gfp, size, __builtin_return_address(0));
}

USLAB_API int kmem_cache_refill_sheaf(struct kmem_cache *s, gfp_t gfp, struct slab_sheaf **sheafp,
				      unsigned int size)
{
	return lent_refill(cache_of(s), gfp, sheafp, size, __builtin_return_address(0));
}

USLAB_API void *kmem_cache_alloc_from_sheaf(struct kmem_cache *s, gfp_t gfp,
					    struct slab_sheaf *sheaf)
{
	return lent_alloc(cache_of(s), gfp, sheaf, __builtin_return_address(0));
}

USLAB_API void kmem_cache_return_sheaf(struct kmem_cache *s, gfp_t gfp, struct slab_sheaf *sheaf)
{
	(void)gfp;
	lent_return(cache_of(s), sheaf, __builtin_return_address(0));
}

USLAB_API unsigned int kmem_cache_sheaf_size(struct slab_sheaf *sheaf)
{
	return sheaf ? sheaf->count : 0;
}
