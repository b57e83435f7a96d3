/* SPDX-License-Identifier: MIT */
/*
 * examples/policy.c - from which nodes objects come
 *
 *   $ cc -O2 policy.c -luslab -o policy
 *   $ ./policy
 *   bound to node 0: 0
 *   bound to no node: Invalid argument
 *   local again: 0
 *   a cache bound to node 0: 0
 */
#include <stdio.h>
#include <string.h>
#include <uslab/slab.h>

static const char *text_of(int result)
{
	return result ? strerror(-result) : "0";
}

int main(void)
{
	unsigned long node0 = 1ul << 0;
	unsigned long none = 0;
	struct kmem_cache_args args = {
		.engine = "slab",
		.front = "queues",
	};
	struct kmem_cache *near =
		kmem_cache_create_args("near", 512, &args, 0);
	void *object;

	if (!near)
		return 1;
	printf("bound to node 0: %s\n",
	       text_of(uslab_set_mempolicy(USLAB_POLICY_BIND, &node0, 1)));
	/* of node 0, if that has memory */
	object = kmem_cache_alloc(near, GFP_KERNEL);
	kmem_cache_free(near, object);
	printf("bound to no node: %s\n",
	       text_of(uslab_set_mempolicy(USLAB_POLICY_BIND, &none, 1)));
	printf("local again: %s\n",
	       text_of(uslab_set_mempolicy(USLAB_POLICY_DEFAULT, NULL, 0)));
	/* from now on no object of it is elsewhere, whoever allocates it */
	printf("a cache bound to node 0: %s\n",
	       text_of(uslab_cache_set_mempolicy(near, USLAB_POLICY_BIND,
						 &node0, 1)));
	kmem_cache_destroy(near);
	return 0;
}
