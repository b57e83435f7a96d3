/* SPDX-License-Identifier: MIT */
/*
 * examples/migrate.c - nodes of a tree, pinned and moved as in the patches for the kernel
 *
 *   $ cc -O2 migrate.c -luslab -o migrate
 *   $ ./migrate
 *   1000 of 16000 nodes are left
 *   a sixth of the slabs, or fewer; the list is whole
 */
#include <stdio.h>
#include <uslab/slab.h>

#define NODES 16000

struct node {
	struct node **from; /* what leads here; NULL: not in use */
	struct node *next;
	long users;
	long number;
};

static struct node *list;

static void construct(void *obj)
{
	*(struct node *)obj = (struct node){ .from = NULL };
}

/* Nodes in use get a user more, so that nobody frees them; the others stay. */
static void *isolate(struct kmem_cache *s, void **objs, int nr)
{
	(void)s;
	for (int i = 0; i < nr; i++) {
		struct node *node = objs[i];

		if (node->from)
			node->users++;
		else
			objs[i] = NULL;
	}
	return NULL;
}

static void migrate(struct kmem_cache *s, void **objs, int nr, int node,
		    void *private)
{
	(void)private;
	for (int i = 0; i < nr; i++) {
		struct node *old = objs[i];
		struct node *new =
			old ? kmem_cache_alloc_node(s, GFP_KERNEL, node)
			    : NULL;

		if (old)
			old->users--;
		if (!new)
			continue;
		*new = *old;
		*new->from = new;
		if (new->next)
			new->next->from = &new->next;
		construct(old);
		kmem_cache_free(s, old);
	}
}

static void add(struct node *node, long number)
{
	*node = (struct node){ .from = &list,
			       .next = list,
			       .number = number };
	if (list)
		list->from = &node->next;
	list = node;
}

static void take_out(struct kmem_cache *s, struct node *node)
{
	*node->from = node->next;
	if (node->next)
		node->next->from = node->from;
	construct(node);
	kmem_cache_free(s, node);
}

int main(void)
{
	struct kmem_cache_statistics before = { .size = sizeof(before) };
	struct kmem_cache_statistics after = { .size = sizeof(after) };
	struct kmem_cache *s = kmem_cache_create(
		"nodes", sizeof(struct node), 0, 0, construct);
	long left = 0;

	if (!s || kmem_cache_setup_mobility(s, isolate, migrate))
		return 1;
	uslab_cache_set_defrag_ratio(s, 75);
	for (long i = 0; i < NODES; i++) {
		struct node *node = kmem_cache_alloc(s, GFP_KERNEL);

		if (!node)
			return 1;
		add(node, i);
	}
	for (struct node *node = list, *next; node; node = next) {
		next = node->next;
		if (node->number % 16)
			take_out(s, node);
	}
	kmem_cache_shrink(s);
	kmem_cache_stats(s, &before);
	kmem_cache_defrag(s, NUMA_NO_NODE, 0);
	kmem_cache_stats(s, &after);

	for (struct node *node = list; node; node = node->next)
		left += node->number % 16 == 0;
	printf("%ld of %d nodes are left\n", left, NODES);
	printf("%s; the list is %s\n",
	       after.slabs * 6 <= before.slabs
		       ? "a sixth of the slabs, or fewer"
		       : "too many slabs",
	       left == NODES / 16 ? "whole" : "broken");
	while (list)
		take_out(s, list);
	kmem_cache_destroy(s);
	return 0;
}
