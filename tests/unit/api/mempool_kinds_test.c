/* SPDX-License-Identifier: MIT */
/*
 * unit/api/mempool_kinds_test.c - pools of objects, blocks and pages, over every engine and front
 */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <uslab/mempool.h>

#include "api/mempool.h"
#include "bare.h"
#include "base/bits.h"
#include "blocks.h"
#include "bytes.h"
#include "cache/mempool/elements.h"
#include "child.h"
#include "debug/report/report.h"
#include "page/page.h"
#include "threads.h"

#define USERS 4
#define KEPT 2

static mempool_t pool;
static size_t size; /* of its elements */
static unsigned int rounds = 1000;

/* One element at a time: each is this thread's alone as long as it has it. */
static void *use(void *arg)
{
	unsigned char byte = (unsigned char)(uintptr_t)arg;

	for (unsigned int i = 0; i < rounds; i++) {
		unsigned char *p = mempool_alloc(&pool, GFP_KERNEL);

		CHILD_CHECK(p);
		memset(p, byte, size);
		if (i % 8 == 0)
			sched_yield();
		CHILD_CHECK(all_bytes(p, size, byte));
		mempool_free(p, &pool);
	}
	return NULL;
}

static void use_and_exit(void)
{
	elements_check(&pool);
	CHILD_CHECK(pool.kind && pool.curr_nr == KEPT);
	threads_run(USERS, use);
	CHILD_CHECK(pool.curr_nr == KEPT);
	elements_check(&pool);
	mempool_exit(&pool);
}

/* Nine allocations of ten fail, also of those that may wait. */
static void fail_mostly(void)
{
	CHILD_CHECK(cache_set_option("failslab.ignore-gfp-wait", "N", NULL));
	CHILD_CHECK(uslab_set_failslab("1,90,0,-1") == 0);
}

struct pair {
	const char *engine;
	const char *front;
};

static void use_pair(void *arg)
{
	const struct pair *pair = arg;
	struct kmem_cache_args args = { .engine = pair->engine, .front = pair->front };
	struct kmem_cache *s = kmem_cache_create_args("pair", 200, &args, SLAB_NO_MERGE);

	CHILD_CHECK(s);
	size = 200;
	CHILD_CHECK(mempool_init_slab_pool(&pool, KEPT, s) == 0);
	fail_mostly();
	use_and_exit();
	CHILD_CHECK(uslab_set_failslab("") == 0);
	kmem_cache_destroy(s);
	CHILD_CHECK(report_counters.reports == 0);
}

static void test_pairs(void **state)
{
	static const char *const engines[] = { "slub",	       "slab", "slobseg",
					       "slobseg:pow2", "slob", "slob:1991" };
	static const char *const fronts[] = { "array", "queues", "none", "cpuslab" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(engines); i++)
		for (size_t j = 0; j < ARRAY_SIZE(fronts); j++) {
			struct pair pair = { engines[i], fronts[j] };
			struct child c;

			if (i && !strcmp(fronts[j], "cpuslab"))
				continue; /* slub's only */
			c = child_run(use_pair, &pair);
			if (!child_passed(&c))
				fail_msg("%s, %s", pair.engine, pair.front);
		}
}

IN_CHILD(test_kmalloc)
{
	size = 100;
	CHILD_CHECK(mempool_init_kmalloc_pool(&pool, KEPT, size) == 0);
	CHILD_CHECK(!strcmp(class_of(pool.elements[0]), "kmalloc-128"));
	fail_mostly();
	use_and_exit();
}

IN_CHILD(test_kvmalloc)
{
	mempool_t *made;

	size = 100000;
	rounds /= 10;
	CHILD_CHECK(mempool_init_kvmalloc_pool(&pool, KEPT, size) == 0);
	CHILD_CHECK(ksize(pool.elements[0]) == 25 * 4096);
	use_and_exit();
	made = mempool_create_kvmalloc_pool(1, 10);
	CHILD_CHECK(made && ksize(made->elements[0]) == 16);
	mempool_destroy(made);
}

/* Whole pages, aligned to their size; one page, too. */
IN_CHILD(test_pages)
{
	static const int orders[] = { 0, 1, 5, KMALLOC_MAX_ORDER };

	rounds /= 10;
	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		size = PAGE_SIZE << orders[i];
		CHILD_CHECK(mempool_init_page_pool(&pool, KEPT, orders[i]) == 0);
		for (unsigned int j = 0; j < KEPT; j++) {
			CHILD_CHECK((uintptr_t)pool.elements[j] % size == 0);
			CHILD_CHECK(!strcmp(class_of(pool.elements[j]), "none"));
			CHILD_CHECK(ksize(pool.elements[j]) == size);
		}
		size = PAGE_SIZE; /* enough to look at */
		use_and_exit();
	}
	CHILD_CHECK(mempool_init_page_pool(&pool, 1, KMALLOC_MAX_ORDER + 1) == -ENOMEM);
	CHILD_CHECK(!mempool_create_page_pool(1, -1));
}

/* The functions themselves, and pools that are made of them in other ways. */
IN_CHILD(test_functions)
{
	struct kmem_cache *s = kmem_cache_create("functions", 40, 0, SLAB_NO_MERGE, NULL);
	mempool_t *made = mempool_create_slab_pool(3, s);
	void *p = mempool_alloc_slab(GFP_KERNEL, s);

	CHILD_CHECK(p && cache_of_object(p) == cache_of(s) && made);
	mempool_free_slab(p, s);
	p = mempool_kmalloc(GFP_KERNEL, (void *)100);
	CHILD_CHECK(ksize(p) == 128);
	mempool_kfree(p, (void *)100);
	p = mempool_kvmalloc(GFP_KERNEL, (void *)10000);
	CHILD_CHECK(ksize(p) == 3 * PAGE_SIZE);
	mempool_kvfree(p, (void *)10000);
	p = mempool_alloc_pages(GFP_KERNEL, (void *)1);
	CHILD_CHECK(ksize(p) == 2 * PAGE_SIZE);
	mempool_free_pages(p, (void *)1);
	mempool_destroy(made);
	made = mempool_create_kmalloc_pool(3, 64);
	CHILD_CHECK(made);
	mempool_destroy(made);
	/* a pool of nothing: all elements are the same, which is no mistake */
	made = mempool_create_kmalloc_pool(3, 0);
	CHILD_CHECK(made && made->curr_nr == 3);
	mempool_free(mempool_alloc_preallocated(made), made);
	CHILD_CHECK(made->curr_nr == 3);
	mempool_destroy(made);
	kmem_cache_destroy(s);
	CHILD_CHECK(report_counters.reports == 0);
	CHILD_CHECK(!api_mempool_kind(mempool_kmalloc, mempool_free_pages));
}

static void construct(void *obj)
{
	memset(obj, 1, 64);
}

static void make_of_constructed(void *arg)
{
	struct kmem_cache *s = kmem_cache_create("constructed", 64, 0, 0, construct);

	(void)arg;
	CHILD_CHECK(mempool_init_slab_pool(&pool, 1, s) == -EINVAL);
	CHILD_CHECK(!mempool_initialized(&pool) && !mempool_create_slab_pool(1, s));
	kmem_cache_destroy(s);
}

static void test_constructed(void **state)
{
	static const char line[] = "uslab: mempool_init(): objects of constructed have a "
				   "constructor, and a pool overwrites them\n";
	struct child c = child_run(make_of_constructed, NULL);

	(void)state;
	assert_true(child_passed(&c));
	assert_memory_equal(c.text, line, sizeof(line) - 1);
	assert_string_equal(c.text + sizeof(line) - 1, line);
}

static int slow_down(void **state)
{
	(void)state;
	if (!bare_process() || is_emulated())
		rounds /= 10;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs),	  cmocka_unit_test(test_kmalloc),
		cmocka_unit_test(test_kvmalloc),  cmocka_unit_test(test_pages),
		cmocka_unit_test(test_functions), cmocka_unit_test(test_constructed),
	};

	return cmocka_run_group_tests(tests, slow_down, NULL);
}
