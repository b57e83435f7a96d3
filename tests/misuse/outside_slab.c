/* SPDX-License-Identifier: MIT */
/*
 * misuse/outside_slab.c - kmem_cache_free() of addresses that lie in no slab
 *
 * misuse: outside_slab USLAB_DEBUG=FZPU
 */
#include <uslab/slab.h>

#include "misuse.h"

int main(void)
{
	static char buffer[64];
	struct kmem_cache *s = kmem_cache_create("inode", 64, 0, 0, NULL);
	char *large = wild(kmalloc(100000, GFP_KERNEL));

	kmem_cache_free(s, wild(buffer));
	kmem_cache_free(s, large);
	kfree(large);
	return survived();
}
