/* SPDX-License-Identifier: MIT */
/*
 * examples/cache.c - a list whose nodes come from a cache of their own
 *
 *   $ cc -O2 cache.c -luslab -o cache
 *   $ ./cache
 *   4 3 2 1 0 100 0
 *   all nodes are back: yes
 */
#include <stdio.h>
#include <uslab/slab.h>

struct node {
	struct node *next;
	int value;
};

static struct kmem_cache *nodes;
static struct node *head;

/* Returns whether there was memory. */
static bool push(int value)
{
	struct node *node = kmem_cache_alloc(nodes, GFP_KERNEL);

	if (!node)
		return false;
	node->value = value;
	node->next = head;
	head = node;
	return true;
}

static int pop(void)
{
	struct node *node = head;
	int value = node->value;

	head = node->next;
	kmem_cache_free(nodes, node);
	return value;
}

int main(void)
{
	struct node *zero, *of_node0;

	nodes = kmem_cache_create("nodes", sizeof(struct node), 0,
				  SLAB_NOLEAKTRACE, NULL);
	if (!nodes)
		return 1; /* a line on stderr said why */
	zero = kmem_cache_zalloc(nodes, GFP_KERNEL);
	of_node0 = kmem_cache_alloc_node(nodes, GFP_KERNEL, 0);
	if (!zero || !of_node0)
		return 1;
	of_node0->next = zero; /* which has no next one */
	of_node0->value = 100;
	head = of_node0;
	for (int i = 0; i < 5; i++)
		if (!push(i))
			return 1;
	while (head) {
		int value = pop();

		printf("%d%c", value, head ? ' ' : '\n');
	}
	printf("all nodes are back: %s\n",
	       kmem_cache_shrink(nodes) == 0 ? "yes" : "no");
	kmem_cache_destroy(nodes);
	return 0;
}
