/* SPDX-License-Identifier: MIT */
/*
 * unit/api/sheaf_api_test.c - lent sheaves as programs use them, of own and of kmalloc caches
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <uslab/slab.h>
#include <cmocka.h>

static void use(struct kmem_cache *s)
{
	struct slab_sheaf *sheaf = kmem_cache_prefill_sheaf(s, GFP_KERNEL, 3);
	char *p;

	assert_non_null(sheaf);
	assert_int_equal(kmem_cache_sheaf_size(sheaf), 3);
	p = kmem_cache_alloc_from_sheaf(s, GFP_KERNEL | __GFP_ZERO, sheaf);
	assert_non_null(p);
	assert_int_equal(p[0] | p[kmem_cache_size(s) - 1], 0);
	assert_int_equal(kmem_cache_sheaf_size(sheaf), 2);
	assert_int_equal(kmem_cache_refill_sheaf(s, GFP_KERNEL, &sheaf, 50), 0);
	assert_int_equal(kmem_cache_sheaf_size(sheaf), 50);
	kmem_cache_return_sheaf(s, GFP_KERNEL, sheaf);
	kmem_cache_free(s, p);
}

static void test_own(void **state)
{
	struct kmem_cache *s = kmem_cache_create("own", 64, 0, 0, NULL);
	struct kmem_cache *alias = kmem_cache_create("alias", 60, 0, 0, NULL);
	struct slab_sheaf *sheaf;

	(void)state;
	use(s);
	assert_ptr_equal(s, alias); /* merged: a sheaf of one is a sheaf of the other */
	sheaf = kmem_cache_prefill_sheaf(s, GFP_KERNEL, 1);
	kmem_cache_return_sheaf(alias, GFP_KERNEL, sheaf);
	kmem_cache_destroy(alias);
	assert_int_equal(kmem_cache_shrink(s), 0);
	kmem_cache_destroy(s);
}

static void test_kmalloc(void **state)
{
	struct kmem_cache *s =
		(struct kmem_cache *)((char *)uslab_kmalloc_handles + uslab_kmalloc_index(64) * 8);
	struct slab_sheaf *sheaf = kmem_cache_prefill_sheaf(s, GFP_KERNEL, 1);
	void *p = kmem_cache_alloc_from_sheaf(s, GFP_KERNEL, sheaf);

	(void)state;
	kmem_cache_return_sheaf(s, GFP_KERNEL, sheaf);
	assert_int_equal(ksize(p), 64);
	kfree(p);
	use(s);
}

/* A sheaf of such a front may have more: what is promised are those that were asked for. */
static void test_at_least(void **state)
{
	static const char *const fronts[] = { "sheaves", "sheaves:6.18", "queues", "none" };

	(void)state;
	for (size_t i = 0; i < sizeof(fronts) / sizeof(fronts[0]); i++) {
		struct kmem_cache_args args = { .front = fronts[i], .sheaf_capacity = 28 };
		struct kmem_cache *s = kmem_cache_create_args("own", 64, &args, 0);
		struct slab_sheaf *sheaf;
		unsigned int size;

		assert_non_null(s);
		kmem_cache_free(s, kmem_cache_alloc(s, GFP_KERNEL));
		sheaf = kmem_cache_prefill_sheaf(s, GFP_KERNEL, 1);
		size = kmem_cache_sheaf_size(sheaf);
		assert_true(i < 2 ? size > 1 : size == 1);
		kmem_cache_free(s, kmem_cache_alloc_from_sheaf(s, GFP_KERNEL, sheaf));
		assert_int_equal(kmem_cache_sheaf_size(sheaf), size - 1);
		assert_int_equal(kmem_cache_refill_sheaf(s, GFP_KERNEL, &sheaf, 40), 0);
		assert_true(kmem_cache_sheaf_size(sheaf) >= 40);
		kmem_cache_return_sheaf(s, GFP_KERNEL, sheaf);
		kmem_cache_destroy(s);
	}
}

static void test_none(void **state)
{
	struct kmem_cache *s = kmem_cache_create("none", 64, 0, 0, NULL);

	(void)state;
	assert_null(kmem_cache_prefill_sheaf(s, GFP_KERNEL, 0));
	assert_int_equal(kmem_cache_sheaf_size(NULL), 0);
	assert_null(kmem_cache_alloc_from_sheaf(s, GFP_KERNEL, NULL));
	assert_int_equal(kmem_cache_refill_sheaf(s, GFP_KERNEL, NULL, 1), -EINVAL);
	kmem_cache_return_sheaf(s, GFP_KERNEL, NULL);
	kmem_cache_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_kmalloc),
		cmocka_unit_test(test_at_least),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
