/* SPDX-License-Identifier: MIT */
/*
 * misuse/mempool.c - an element that is freed twice into its pool; one that is written to meanwhile
 *
 * misuse: mempool_twice argument=twice
 * misuse: mempool_twice_debug argument=twice USLAB_DEBUG=FZPU,element
 * misuse: mempool_written argument=written USLAB_DEBUG=FZPU,element
 */
#include <uslab/mempool.h>

#include "misuse.h"

int main(int argc, char **argv)
{
	struct kmem_cache *cache = kmem_cache_create("element", 24, 0, SLAB_NO_MERGE, NULL);
	mempool_t *pool = mempool_create_slab_pool(2, cache);
	char *p = wild(mempool_alloc_preallocated(pool));
	char *q = wild(mempool_alloc_preallocated(pool));

	mempool_free(p, pool);
	if (argc > 1 && !strcmp(argv[1], "twice"))
		mempool_free(p, pool);
	else
		p[7] = 'x';
	dprintf(2, "%d elements are kept\n", pool->curr_nr);
	if (mempool_alloc_preallocated(pool) == mempool_alloc_preallocated(pool))
		dprintf(2, "the same one twice\n");
	mempool_free(q, pool);
	return survived();
}
