/* SPDX-License-Identifier: MIT */
/*
 * examples/lent.c - objects put by where memory may be short, allocated where that must not fail
 *
 *   $ cc -O2 lent.c -luslab -o lent
 *   $ ./lent
 *   8 nodes put by
 *   5 taken without fail, 3 left
 *   3 of a second round
 */
#include <stdio.h>
#include <uslab/slab.h>

struct node {
	struct node *next;
	long key;
};

/* Under a lock, say, half-way through a change that cannot be undone. */
static struct node *insert(struct kmem_cache *nodes,
			   struct slab_sheaf *sheaf, struct node *list,
			   long key)
{
	struct node *n =
		kmem_cache_alloc_from_sheaf(nodes, GFP_NOWAIT, sheaf);

	n->next = list;
	n->key = key;
	return n;
}

int main(void)
{
	struct kmem_cache *nodes = KMEM_CACHE(node, SLAB_NOLEAKTRACE);
	struct slab_sheaf *sheaf;
	struct node *list = NULL;

	if (!nodes)
		return 1;
	sheaf = kmem_cache_prefill_sheaf(nodes, GFP_KERNEL, 8);
	if (!sheaf)
		return 1; /* nothing was changed so far */
	printf("%u nodes put by\n", kmem_cache_sheaf_size(sheaf));
	for (long key = 0; key < 5; key++)
		list = insert(nodes, sheaf, list, key);
	printf("5 taken without fail, %u left\n",
	       kmem_cache_sheaf_size(sheaf));

	if (kmem_cache_refill_sheaf(nodes, GFP_KERNEL, &sheaf, 16))
		return 1; /* the three are there still */
	for (long key = 5; key < 8; key++)
		list = insert(nodes, sheaf, list, key);
	printf("%ld of a second round\n", list->key - 4);
	kmem_cache_return_sheaf(nodes, GFP_KERNEL, sheaf);

	for (struct node *n = list; n; n = list) {
		list = n->next;
		kmem_cache_free(nodes, n);
	}
	kmem_cache_destroy(nodes);
	return 0;
}
