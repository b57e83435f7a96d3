/* SPDX-License-Identifier: MIT */
/*
 * misuse/alignment_padding.c - the bytes that round an object of 20 bytes up
 *
 * The second object of its slab: without red zones the 16 bytes before it are shown.
 *
 * misuse: alignment_padding USLAB_DEBUG=FPU
 */
#include <uslab/slab.h>

#include "misuse.h"

int main(void)
{
	struct kmem_cache *s = kmem_cache_create("twenty", 20, 0, 0, NULL);
	char *other = wild(kmem_cache_alloc(s, GFP_KERNEL));
	char *p = wild(kmem_cache_alloc(s, GFP_KERNEL));

	p[20] = 1;
	p[23] = 2;
	kmem_cache_free(s, p);
	kmem_cache_free(s, other);
	return survived();
}
