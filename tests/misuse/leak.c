/* SPDX-License-Identifier: MIT */
/*
 * misuse/leak.c - a cache is destroyed while objects are in use (spec 5.5)
 *
 * misuse: leak USLAB_DEBUG=FZPU
 * misuse: leak_plain
 * misuse: leak_2.6.29 USLAB_DEBUG=FZPU USLAB_CONF=report.format=2.6.29
 * misuse: leak_abort USLAB_CONF=report=abort
 */
#include <uslab/slab.h>

#include "misuse.h"

static __attribute__((noinline)) void module_exit(struct kmem_cache *s)
{
	kmem_cache_destroy(s);
}

int main(void)
{
	struct kmem_cache *s = kmem_cache_create("test_leak", 64, 0, 0, NULL);
	char *p[3];

	for (int i = 0; i < 3; i++)
		p[i] = wild(kmem_cache_alloc(s, GFP_KERNEL));
	kmem_cache_free(s, p[1]);
	module_exit(s);
	p[0][0] = p[2][63] = 'v'; /* valid for ever */
	return survived();
}
