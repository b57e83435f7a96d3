/* SPDX-License-Identifier: MIT */
/*
 * examples/queues.c - limits of a cache's queues, changed while it is in use
 *
 *   $ cc -O2 queues.c -luslab -o queues
 *   $ ./queues
 *   120 objects a CPU, 60 at once: 0
 *   a batch above the limit: Invalid argument
 *   a cache without queues: Operation not supported
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
	struct kmem_cache_args args = { .front = "queues" };
	struct kmem_cache *queued =
		kmem_cache_create_args("queued", 200, &args, 0);
	struct kmem_cache *plain;
	void *object;

	args.front = "array";
	plain = kmem_cache_create_args("plain", 200, &args, 0);
	if (!queued || !plain)
		return 1;
	object = kmem_cache_alloc(queued, GFP_KERNEL);
	printf("120 objects a CPU, 60 at once: %s\n",
	       text_of(kmem_cache_tune(queued, 120, 60, 8)));
	printf("a batch above the limit: %s\n",
	       text_of(kmem_cache_tune(queued, 10, 60, 0)));
	printf("a cache without queues: %s\n",
	       text_of(kmem_cache_tune(plain, 10, 5, 0)));
	kmem_cache_free(queued, object);
	/* One round: what lies idle goes back, a little at a time. */
	kmem_cache_reap();
	kmem_cache_destroy(plain);
	kmem_cache_destroy(queued);
	return 0;
}
