/* SPDX-License-Identifier: MIT */
/*
 * examples/arena.c - a tree whose nodes are freed all at once, and a
 * destructor
 *
 *   $ cc -O2 arena.c -luslab -o arena
 *   $ ./arena
 *   1000 nodes, sum 499500
 *   nodes that are constructed now: 0
 */
#include <stdio.h>
#include <uslab/slab.h>

struct node {
	struct node *left, *right;
	long key;
};

static long constructed;

/* An empty node; whoever frees one leaves it so, but for all at once. */
static void make(void *object)
{
	struct node *n = object;

	n->left = n->right = NULL;
	constructed++;
}

static void unmake(void *object)
{
	(void)object;
	constructed--;
}

static int insert(struct kmem_cache *s, struct node **at, long key)
{
	while (*at)
		at = key < (*at)->key ? &(*at)->left : &(*at)->right;
	*at = kmem_cache_alloc(s, GFP_KERNEL);
	if (!*at)
		return 1;
	(*at)->key = key;
	return 0;
}

static long sum(const struct node *n)
{
	return n ? sum(n->left) + n->key + sum(n->right) : 0;
}

int main(void)
{
	const struct kmem_cache_args args = { .ctor = make,
					      .dtor = unmake };
	struct kmem_cache *s = kmem_cache_create_args(
		"nodes", sizeof(struct node), &args, 0);
	struct node *root = NULL;

	if (!s)
		return 1;
	for (long i = 0; i < 1000; i++)
		if (insert(s, &root, i * 617 % 1000))
			return 1;
	printf("1000 nodes, sum %ld\n", sum(root));
	if (kmem_cache_destroy_all_objects(s))
		return 1;
	printf("nodes that are constructed now: %ld\n", constructed);
	kmem_cache_destroy(s);
	return 0;
}
