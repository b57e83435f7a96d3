/* SPDX-License-Identifier: MIT */
/*
 * misuse/plain_foreign.c - no debug flags: kmem_cache_free() of what no cache
 * gave, where a call is no hit
 *
 * misuse: plain_foreign
 */
#include <uslab/slab.h>

#include "misuse.h"

int main(void)
{
	static char buffer[64];
	struct kmem_cache_args args = { .front = "none" };
	struct kmem_cache *s = kmem_cache_create_args("plain", 64, &args, 0);

	kmem_cache_free(s, wild(buffer));
	return survived();
}
