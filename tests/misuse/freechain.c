/* SPDX-License-Identifier: MIT */
/*
 * misuse/freechain.c - the free pointer of an object in the middle of the free list
 *
 * misuse: freechain USLAB_DEBUG=FZPU
 */
#include <uslab/slab.h>

#include "misuse.h"

int main(void)
{
	struct kmem_cache *s = kmem_cache_create("chain", 64, 0, 0, NULL);
	char *p[3];

	for (int i = 0; i < 3; i++)
		p[i] = wild(kmem_cache_alloc(s, GFP_KERNEL));
	kmem_cache_free(s, p[0]);
	kmem_cache_free(s, p[1]);
	memset(p[0] + 72, 0x41, 8); /* behind the red zone, spec 4.4 */
	kmem_cache_free(s, p[2]);   /* walks the list */
	return survived();
}
