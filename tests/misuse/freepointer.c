/* SPDX-License-Identifier: MIT */
/*
 * misuse/freepointer.c - the free pointer of the object that is allocated next
 *
 * misuse: freepointer USLAB_DEBUG=FZPU
 */
#include <uslab/slab.h>

#include "misuse.h"

int main(void)
{
	struct kmem_cache *s = kmem_cache_create("chain", 64, 0, 0, NULL);
	char *p = wild(kmem_cache_alloc(s, GFP_KERNEL));

	kmem_cache_free(s, p);
	memset(p + 72, 0x41, 8);
	p = wild(kmem_cache_alloc(s, GFP_KERNEL));
	kmem_cache_free(s, p);
	return survived();
}
