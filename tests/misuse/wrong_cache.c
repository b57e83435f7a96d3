/* SPDX-License-Identifier: MIT */
/*
 * misuse/wrong_cache.c - an object given back to another cache than its own: it goes to its own
 *
 * misuse: wrong_cache USLAB_DEBUG=FZPU
 */
#include <uslab/slab.h>

#include "misuse.h"

int main(void)
{
	struct kmem_cache *inodes = kmem_cache_create("inode", 64, 0, 0, NULL);
	struct kmem_cache *files = kmem_cache_create("file", 64, 0, 0, NULL);
	char *p = wild(kmem_cache_alloc(inodes, GFP_KERNEL));

	kmem_cache_free(files, p);
	kmem_cache_destroy(files);
	kmem_cache_destroy(inodes); /* nothing is left in it */
	return survived();
}
