/* SPDX-License-Identifier: MIT */
/*
 * examples/array.c - many objects, from where they cost others least
 *
 *   $ cc -O2 array.c -luslab -o array
 *   $ ./array
 *   1000 nodes, in one call
 *   of new slabs: yes, in ascending order
 *   what this CPU holds is less than 1000
 */
#include <stdio.h>
#include <uslab/slab.h>

#define NODES 1000

struct node {
	struct node *next;
	long key[7];
};

int main(void)
{
	struct kmem_cache *nodes = KMEM_CACHE(node, SLAB_NOLEAKTRACE);
	void *all[NODES];
	int nr;

	if (!nodes)
		return 1;
	/* partial slabs, new ones, what the CPU holds, and then any */
	nr = kmem_cache_alloc_array(nodes, GFP_KERNEL | __GFP_ZERO, NODES,
				    all, 0);
	if (nr < NODES)
		return 1; /* all the memory there is */
	printf("%d nodes, in one call\n", nr);
	kmem_cache_free_array(nodes, NODES, all);

	/* for a table that is built at once: whole slabs, so fewer are fine */
	nr = kmem_cache_alloc_array(nodes, GFP_KERNEL, NODES, all,
				    SLAB_ARRAY_NEW);
	printf("of new slabs: %s, in %s order\n", nr > 0 ? "yes" : "no",
	       nr > 1 && all[1] > all[0] ? "ascending" : "some");
	all[0] = NULL; /* skipped below; this one is kept */
	kmem_cache_free_array(nodes, (size_t)nr, all);

	/* where a lock would be too much */
	nr = kmem_cache_alloc_array(nodes, GFP_KERNEL, NODES, all,
				    SLAB_ARRAY_LOCAL);
	printf("what this CPU holds is %s than %d\n",
	       nr < NODES ? "less" : "no less", NODES);
	kmem_cache_free_array(nodes, (size_t)nr, all);
	return 0;
}
