/* SPDX-License-Identifier: MIT */
/*
 * linux/trees/left.c - reports nodes of trees that are left when a test program ends
 */
#include <linux/rcupdate.h>
#include <linux/slab.h>

extern struct kmem_cache *radix_tree_node_cachep;
extern struct kmem_cache *maple_nodes;

static __attribute__((destructor)) void report_what_is_left(void)
{
	rcu_barrier(); /* some programs leave nodes to it */
	kmem_cache_destroy(radix_tree_node_cachep);
	kmem_cache_destroy(maple_nodes);
}
