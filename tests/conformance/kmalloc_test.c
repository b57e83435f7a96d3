/* SPDX-License-Identifier: MIT */
/*
 * conformance/kmalloc_test.c - objects found by their address, kmalloc and pages, for every engine
 * with every front: vectors 8, 16 and 17 of spec 14
 */
#include "conformance/pairs.h"

/* Where allocation number n is called from. */
#ifndef KMALLOC_PLACE
#define KMALLOC_PLACE(n) ((void)(n), NULL)
#endif

static void *allocate(unsigned int n, size_t size, gfp_t gfp)
{
	return kmalloc_alloc_for(size, gfp, NUMA_NO_NODE, KMALLOC_PLACE(n));
}

/* kfree() and ksize() know them, and the cache has them back. */
static void by_address(const struct pair *pair)
{
	static void *p[200];

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct cache *c =
			made(&(struct cache_spec){ .name = "by address",
						   .size = sizes[i],
						   .id = USLAB_ID_MALLOC + (unsigned int)i,
						   .engine = pair->engine,
						   .front = pair->front,
						   .no_merge = true });

		for (unsigned int round = 0; round < 3; round++) {
			for (unsigned int j = 0; j < 200; j++) {
				p[j] = obj_alloc(c);
				CHILD_CHECK(p[j] && cache_of_object(p[j]) == c);
				CHILD_CHECK(kmalloc_size(p[j]) >= sizes[i]);
				stamp(c, p[j]);
			}
			balance(c, 200);
			for (unsigned int j = 0; j < 200; j++) {
				check_stamp(c, p[j]);
				kmalloc_free(p[j], NULL);
			}
		}
		finish(c);
	}
}

static void kmalloc_ready(const struct pair *pair)
{
	CHILD_CHECK(cache_set_option("engine", pair->engine->name, NULL));
	CHILD_CHECK(cache_set_option("front", pair->front->name, NULL));
	CHILD_CHECK(kmalloc_init() == 0);
}

/*
 * Vector 8: SLUB has the stride to give, SLOB what was asked for in units, the others the object,
 * and red zones begin where what was asked for ends.
 */
static size_t expected_ksize(const struct pair *pair)
{
	if (pairs_debug)
		return 101;
	bool exact = pair->front == &front_none_ops &&
		     (pair->engine == &slob_ops || pair->engine == &slob_1991_ops);

	return exact ? 102 : 128;
}

/* Vectors 8 and 17: what is usable is ours, powers of two are aligned to themselves. */
static void kmallocs(const struct pair *pair)
{
	static const size_t odd[] = { 1, 7, 9, 40, 96, 101, 192, 1000, 4087, 4088, 5000, 9000 };
	static unsigned char *p[600];
	unsigned int n = 0;

	kmalloc_ready(pair);
	CHILD_CHECK(kmalloc_size(p[n++] = allocate(0, 101, GFP_KERNEL)) == expected_ksize(pair));
	for (unsigned int round = 0; round < 20; round++) {
		for (size_t size = 1; size <= 16384; size *= 2) {
			p[n] = allocate(n, size, GFP_KERNEL | (round % 2 ? __GFP_RECLAIMABLE : 0));
			CHILD_CHECK(((uintptr_t)p[n++] & (MAX(size, 8ul) - 1)) == 0);
		}
		for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
			p[n] = allocate(n, odd[i], GFP_KERNEL | __GFP_ZERO);
			CHILD_CHECK(((uintptr_t)p[n] & 7) == 0);
			for (size_t j = 0; j < odd[i]; j++)
				CHILD_CHECK(p[n][j] == 0);
			CHILD_CHECK(kmalloc_size(p[n]) >= odd[i]);
			n++;
		}
		for (unsigned int i = round % 3; i < n; i += 3) { /* holes for the next round */
			memset(p[i], (int)round + 1, kmalloc_size(p[i]));
			kmalloc_free(p[i], NULL);
			p[i] = p[--n];
		}
	}
	cache_check_all();
	while (n)
		kmalloc_free(p[--n], NULL);
	cache_check_all();
}

/* kmalloc_size_roundup() is what ksize() says of so many bytes. */
static void rounded(const struct pair *pair)
{
	kmalloc_ready(pair);
	for (size_t size = 1; size <= 20000; size += size < 300 || size / 256 == 15 ? 1 : 13) {
		size_t up = kmalloc_roundup(size);
		void *p = allocate(0, up, GFP_KERNEL);

		CHILD_CHECK(up >= size && kmalloc_size(p) == up && kmalloc_roundup(up) == up);
		kmalloc_free(p, NULL);
	}
}

/* What the page allocator has given out, by the books of caches, heaps and runs. */
static unsigned long heap_pages;

static void count_heap(const struct engine_heap *heap)
{
	for (unsigned int i = 0; i <= heap->more_counters; i++)
		heap_pages += heap->counters[i].pages;
}

static unsigned long pages_by_the_books(void)
{
	struct run_stats runs;
	unsigned long pages;
	struct list_head *pos;

	run_stats(&runs);
	pages = runs.bytes / PAGE_SIZE;
	list_for_each(pos, &cache_list)
		pages += stats_of(list_entry(pos, struct cache, list)).slab_bytes / PAGE_SIZE;
	heap_pages = 0;
	cache_heaps_each(count_heap);
	return pages + heap_pages;
}

/* Vector 16: every page that is out is accounted for, and all of them come back. */
static void pages(const struct pair *pair)
{
	static void *obj[300];
	static void *block[300];
	struct cache *c;
	uint64_t seed = 5;

	kmalloc_ready(pair);
	c = make_pair(pair, 120, 0, NULL);
	CHILD_CHECK(pages_out() == 0);
	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < 300; i++) {
			take(c, &obj[i]);
			block[i] = allocate(i, draw(&seed) % (i % 8 ? 600 : 20000), GFP_KERNEL);
			CHILD_CHECK(block[i]);
		}
		CHILD_CHECK(pages_out() == pages_by_the_books() && pages_out() > 9);
		for (unsigned int i = 0; i < 300; i++) {
			give(c, obj[i]);
			if (!ZERO_OR_NULL_PTR(block[i]))
				kmalloc_free(block[i], NULL);
		}
		CHILD_CHECK(pages_out() == pages_by_the_books());
	}
	cache_shrink_all();
	CHILD_CHECK(pages_out() == 0 && pages_by_the_books() == 0);
	finish(c);
}

int main(int argc, char **argv)
{
	static const struct body bodies[] = {
		{ "by_address", by_address, true, true },
		{ "kmallocs", kmallocs, true, true },
		{ "pages", pages, true, true },
		{ "rounded", rounded, true, false },
		{ 0 },
	};

	return pairs_main(argc, argv, "kmalloc", bodies);
}
