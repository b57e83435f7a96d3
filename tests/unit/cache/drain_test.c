/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/drain_test.c - the front of a cache is emptied, and what comes back is checked
 */
#include "cache/internal.h"
#include "cache_fixture.h"

static const char *const fronts[] = { "array", "none", "cpuslab", "sheaves" };

/* Objects are in their slabs then, which stay until they are shrunk. */
IN_CHILD(test_drained)
{
	ready();
	for (size_t f = 0; f < ARRAY_SIZE(fronts); f++) {
		struct cache *c = make_front("c", 64, fronts[f]);
		static void *p[1000];

		for (unsigned int i = 0; i < 1000; i++)
			CHILD_CHECK((p[i] = get(c)));
		for (unsigned int i = 0; i < 1000; i++)
			cache_free(c, p[i]);
		lock_acquire(&cache_lock);
		cache_drain_locked(c);
		CHILD_CHECK(c->front.ops->held(&c->front) == 0 && in_use(c) == 0);
		CHILD_CHECK(!c->engine.verify_frees && stats_of(c).nr_slabs);
		CHILD_CHECK(cache_shrink_locked(c) == 0 && !c->engine.verify_frees);
		CHILD_CHECK(stats_of(c).nr_slabs == 0);
		cache_unlock();
		CHILD_CHECK(get(c) && in_use(c) == 1); /* and it goes on */
	}
	cache_check_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_drained) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
