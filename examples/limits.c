/* SPDX-License-Identifier: MIT */
/*
 * examples/limits.c - at most 64 MiB for the process, and 1 MiB for one cache
 *
 *   $ cc -O2 limits.c -luslab -o limits
 *   $ ./limits
 *   connections: refused, but no more than 1024 KiB
 *   a block of 80 MiB: refused
 *   a block of 8 MiB: given
 */
#include <stdio.h>
#include <uslab/slab.h>

static void say_block(size_t mib)
{
	void *p = kvmalloc(mib << 20, GFP_KERNEL | __GFP_NOWARN);

	printf("a block of %zu MiB: %s\n", mib, p ? "given" : "refused");
	kvfree(p);
}

int main(void)
{
	struct kmem_cache_statistics stats = { .size = sizeof(stats) };
	struct kmem_cache *connections = kmem_cache_create(
		"connections", 700, 0, SLAB_NO_MERGE, NULL);

	if (!connections || uslab_set_limit(64ul << 20) ||
	    kmem_cache_set_limit(connections, 1ul << 20))
		return 1;
	while (kmem_cache_alloc(connections, GFP_KERNEL | __GFP_NOWARN)) {}
	kmem_cache_stats(connections, &stats);
	printf("connections: refused, %s 1024 KiB\n",
	       stats.slab_bytes <= 1ul << 20 ? "but no more than"
					     : "and more than");
	say_block(80);
	say_block(8);
	return uslab_limit(NULL) != 64ul << 20;
}
