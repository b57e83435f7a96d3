/* SPDX-License-Identifier: MIT */
/*
 * misuse/dump.c - no mistake: uslab_dump_obj() of all kinds of addresses (spec 5.14)
 *
 * misuse: dump
 * misuse: dump_tracked USLAB_DEBUG=FZPU
 */
#include <uslab/slab.h>

#include "misuse.h"

static void dump(const void *p)
{
	dprintf(2, "%s\n", uslab_dump_obj(p) ? "known" : "unknown");
}

static __attribute__((noinline)) void release(void *p)
{
	kfree(p);
}

int main(void)
{
	struct kmem_cache *s = kmem_cache_create("dumped", 72, 0, 0, NULL);
	char *large = wild(kmalloc(20000, GFP_KERNEL));
	char *object = wild(kmem_cache_alloc(s, GFP_KERNEL));
	char *p = wild(kmalloc(64, GFP_KERNEL));

	dump(p);
	dump(p + 63);
	dump(object + 8);
	release(p);
	dump(p);
	dump(large);
	dump(large + 5000);
	kfree(large);
	dump(large);
	dump((char *)((uintptr_t)object | 4095)); /* the slab's rest */
	dump(&p);
	dump(NULL);
	dump(ZERO_SIZE_PTR);
	kmem_cache_free(s, object);
	return survived();
}
