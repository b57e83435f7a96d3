/* SPDX-License-Identifier: MIT */
/*
 * examples/point.c - the smallest program with a cache of its own
 *
 *   $ cc -O2 point.c -luslab -o point
 *   $ ./point
 *   point: 16 bytes
 */
#include <stdio.h>
#include <uslab/slab.h>

struct point {
	double x, y;
};

int main(void)
{
	struct kmem_cache *points = KMEM_CACHE(point, SLAB_HWCACHE_ALIGN);
	struct point *p = kmem_cache_alloc(points, GFP_KERNEL);

	if (!p)
		return 1;
	p->x = 1;
	kmem_cache_free(points, p);
	printf("%s: %u bytes\n", kmem_cache_name(points),
	       kmem_cache_size(points));
	kmem_cache_destroy(points);
	return 0;
}
