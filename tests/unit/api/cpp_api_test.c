/* SPDX-License-Identifier: MIT */
/*
 * unit/api/cpp_api_test.c - the caches of uslab::allocator: one per size, whoever asks first
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <uslab/slab.h>
#include <cmocka.h>

#define THREADS 4

static void test_one_per_size(void **state)
{
	struct kmem_cache *s = uslab_cache_of_size(104);
	void *p;

	(void)state;
	assert_non_null(s);
	assert_string_equal(kmem_cache_name(s), "cpp-104");
	assert_int_equal(kmem_cache_size(s), 104);
	assert_ptr_equal(uslab_cache_of_size(104), s);
	assert_ptr_not_equal(uslab_cache_of_size(1112), s);
	p = kmem_cache_alloc(s, GFP_KERNEL);
	assert_non_null(p);
	kmem_cache_free(uslab_cache_of_size(104), p);
}

/* Objects are aligned to the largest power of two that divides their size, up to a page. */
static void test_alignment(void **state)
{
	static const size_t sizes[] = { 8, 24, 48, 192, 1536, 4096, 8192 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		size_t align = sizes[i] & (~sizes[i] + 1);
		struct kmem_cache *s = uslab_cache_of_size(sizes[i]);
		void *p = kmem_cache_alloc(s, GFP_KERNEL);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % (align < 4096 ? align : 4096), 0);
		kmem_cache_free(s, p);
	}
}

static void test_other_sizes(void **state)
{
	static const size_t sizes[] = { 0, 1, 12, KMALLOC_MAX_CACHE_SIZE + 8, SIZE_MAX - 7 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		errno = 0;
		assert_null(uslab_cache_of_size(sizes[i]));
		assert_int_equal(errno, EINVAL);
	}
}

static void *first_use(void *barrier)
{
	pthread_barrier_wait(barrier);
	return uslab_cache_of_size(2056);
}

/* All of them get the same cache. */
static void test_several_at_once(void **state)
{
	pthread_t threads[THREADS];
	pthread_barrier_t barrier;
	void *s;

	(void)state;
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, first_use, &barrier), 0);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &s), 0);
		assert_ptr_equal(s, uslab_cache_of_size(2056));
	}
	pthread_barrier_destroy(&barrier);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_per_size),
		cmocka_unit_test(test_alignment),
		cmocka_unit_test(test_other_sizes),
		cmocka_unit_test(test_several_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
