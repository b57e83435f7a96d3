/* SPDX-License-Identifier: MIT */
/*
 * examples/bulk.c - many objects by one call
 *
 *   $ cc -O2 bulk.c -luslab -o bulk
 *   $ ./bulk
 *   32 frames at once
 *   freed at once, kmallocs of any size too
 */
#include <stdio.h>
#include <uslab/slab.h>

#define FRAMES 32

struct frame {
	unsigned char bytes[256];
};

int main(void)
{
	struct kmem_cache *frames = KMEM_CACHE(frame, SLAB_NOLEAKTRACE);
	void *all[FRAMES];
	void *mixed[3];
	int nr;

	if (!frames)
		return 1;
	nr = kmem_cache_alloc_bulk(frames, GFP_KERNEL | __GFP_ZERO, FRAMES,
				   all);
	if (nr != FRAMES)
		return 1; /* 0: all or none */
	for (int i = 0; i < FRAMES; i++)
		if (((struct frame *)all[i])->bytes[255])
			return 1;
	printf("%d frames at once\n", nr);
	kmem_cache_free_bulk(frames, FRAMES, all);

	mixed[0] = kmalloc(10, GFP_KERNEL);
	mixed[1] = kmalloc(100000, GFP_KERNEL);
	mixed[2] = kmem_cache_alloc(frames, GFP_KERNEL);
	kfree_bulk(3, mixed);
	if (kmem_cache_shrink(frames))
		return 1; /* some object is left */
	printf("freed at once, kmallocs of any size too\n");
	kmem_cache_destroy(frames);
	return 0;
}
