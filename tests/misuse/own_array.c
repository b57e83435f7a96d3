/* SPDX-License-Identifier: MIT */
/*
 * misuse/own_array.c - no debug flags: kmem_cache_free_array() of an object of another cache and of
 * what no cache gave, among objects of its own and NULLs
 *
 * misuse: own_array
 */
#include <uslab/slab.h>

#include "misuse.h"

int main(void)
{
	static char buffer[64];
	struct kmem_cache *mine = kmem_cache_create("mine", 64, 0, SLAB_NOLEAKTRACE, NULL);
	struct kmem_cache *other =
		kmem_cache_create("other", 64, 0, SLAB_NOLEAKTRACE | SLAB_ACCOUNT, NULL);
	void *objs[20];
	int n = kmem_cache_alloc_array(mine, GFP_KERNEL, 20, objs, 0);

	if (n != 20)
		return 1;
	kmem_cache_free(mine, objs[3]);
	objs[3] = NULL;
	kmem_cache_free(mine, objs[7]);
	objs[7] = wild(kmem_cache_alloc(other, GFP_KERNEL));
	kmem_cache_free(mine, objs[12]);
	objs[12] = wild(buffer);
	kmem_cache_free_array(mine, 20, objs);
	if (kmem_cache_shrink(mine) || kmem_cache_shrink(other))
		return 1; /* an object is left */
	return survived();
}
