/* SPDX-License-Identifier: MIT */
/*
 * misuse/slab_padding.c - beyond the last object of a slab
 *
 * misuse: slab_padding USLAB_DEBUG=FZPU
 * misuse: slab_padding_2.6.29 USLAB_DEBUG=FZPU USLAB_CONF=report.format=2.6.29
 */
#include <uslab/slab.h>

#include "misuse.h"

int main(void)
{
	/* stride 112, spec 4.4: 36 of them in a page, and 64 bytes are left */
	struct kmem_cache *s = kmem_cache_create("twenty", 20, 0, 0, NULL);
	char *p = wild(kmem_cache_alloc(s, GFP_KERNEL));

	((char *)((uintptr_t)p & ~4095ul))[4096 - 10] = 0;
	kmem_cache_free(s, p);
	return survived();
}
