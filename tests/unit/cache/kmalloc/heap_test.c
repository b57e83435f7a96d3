/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/kmalloc/heap_test.c - blocks of heaps: sizes, zeroing, who gets what back, pressure,
 * fork
 */
#include <pthread.h>
#include <sys/wait.h>

#include "base/atomic.h"
#include "threads.h"
#include "unit/cache/cache_fixture.h"

static const struct engine_heap *heaps[CACHE_NR_ENGINES];
static unsigned int nr_heaps;
static const struct cache_call call = { "free", FIX_NOT_FREED };

static void note(const struct engine_heap *heap)
{
	heaps[nr_heaps++] = heap;
}

static void ready_with_heaps(void)
{
	ready();
	nr_heaps = 0;
	cache_heaps_each(note);
	CHILD_CHECK(nr_heaps == 3);
}

static void *block(const struct engine_heap *heap, size_t size, gfp_t gfp)
{
	return cache_heap_alloc(heap, size, 8, GFP_KERNEL | gfp, NUMA_NO_NODE);
}

static unsigned long blocks_of(const struct engine_heap *heap)
{
	unsigned long blocks = 0;

	for (unsigned int i = 0; i <= heap->more_counters; i++)
		blocks += heap->counters[i].blocks;
	return blocks;
}

IN_CHILD(test_each_once)
{
	ready_with_heaps();
	for (unsigned int i = 0; i < nr_heaps; i++) {
		CHILD_CHECK(cache_engine_by_name(heaps[i]->name)->heap == heaps[i]);
		for (unsigned int j = 0; j < i; j++)
			CHILD_CHECK(heaps[i] != heaps[j]);
	}
}

/* Dirty memory comes back clean where it was asked for, and only there: no byte beyond size. */
IN_CHILD(test_zeroing)
{
	ready_with_heaps();
	for (unsigned int i = 0; i < nr_heaps; i++) {
		const struct engine_heap *heap = heaps[i];
		unsigned char *p;

		block(heap, 64, 0); /* the page stays */
		for (size_t size = 1; size < 600; size += 7) {
			p = block(heap, size, 0);
			memset(p, 0xee, heap->size(p));
			cache_heap_free(&call, heap, p, NULL);
			p = block(heap, size, __GFP_ZERO);
			for (size_t j = 0; j < size; j++)
				CHILD_CHECK(p[j] == 0);
			CHILD_CHECK(heap->owner(p) == 0 && !cache_of_object(p));
			cache_heap_free(&call, heap, p, NULL);
		}
		CHILD_CHECK(blocks_of(heap) == 1);
	}
	cache_check_all();
}

/* An object that says whose it is goes to its cache; a block beside it to the heap. */
IN_CHILD(test_owners)
{
	ready_with_heaps();
	for (unsigned int i = 0; i < nr_heaps; i++) {
		struct cache *c = made(&(struct cache_spec){
			.name = "owner",
			.size = 80,
			.id = USLAB_ID_MALLOC + i,
			.engine = cache_engine_by_name(heaps[i]->name),
			.front = &front_array_ops,
			.no_merge = true,
		});
		void *obj = get(c);
		void *p = block(heaps[i], 80, 0);

		CHILD_CHECK(!cache_heap_of(c)); /* a CPU holds objects of this one */
		CHILD_CHECK(cache_of_object(obj) == c && in_use(c) == 1);
		kmalloc_free(obj, NULL);
		CHILD_CHECK(in_use(c) == 0 && c->front.ops->held(&c->front) > 0);
		CHILD_CHECK(blocks_of(heaps[i]) == 1);
		kmalloc_free(p, NULL);
		CHILD_CHECK(blocks_of(heaps[i]) == 0);
	}
}

/* Only kmalloc and malloc caches without a front take blocks. */
IN_CHILD(test_who_has_one)
{
	ready_with_heaps();
	for (unsigned int e = 0; e < CACHE_NR_ENGINES; e++) {
		struct cache_spec spec = { .name = "none",
					   .size = 64,
					   .engine = cache_engines[e],
					   .front = &front_none_ops,
					   .no_merge = true };

		CHILD_CHECK(!cache_heap_of(made(&spec)));
		spec.id = USLAB_ID_KMALLOC + e;
		CHILD_CHECK(cache_heap_of(made(&spec)) == cache_engines[e]->heap);
		spec.id = USLAB_ID_KMALLOC + 16 + e;
		spec.front = &front_queues_ops;
		CHILD_CHECK(!cache_heap_of(made(&spec)));
	}
}

IN_CHILD(test_nodes)
{
	CHILD_CHECK(os_topology_set(4, 2) == 0);
	ready_with_heaps();
	for (unsigned int i = 0; i < nr_heaps; i++)
		for (int node = 0; node < 2; node++) {
			void *p = cache_heap_alloc(heaps[i], 100, 8, GFP_KERNEL | __GFP_THISNODE,
						   node);

			CHILD_CHECK(p && page_head_of(p)->node == node);
			/* no such node: any */
			CHILD_CHECK(cache_heap_alloc(heaps[i], 100, 8, GFP_KERNEL, 63));
		}
}

/* What caches hold is given back before a block is refused. */
IN_BARE_CHILD(test_pressure)
{
	static void *obj[5000];
	const struct engine_heap *heap;
	struct cache *c;
	unsigned int n = 0;

	ready_with_heaps();
	heap = slob_ops.heap;
	c = made(&(struct cache_spec){ .name = "c", .size = 4096, .engine = &slab_ops });
	block(heap, 4000, 0);
	no_more_memory();
	while (n < 5000 && (obj[n] = get(c)))
		n++;
	CHILD_CHECK(n > 100 && !block(heap, 4000, __GFP_NOWARN));
	for (unsigned int i = 0; i < n; i++)
		cache_free(c, obj[i]);
	CHILD_CHECK(block(heap, 4000, 0));
}

/* ---- fork in the middle of everything ---- */

static bool stop;

static void *hammer(void *arg)
{
	const struct engine_heap *heap = arg;
	void *p[16];

	for (unsigned int i = 0; !load_relaxed(&stop); i++) {
		for (unsigned int j = 0; j < 16; j++)
			p[j] = block(heap, 8 + (i * 16 + j) * 40 % 900, 0);
		for (unsigned int j = 0; j < 16; j++)
			cache_heap_free(&call, heap, p[j], NULL);
	}
	return NULL;
}

/* The heap's lock is never somebody else's in the child, and its books are right. */
IN_CHILD(test_fork)
{
	unsigned int rounds = getenv("USLAB_TEST_VALGRIND") ? 3 : 30;
	pthread_t thread[CACHE_NR_ENGINES];
	int status;

	ready_with_heaps();
	for (unsigned int i = 0; i < nr_heaps; i++)
		pthread_create(&thread[i], NULL, hammer, (void *)heaps[i]);
	for (unsigned int round = 0; round < rounds; round++) {
		pid_t pid = fork();

		if (pid == 0) {
			cache_check_all();
			for (unsigned int i = 0; i < nr_heaps; i++)
				cache_heap_free(&call, heaps[i], block(heaps[i], 200, 0), NULL);
			_exit(0);
		}
		CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	}
	store_relaxed(&stop, true);
	for (unsigned int i = 0; i < nr_heaps; i++) {
		pthread_join(thread[i], NULL);
		CHILD_CHECK(blocks_of(heaps[i]) == 0);
	}
	cache_check_all();
	CHILD_CHECK(pages_out() == 0);
}

static unsigned int done;

static void *one_block(void *heap)
{
	cache_heap_free(&call, heap, block(heap, 40, 0), NULL);
	fetch_add(&done, 1u);
	return NULL;
}

/* While a fork among threads is going on, nobody is inside of a heap. */
IN_CHILD(test_fork_waits)
{
	pthread_t thread[CACHE_NR_ENGINES];
	pthread_t other;

	ready_with_heaps();
	CHILD_CHECK(pthread_create(&other, NULL, threads_wait, &stop) == 0);
	cache_fork_prepare();
	for (unsigned int i = 0; i < nr_heaps; i++)
		pthread_create(&thread[i], NULL, one_block, (void *)heaps[i]);
	usleep(30000);
	CHILD_CHECK(load_relaxed(&done) == 0);
	cache_fork_parent();
	for (unsigned int i = 0; i < nr_heaps; i++)
		pthread_join(thread[i], NULL);
	CHILD_CHECK(done == nr_heaps);
	store_relaxed(&stop, true);
	pthread_join(other, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_once), cmocka_unit_test(test_zeroing),
		cmocka_unit_test(test_owners),	  cmocka_unit_test(test_who_has_one),
		cmocka_unit_test(test_nodes),	  cmocka_unit_test(test_pressure),
		cmocka_unit_test(test_fork),	  cmocka_unit_test(test_fork_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
