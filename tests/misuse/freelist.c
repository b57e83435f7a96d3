/* SPDX-License-Identifier: MIT */
/*
 * misuse/freelist.c - the head of a slab's free list, in the page's descriptor
 *
 * misuse: freelist USLAB_DEBUG=FZPU
 */
#include <uslab/slab.h>

#include "misuse.h"
#include "page/page.h"
#include "inspect/root.h"

/* Where the descriptors lie is no secret: tools read them. */
static struct page *descriptor(const char *p)
{
	struct page_map *map = (struct page_map *)(uintptr_t)uslab_root.page_map;

	return map->pages + ((p - map->base) >> PAGE_SHIFT);
}

int main(void)
{
	struct kmem_cache *s = kmem_cache_create("head", 64, 0, 0, NULL);
	char *p = wild(kmem_cache_alloc(s, GFP_KERNEL));
	char *q = wild(kmem_cache_alloc(s, GFP_KERNEL));

	descriptor(p)->freelist = p + 1; /* found when the list is walked */
	kmem_cache_free(s, p);
	descriptor(q)->freelist = q + 1; /* found when an object is taken */
	p = wild(kmem_cache_alloc(s, GFP_KERNEL));
	kmem_cache_free(s, p);
	return survived();
}
