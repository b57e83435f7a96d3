/* SPDX-License-Identifier: MIT */
/*
 * misuse/poison_end.c - the last byte of an object written to after it was freed
 *
 * misuse: poison_end USLAB_DEBUG=FPU
 * misuse: poison_end_2.6.29 USLAB_DEBUG=FPU USLAB_CONF=report.format=2.6.29
 */
#include <uslab/slab.h>

#include "misuse.h"

int main(void)
{
	struct kmem_cache *s = kmem_cache_create("socket", 48, 0, 0, NULL);
	char *p = wild(kmem_cache_alloc(s, GFP_KERNEL));

	kmem_cache_free(s, p);
	p[47] = 'e';
	p = wild(kmem_cache_alloc(s, GFP_KERNEL));
	kmem_cache_free(s, p);
	return survived();
}
