/* SPDX-License-Identifier: MIT */
/*
 * examples/capacity.c - how many objects each CPU holds of a cache, changed while it is in use
 *
 *   $ cc -O2 capacity.c -luslab -o capacity
 *   $ ./capacity
 *   4 for each array: 0
 *   none: 0
 *   40 for each array: Invalid argument
 *   as the size gives: 0
 *   a cache without arrays: Operation not supported
 *   all of kmalloc: done
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
	struct kmem_cache_args args = { .front = "array" };
	struct kmem_cache *books =
		kmem_cache_create_args("books", 200, &args, 0);
	struct kmem_cache *papers;
	void *object;

	args.front = "none";
	papers = kmem_cache_create_args("papers", 200, &args, 0);
	if (!books || !papers)
		return 1;
	object = kmem_cache_alloc(books, GFP_KERNEL);
	printf("4 for each array: %s\n",
	       text_of(kmem_cache_set_capacity(books, 4)));
	printf("none: %s\n", text_of(kmem_cache_set_capacity(
				     books, USLAB_CAPACITY_NONE)));
	printf("40 for each array: %s\n",
	       text_of(kmem_cache_set_capacity(books, 40)));
	printf("as the size gives: %s\n",
	       text_of(kmem_cache_set_capacity(books, 0)));
	printf("a cache without arrays: %s\n",
	       text_of(kmem_cache_set_capacity(papers, 4)));
	kmem_cache_free(books, object);

	/* By name, also those of kmalloc() and malloc(). */
	printf("all of kmalloc: %s\n",
	       uslab_set_capacity("kmalloc-*", 8) > 0 ? "done" : "failed");
	kmem_cache_destroy(papers);
	kmem_cache_destroy(books);
	return 0;
}
