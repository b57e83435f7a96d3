/* SPDX-License-Identifier: MIT */
/*
 * misuse/trace.c - no mistake: every call on a cache with T is logged (spec 7.7)
 *
 * misuse: trace USLAB_DEBUG=T,traced
 */
#include <uslab/slab.h>

#include "misuse.h"

int main(void)
{
	struct kmem_cache *s = kmem_cache_create("traced", 40, 0, 0, NULL);
	char *p = wild(kmem_cache_alloc(s, GFP_KERNEL));

	memset(p, 'T', 40);
	kmem_cache_free(s, p);
	return survived();
}
