/* SPDX-License-Identifier: MIT */
/*
 * examples/mempool.c - requests that can be made when there is no memory for them
 *
 *   $ cc -O2 mempool.c -luslab -o mempool
 *   $ ./mempool
 *   4 requests are kept
 *   made 4 requests without memory, then there was none
 *   one came back: the next was made
 *   an array of 3 was filled, 1 of them was kept again
 *   now 8 are kept
 */
#include <stdio.h>
#include <uslab/mempool.h>

struct request {
	long block;
	char data[120];
};

/* No allocation that must not wait succeeds from now on. */
static int run_dry(void)
{
	return uslab_set_failslab("1,100,0,-1");
}

static int requests(mempool_t *pool)
{
	struct request *r[5];
	int n = 0;

	while (n < 5 && (r[n] = mempool_alloc(pool, GFP_NOWAIT)))
		n++;
	printf("made %d requests without memory, then there was none\n", n);
	mempool_free(r[--n], pool);
	r[n] = mempool_alloc(pool,
			     GFP_KERNEL); /* would wait for the next one */
	printf("one came back: the next was %s\n",
	       r[n] ? "made" : "not made");
	n++;
	while (n)
		mempool_free(r[--n], pool);
	return 0;
}

static int several(mempool_t *pool)
{
	void *r[3] = { NULL };
	unsigned int kept;

	r[0] = mempool_alloc_preallocated(pool);
	if (!r[0] || mempool_alloc_bulk(pool, r, 3, 1))
		return 1;
	kept = mempool_free_bulk(pool, r, 3);
	printf("an array of 3 was filled, %u of them was kept again\n",
	       kept);
	while (kept < 3)
		mempool_free(r[kept++], pool);
	return 0;
}

int main(void)
{
	struct kmem_cache *cache = KMEM_CACHE(request, 0);
	mempool_t *pool = cache ? mempool_create_slab_pool(4, cache) : NULL;

	if (!pool)
		return 1;
	if (mempool_is_saturated(pool))
		printf("%d requests are kept\n", pool->min_nr);
	if (run_dry() || requests(pool) || uslab_set_failslab(""))
		return 1;
	if (mempool_resize(pool, 8) || several(pool))
		return 1;
	printf("now %d are kept\n", pool->curr_nr);
	mempool_destroy(pool);
	kmem_cache_destroy(cache);
	return 0;
}
