/* SPDX-License-Identifier: MIT */
/*
 * unit/api/manage_api_test.c - statistics, destructors, callbacks and arenas as programs use them
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <uslab/slab.h>
#include <cmocka.h>

/* A program of this version, of a later one, and of one before the first. */
static void test_stats_size(void **state)
{
	struct kmem_cache *s = kmem_cache_create("sized", 64, 0, SLAB_NO_MERGE, NULL);
	struct {
		struct kmem_cache_statistics stats;
		size_t later;
	} more = { .stats.size = sizeof(more), .later = 77 };
	struct kmem_cache_statistics stats = { .size = sizeof(stats) };
	void *p = kmem_cache_alloc(s, GFP_KERNEL);

	(void)state;
	assert_int_equal(kmem_cache_stats(s, &stats), 0);
	assert_int_equal(stats.size, sizeof(stats));
	assert_int_equal(stats.objects, 1);
	assert_int_equal(kmem_cache_stats(s, &more.stats), 0);
	assert_int_equal(more.stats.size, sizeof(stats));
	assert_int_equal(more.later, 77);
	stats.size = offsetof(struct kmem_cache_statistics, defrag_slabs); /* the first version */
	stats.defrag_slabs = 78;
	assert_int_equal(kmem_cache_stats(s, &stats), 0);
	assert_int_equal(stats.defrag_slabs, 78);
	stats.size--;
	stats.objects = 5;
	assert_int_equal(kmem_cache_stats(s, &stats), -EINVAL);
	assert_int_equal(stats.objects, 5);
	stats.size = 0;
	assert_int_equal(kmem_cache_stats(s, &stats), -EINVAL);
	kmem_cache_free(s, p);
	kmem_cache_destroy(s);
}

static unsigned int alive;

static void ctor(void *obj)
{
	(void)obj;
	alive++;
}

static void dtor(void *obj)
{
	(void)obj;
	alive--;
}

static void test_destructor(void **state)
{
	struct kmem_cache_args args = { .ctor = ctor, .dtor = dtor };
	struct kmem_cache *s = kmem_cache_create_args("dtor", 64, &args, 0);

	(void)state;
	assert_non_null(s);
	for (int i = 0; i < 1000; i++)
		assert_non_null(kmem_cache_alloc(s, GFP_KERNEL));
	assert_true(alive >= 1000);
	assert_int_equal(kmem_cache_destroy_all_objects(s), 0);
	assert_int_equal(alive, 0);
	kmem_cache_destroy(s);

	args.ctor = NULL;
	errno = 0;
	assert_null(kmem_cache_create_args("dtor", 64, &args, 0));
	assert_int_equal(errno, EINVAL);
}

static void count(void *arg)
{
	++*(unsigned int *)arg;
}

static void test_reclaim(void **state)
{
	unsigned int calls = 0;
	struct kmem_cache_args args = { .reclaim = count, .reclaim_arg = &calls };
	struct kmem_cache *s = kmem_cache_create_args("reclaim", 64, &args, 0);

	(void)state;
	assert_int_equal(kmem_cache_shrink(s), 0);
	assert_int_equal(calls, 1);
	uslab_trim();
	assert_int_equal(calls, 2);
	kmem_cache_destroy(s);
	uslab_trim();
	assert_int_equal(calls, 2);
}

static bool never(size_t size, gfp_t gfp, void *arg)
{
	(void)size, (void)gfp, (void)arg;
	return false;
}

/* More than there can be is refused as such: nobody could make room for it. */
static void test_hook(void **state)
{
	(void)state;
	uslab_set_oom_hook(never, NULL);
	assert_null(kmalloc(KMALLOC_MAX_SIZE + 1, GFP_KERNEL));
	uslab_set_oom_hook(NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stats_size),
		cmocka_unit_test(test_destructor),
		cmocka_unit_test(test_reclaim),
		cmocka_unit_test(test_hook),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
