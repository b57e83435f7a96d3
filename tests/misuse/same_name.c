/* SPDX-License-Identifier: MIT */
/*
 * misuse/same_name.c - an object given back to another cache, which has the same name
 *
 * misuse: same_name USLAB_DEBUG=F
 * misuse: same_name_hardened USLAB_CONF=hardened
 */
#include <uslab/slab.h>

#include "misuse.h"

int main(void)
{
	struct kmem_cache *small = kmem_cache_create("dup", 64, 0, 0, NULL);
	struct kmem_cache *large = kmem_cache_create("dup", 200, 0, 0, NULL);

	kmem_cache_free(small, wild(kmem_cache_alloc(large, GFP_KERNEL)));
	kmem_cache_destroy(large); /* nothing is left in it */
	kmem_cache_destroy(small);
	return survived();
}
