/* SPDX-License-Identifier: MIT */
/*
 * examples/mempool_kinds.c - pools of objects, blocks, pages, and of what the program makes
 *
 *   $ cc -O2 mempool_kinds.c -luslab -o mempool_kinds
 *   $ ./mempool_kinds
 *   2 objects are kept
 *   2 blocks of 1000 bytes are kept
 *   2 blocks of 100000 bytes are kept
 *   2 blocks of 16 pages are kept
 *   2 elements of our own are kept
 */
#include <stdio.h>
#include <uslab/mempool.h>

/* What mempool_kmalloc() and mempool_kfree() do, in the program. */
static void *make(gfp_t flags, void *size)
{
	return kmalloc((size_t)size, flags);
}

static void unmake(void *element, void *size)
{
	(void)size;
	kfree(element);
}

/* Ends the pool. */
static int look(mempool_t *pool, const char *what)
{
	void *element = mempool_alloc(pool, GFP_KERNEL);

	mempool_free(element, pool);
	if (!element || !mempool_initialized(pool))
		return 1;
	printf("%d %s are kept\n", pool->curr_nr, what);
	mempool_exit(pool);
	return 0;
}

/* In memory of the program. */
static int embedded(struct kmem_cache *cache)
{
	mempool_t pool;

	return mempool_init_slab_pool(&pool, 2, cache) ||
	       look(&pool, "objects") ||
	       mempool_init_kmalloc_pool(&pool, 2, 1000) ||
	       look(&pool, "blocks of 1000 bytes") ||
	       mempool_init_kvmalloc_pool(&pool, 2, 100000) ||
	       look(&pool, "blocks of 100000 bytes") ||
	       mempool_init_page_pool(&pool, 2, 4) ||
	       look(&pool, "blocks of 16 pages") ||
	       mempool_init(&pool, 2, make, unmake, (void *)64) ||
	       look(&pool, "elements of our own");
}

/* In memory of their own; the first four are what the others stand for. */
static int separate(struct kmem_cache *cache)
{
	mempool_t *const pools[] = {
		mempool_create(1, mempool_alloc_slab, mempool_free_slab,
			       cache),
		mempool_create(1, mempool_kmalloc, mempool_kfree,
			       (void *)1000),
		mempool_create(1, mempool_kvmalloc, mempool_kvfree,
			       (void *)100000),
		mempool_create(1, mempool_alloc_pages, mempool_free_pages,
			       (void *)4),
		mempool_create_slab_pool(1, cache),
		mempool_create_kmalloc_pool(1, 1000),
		mempool_create_kvmalloc_pool(1, 100000),
		mempool_create_page_pool(1, 4),
	};
	int ret = 0;

	for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++) {
		ret |= !pools[i] || !mempool_is_saturated(pools[i]);
		mempool_destroy(pools[i]);
	}
	return ret;
}

/* With memory of node 0. */
static int on_a_node(struct kmem_cache *cache)
{
	mempool_t *pool = mempool_create_node(1, mempool_alloc_slab,
					      mempool_free_slab, cache,
					      GFP_KERNEL, 0);
	mempool_t other;

	if (!pool || mempool_init_node(&other, 1, make, unmake, (void *)64,
				       GFP_KERNEL, 0))
		return 1;
	mempool_exit(&other);
	mempool_destroy(pool);
	return 0;
}

int main(void)
{
	struct kmem_cache *cache =
		kmem_cache_create("object", 64, 0, 0, NULL);

	if (!cache || embedded(cache) || separate(cache) ||
	    on_a_node(cache))
		return 1;
	kmem_cache_destroy(cache);
	return 0;
}
