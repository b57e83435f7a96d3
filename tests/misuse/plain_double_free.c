/* SPDX-License-Identifier: MIT */
/*
 * misuse/plain_double_free.c - no debug flags: what is freed twice at once is seen even so, where
 * the object goes straight to its slab
 *
 * misuse: plain_double_free
 */
#include <uslab/slab.h>

#include "misuse.h"

int main(void)
{
	struct kmem_cache_args args = { .front = "none" };
	struct kmem_cache *s = kmem_cache_create_args("plain", 64, &args, 0);
	char *q = wild(kmem_cache_alloc(s, GFP_KERNEL)); /* so that the slab is not empty */
	char *p = wild(kmem_cache_alloc(s, GFP_KERNEL));

	kmem_cache_free(s, p);
	kmem_cache_free(s, p);
	kmem_cache_free(s, q);
	return survived();
}
