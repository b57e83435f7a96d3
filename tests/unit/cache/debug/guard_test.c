/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/debug/guard_test.c - guarded pages for all caches: from the start, later, and by a
 * thread
 */
#include "unit/cache/cache_fixture.h"

#include "base/atomic.h"
#include "cache/debug/guard.h"
#include "debug/kfence/kfence.h"

static bool is_guarded(const void *p)
{
	return kfence_is_object(page_head_of(p));
}

/* All objects of some misses of an array; how many of them were guarded. */
static unsigned int count_guarded(struct cache *c, unsigned int nr)
{
	void **p = calloc(nr, sizeof(*p));
	unsigned int guarded = 0;

	for (unsigned int i = 0; i < nr; i++) {
		p[i] = cache_alloc(c, 0, -1);
		CHILD_CHECK(p[i]);
		guarded += is_guarded(p[i]);
	}
	for (unsigned int i = 0; i < nr; i++)
		cache_free(c, p[i]);
	free(p);
	return guarded;
}

IN_CHILD(every_cache_takes_part)
{
	static const struct engine_ops *const engines[] = { &slub_ops, &slab_ops, &slob_ops,
							    &slobseg_ops, &slobseg_pow2_ops };

	setenv("USLAB_CONF", "kfence.sample=1,valgrind=0", 1);
	ready();
	CHILD_CHECK(kfence_is_on());
	for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
		struct cache *c = made(&(struct cache_spec){
			.name = engines[i]->name, .size = 100, .engine = engines[i] });

		CHILD_CHECK(c->watch == (WATCH_ROUTE | WATCH_KFENCE));
		CHILD_CHECK(count_guarded(c, 10) == 10);
		kfence_check();
	}
	CHILD_CHECK(kfence_counters.allocated == 0 && kfence_counters.allocations == 50);
	cache_check_all();
}

/* What was guarded when a cache goes away is no leak. */
IN_CHILD(a_cache_may_go_with_guarded_objects)
{
	struct kmem_cache *s;
	struct cache_spec spec = { .name = "gone", .size = 100 };
	void *p;

	setenv("USLAB_CONF", "kfence.sample=1,valgrind=0", 1);
	ready();
	CHILD_CHECK(!cache_create(&spec, &s));
	p = cache_alloc(cache_of(s), 0, -1);
	CHILD_CHECK(is_guarded(p));
	cache_destroy(s, NULL);
	CHILD_CHECK(!cache_of(s) && kfence_counters.zombies == 1 && !is_guarded(p));
	kfence_check();
	cache_check_all();
}

/* Switched on when caches hold objects already, and off again. */
IN_CHILD(it_comes_later)
{
	struct cache *c;
	void *plain;

	setenv("USLAB_CONF", "valgrind=0", 1);
	ready();
	c = make("c", 100, 0, SLAB_NOLEAKTRACE);
	CHILD_CHECK(count_guarded(c, 1000) == 0);
	plain = cache_alloc(c, 0, -1);
	CHILD_CHECK(guard_start() == 0 && !kfence_is_on()); /* nobody wants it */
	CHILD_CHECK(kfence_set_option("sample", "40") && guard_start() == 0 && kfence_is_on());
	CHILD_CHECK(c->watch == (WATCH_ROUTE | WATCH_KFENCE));
	cache_shrink(c);
	CHILD_CHECK(count_guarded(c, 1000) > 0);
	cache_free(c, plain);
	kfence_set_option("sample", "0");
	cache_shrink(c);
	CHILD_CHECK(count_guarded(c, 1000) == 0);
	cache_check_all();
}

/* An object that went into an array is found when it leaves it. */
IN_CHILD(objects_come_home_from_an_array)
{
	struct cache *c;
	void *p;

	setenv("USLAB_CONF", "kfence.sample=1,valgrind=0", 1);
	ready();
	c = make("c", 100, 0, SLAB_NOLEAKTRACE);
	p = cache_alloc(c, 0, -1);
	CHILD_CHECK(is_guarded(p));
	c->front.ops->free(&c->front, p); /* as on the hit path of kmem_cache_free() */
	CHILD_CHECK(kfence_counters.allocated == 1);
	cache_shrink(c);
	CHILD_CHECK(kfence_counters.allocated == 0 && kfence_counters.frees == 1);
	kfence_check();
}

/* A program that only hits: the thread sees to it that it does not. */
IN_CHILD(a_thread_makes_hits_miss)
{
	struct cache *c;

	setenv("USLAB_CONF", "kfence.sample=1000000000,kfence.interval=5,valgrind=0", 1);
	ready();
	cache_start_threads();
	c = make("c", 100, 0, SLAB_NOLEAKTRACE);
	for (unsigned int i = 0; i < 60000 && kfence_counters.allocations < 5; i++) {
		usleep(1000);
		for (unsigned int j = 0; j < 10; j++) /* hits, from the second on */
			cache_free(c, cache_alloc(c, 0, -1));
	}
	CHILD_CHECK(kfence_counters.allocations >= 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_cache_takes_part),
		cmocka_unit_test(a_cache_may_go_with_guarded_objects),
		cmocka_unit_test(it_comes_later),
		cmocka_unit_test(objects_come_home_from_an_array),
		cmocka_unit_test(a_thread_makes_hits_miss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
