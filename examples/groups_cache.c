/* SPDX-License-Identifier: MIT */
/*
 * examples/groups_cache.c - a plug-in has a cache that belongs to its group:
 * whoever allocates, the plug-in is charged, and the host's limit holds
 *
 *   $ cc -O2 groups_cache.c -luslab -o groups_cache
 *   $ ./groups_cache
 *   1000 nodes: 64000 bytes
 *   at the limit of 1 MiB: NULL
 *   all freed: 0 bytes
 */
#include <stdio.h>
#include <uslab/group.h>
#include <uslab/slab.h>

struct node {
	struct node *next;
	char data[56];
};

static struct node *add(struct kmem_cache *nodes, struct node **list)
{
	struct node *node =
		kmem_cache_alloc(nodes, GFP_KERNEL | __GFP_NOWARN);

	if (node) {
		node->next = *list;
		*list = node;
	}
	return node;
}

int main(void)
{
	struct uslab_group *plugin =
		uslab_group_create("plugin", 1 << 20, NULL);
	struct kmem_cache *nodes = kmem_cache_create("plugin-nodes",
						     sizeof(struct node), 0,
						     SLAB_NO_MERGE, NULL);
	struct node *list = NULL, *node;

	if (!plugin || !nodes || kmem_cache_set_group(nodes, plugin))
		return 1;
	for (int i = 0; i < 1000; i++)
		if (!add(nodes, &list))
			return 1;
	printf("1000 nodes: %zu bytes\n", uslab_group_usage(plugin));
	while (add(nodes, &list))
		;
	puts("at the limit of 1 MiB: NULL");
	while ((node = list)) {
		list = node->next;
		kmem_cache_free(nodes, node);
	}
	printf("all freed: %zu bytes\n", uslab_group_usage(plugin));
	kmem_cache_destroy(nodes);
	uslab_group_destroy(plugin);
	return 0;
}
