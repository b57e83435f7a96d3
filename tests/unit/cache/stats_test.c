/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/stats_test.c - a cache in numbers: guarded objects, debug flags that come and go
 *
 * That they are those of inspect/, for every engine and front: conformance/manage_test.c.
 */
#include "cache_fixture.h"

static struct kmem_cache_statistics numbers(struct cache *c)
{
	struct kmem_cache_statistics stats;

	cache_stats(c, &stats);
	return stats;
}

IN_CHILD(test_small)
{
	struct kmem_cache_statistics stats;
	struct cache *c;
	void *p[3];

	ready();
	c = make("c", 60, 0, SLAB_NO_MERGE);
	CHILD_CHECK(numbers(c).slabs == 0 && numbers(c).objects == 0);
	for (unsigned int i = 0; i < 3; i++)
		p[i] = get(c);
	cache_free(c, p[1]);
	stats = numbers(c);
	CHILD_CHECK(stats.objects == 2 && stats.object_size == 60 && stats.slab_size == 64);
	CHILD_CHECK(stats.slabs == 1 && stats.total_objects == stats.objs_per_slab);
	CHILD_CHECK(stats.objects_free == stats.total_objects - 2);
	CHILD_CHECK(stats.slab_bytes == stats.objs_per_slab * 64);
}

/* A guarded object is a slab of one. */
IN_CHILD(test_guarded)
{
	struct kmem_cache_statistics stats;
	struct cache *c;
	void *p;

	setenv("USLAB_CONF", "kfence.sample=1,valgrind=0", 1);
	ready();
	c = make("c", 60, 0, SLAB_NO_MERGE);
	p = get(c);
	stats = numbers(c);
	CHILD_CHECK(stats.objects == 1 && stats.slabs == 1 && stats.slab_bytes == PAGE_SIZE);
	cache_free(c, p);
	stats = numbers(c);
	CHILD_CHECK(stats.objects == 0 && stats.objects_free == 1 && stats.total_objects == 1);
}

IN_CHILD(test_debug_flags)
{
	struct cache *c;
	void *p[2];

	ready();
	c = make("c", 64, 0, SLAB_NO_MERGE);
	p[0] = get(c);
	CHILD_CHECK(numbers(c).slab_size == 64);
	CHILD_CHECK(cache_set_debug(c, SLAB_RED_ZONE | SLAB_STORE_USER) == 0);
	p[1] = get(c);
	CHILD_CHECK(numbers(c).slab_size > 100 && numbers(c).objects == 2);
	CHILD_CHECK(cache_set_debug(c, 0) == 0);
	CHILD_CHECK(numbers(c).slab_size == 64 && numbers(c).objects == 2);
	cache_free_bulk(c, 2, p);
	CHILD_CHECK(numbers(c).objects == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_guarded),
		cmocka_unit_test(test_debug_flags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
