/* SPDX-License-Identifier: MIT */
/*
 * examples/stats.c - how many objects a cache has, and what memory
 *
 *   $ cc -O2 stats.c -luslab -o stats
 *   $ ./stats
 *   100 of 128 objects in 2 slabs, 8192 bytes
 *   0 of 0 objects in 0 slabs, 0 bytes
 */
#include <stdio.h>
#include <uslab/slab.h>

static int show(struct kmem_cache *s)
{
	struct kmem_cache_statistics stats = { .size = sizeof(stats) };

	if (kmem_cache_stats(s, &stats))
		return 1;
	printf("%zu of %zu objects in %zu slabs, %zu bytes\n",
	       stats.objects, stats.total_objects, stats.slabs,
	       stats.slab_bytes);
	return 0;
}

int main(void)
{
	struct kmem_cache *s =
		kmem_cache_create("points", 64, 0, SLAB_NO_MERGE, NULL);
	void *points[100];

	if (!s || !kmem_cache_alloc_bulk(s, GFP_KERNEL, 100, points))
		return 1;
	if (show(s))
		return 1;
	kmem_cache_free_bulk(s, 100, points);
	kmem_cache_shrink(s);
	if (show(s))
		return 1;
	kmem_cache_destroy(s);
	return 0;
}
