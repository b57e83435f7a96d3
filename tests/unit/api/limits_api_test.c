/* SPDX-License-Identifier: MIT */
/*
 * unit/api/limits_api_test.c - limits of the process and of a cache, capacities of arrays and
 * limits of queues, as a program changes them
 */
#include <uslab/slab.h>

#include "unit/cache/cache_fixture.h"

static unsigned long held(struct kmem_cache *s)
{
	return cache_of(s)->front.ops->held(&cache_of(s)->front);
}

static void capacities(void *arg)
{
	struct kmem_cache_args args = { .front = "array" };
	struct kmem_cache *s;

	(void)arg;
	CHILD_CHECK(uslab_set_capacity("nothing", 4) == -ENOENT); /* makes the library ready */
	CHILD_CHECK(uslab_set_capacity(NULL, 4) == -EINVAL);
	CHILD_CHECK(uslab_set_capacity("kmalloc-64", 4) == 1);
	kfree(kmalloc(64, GFP_KERNEL));
	stay_here();
	s = kmem_cache_create_args("c", 64, &args, 0);
	kmem_cache_free(s, kmem_cache_alloc(s, GFP_KERNEL));
	CHILD_CHECK(held(s) == 31);
	CHILD_CHECK(kmem_cache_set_capacity(s, 4) == 0 && held(s) == 0);
	kmem_cache_free(s, kmem_cache_alloc(s, GFP_KERNEL));
	CHILD_CHECK(held(s) == 4);
	CHILD_CHECK(kmem_cache_set_capacity(s, 32) == -EINVAL && held(s) == 4);
	CHILD_CHECK(kmem_cache_set_capacity(s, USLAB_CAPACITY_NONE) == 0);
	kmem_cache_free(s, kmem_cache_alloc(s, GFP_KERNEL));
	CHILD_CHECK(held(s) == 0);
	CHILD_CHECK(kmem_cache_set_capacity(s, 0) == 0);
	kmem_cache_destroy(s);
	args.front = "none";
	s = kmem_cache_create_args("n", 64, &args, 0);
	CHILD_CHECK(kmem_cache_set_capacity(s, 4) == -EOPNOTSUPP);
	kmem_cache_destroy(s);
}

static void queues(void *arg)
{
	struct kmem_cache_args args = { .front = "queues" };
	struct kmem_cache *s = kmem_cache_create_args("q", 64, &args, 0);
	struct kmem_cache *other;
	void *p[40];

	(void)arg;
	stay_here();
	args.front = "array";
	other = kmem_cache_create_args("q", 64, &args, 0);
	CHILD_CHECK(kmem_cache_tune(other, 10, 5, 1) == -EOPNOTSUPP);
	CHILD_CHECK(kmem_cache_tune(s, 10, 11, 1) == -EINVAL);
	CHILD_CHECK(kmem_cache_tune(s, 100, 50, ~0u) == -EINVAL);
	CHILD_CHECK(kmem_cache_tune(s, 20, 10, 0) == 0);
	CHILD_CHECK(kmem_cache_alloc_bulk(s, GFP_KERNEL, 40, p) == 40);
	kmem_cache_free_bulk(s, 40, p);
	CHILD_CHECK(held(s) > 0 && held(s) <= 20);
	kmem_cache_reap(); /* spares who allocated */
	CHILD_CHECK(held(s) > 8);
	for (unsigned int i = 0; i < 10; i++)
		kmem_cache_reap();
	CHILD_CHECK(held(s) == 0 && kmem_cache_shrink(s) == 0);
	kmem_cache_destroy(s);
	kmem_cache_destroy(other);
}

static void limits(void *arg)
{
	struct kmem_cache *s = kmem_cache_create("limited", 512, 0, SLAB_NO_MERGE, NULL);
	size_t held;

	(void)arg;
	CHILD_CHECK(uslab_limit(NULL) == 0 && uslab_limit(&held) == 0);
	CHILD_CHECK(kmem_cache_alloc(s, GFP_KERNEL) && !uslab_limit(&held) && held > 0);
	CHILD_CHECK(uslab_set_limit(100) == -EINVAL && uslab_limit(NULL) == 0);
	CHILD_CHECK(uslab_set_limit(held + (1ul << 20) + 1) == 0);
	CHILD_CHECK(uslab_limit(NULL) == held + (1ul << 20)); /* whole pages */
	CHILD_CHECK(!kmalloc(2ul << 20, GFP_KERNEL | __GFP_NOWARN));
	CHILD_CHECK(kmem_cache_set_limit(s, 1) == -EINVAL && kmem_cache_set_limit(s, 8192) == 0);
	for (unsigned int i = 1; i < 16; i++)
		CHILD_CHECK(kmem_cache_alloc(s, GFP_KERNEL));
	CHILD_CHECK(!kmem_cache_alloc(s, GFP_KERNEL | __GFP_NOWARN));
	CHILD_CHECK(kmem_cache_set_limit(s, 0) == 0 && kmem_cache_alloc(s, GFP_KERNEL));
	CHILD_CHECK(uslab_set_limit(4096) == 0); /* less than is held: nothing is lost */
	CHILD_CHECK(!kmalloc(1ul << 20, GFP_KERNEL | __GFP_NOWARN));
	CHILD_CHECK(uslab_set_limit(0) == 0 && kmalloc(2ul << 20, GFP_KERNEL));
}

static void test_limits(void **state)
{
	struct child c = child_run(limits, state);

	assert_true(child_passed(&c));
}

static void test_capacities(void **state)
{
	struct child c = child_run(capacities, state);

	assert_true(child_passed(&c));
}

static void test_queues(void **state)
{
	struct child c = child_run(queues, state);

	assert_true(child_passed(&c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_capacities),
		cmocka_unit_test(test_queues),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
