/* SPDX-License-Identifier: MIT */
/*
 * examples/debug.c - the checks of a live cache, switched on and off
 *
 *   $ cc -O2 debug.c -luslab -o debug
 *   $ ./debug
 *   without flags: Invalid argument
 *   FZP: 1 cache switched
 *   slabs checked: 1
 *   off: 1 cache switched
 *   no such cache: No such file or directory
 */
#include <stdio.h>
#include <string.h>
#include <uslab/slab.h>

int main(void)
{
	struct kmem_cache *books =
		kmem_cache_create("books", 100, 0, SLAB_NOLEAKTRACE, NULL);
	void *old, *checked;

	if (!books)
		return 1;
	old = kmem_cache_alloc(books, GFP_KERNEL);
	printf("without flags: %s\n",
	       strerror((int)-kmem_cache_validate(books)));
	printf("FZP: %d cache switched\n", uslab_set_debug("books", "FZP"));
	checked = kmem_cache_alloc(books, GFP_KERNEL); /* has red zones */
	printf("slabs checked: %ld\n", kmem_cache_validate(books));
	kmem_cache_free(books, checked);
	kmem_cache_free(books, old); /* has none, and needs none */
	printf("off: %d cache switched\n", uslab_set_debug("books", "-"));
	printf("no such cache: %s\n",
	       strerror(-uslab_set_debug("papers", "FZP")));
	kmem_cache_destroy(books);
	return 0;
}
