/* SPDX-License-Identifier: MIT */
/*
 * programs/src/hits.c - a plug-in with inlined hit paths; C and C++
 *
 * Nobody tells the linker anything about it.
 */
#include <uslab/slab.h>

#ifdef __cplusplus
extern "C"
#endif
	__attribute__((visibility("default"))) int
	hits(struct kmem_cache *cache, void *object);

/* Frees an object of the host's cache, and nothing else; without one uses a cache of its own. */
int hits(struct kmem_cache *cache, void *object)
{
	if (cache) {
		kmem_cache_free(cache, object);
		return 0;
	}
	cache = kmem_cache_create("hits", 64, 0, 0, NULL);
	for (int i = 0; cache && i < 100; i++)
		kmem_cache_free(cache, kmem_cache_alloc(cache, GFP_KERNEL));
	return cache ? 0 : 1;
}
