/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/lent_list_test.c - what is lent is found: sheaves, objects, sums for each cache; at
 * any time, also while others take objects
 */
#include "base/atomic.h"
#include "cache_fixture.h"
#include "threads.h"

static struct slab_sheaf *lend(struct cache *c, unsigned int size)
{
	struct slab_sheaf *sheaf = lent_prefill(c, GFP_KERNEL, size, NULL);

	CHILD_CHECK(sheaf);
	return sheaf;
}

IN_CHILD(test_found)
{
	struct slab_sheaf *sheaf[3];
	struct cache *a;
	struct cache *b;
	void *obj;

	ready();
	a = make_front("a", 64, "array");
	b = make_front("b", 64, "none");
	CHILD_CHECK(!lent_holds(&a) && !lent_is_listed((const void *)&a));
	for (unsigned int i = 0; i < 3; i++)
		sheaf[i] = lend(i == 1 ? b : a, 5);
	CHILD_CHECK(lent_sum(a).sheaves == 2 && lent_sum(a).objects == 10);
	CHILD_CHECK(lent_sum(b).sheaves == 1 && lent_sum(b).objects == 5);
	for (unsigned int i = 0; i < 3; i++) {
		CHILD_CHECK(lent_is_listed(sheaf[i]));
		for (unsigned int j = 0; j < 5; j++)
			CHILD_CHECK(lent_holds(sheaf[i]->obj[j]));
	}
	obj = lent_alloc(b, GFP_KERNEL, sheaf[1], NULL);
	CHILD_CHECK(!lent_holds(obj) && lent_sum(b).objects == 4);
	lent_check();
	lent_return(a, sheaf[0], NULL);
	CHILD_CHECK(!lent_is_listed(sheaf[0]) && lent_sum(a).objects == 5);
	lent_return(a, sheaf[2], NULL);
	lent_return(b, sheaf[1], NULL);
	CHILD_CHECK(list_empty(&lent_sheaves));
}

/* ---- an object that somebody took is in no sheaf, whoever looks ---- */

static struct {
	struct cache *cache;
	void *taken; /* passed on to a thread that looks for it */
	bool stop;
} shared;

static void *lender(void *arg)
{
	for (unsigned int i = 0; i < 2000; i++) {
		struct slab_sheaf *sheaf = lend(shared.cache, 5);

		while (sheaf->count) {
			void *obj = lent_alloc(shared.cache, GFP_KERNEL, sheaf, NULL);

			/* atomic exchange: pairs with that in looker() */
			obj = xchg(&shared.taken, obj);
			if (obj)
				cache_free(shared.cache, obj);
		}
		if (i % 2)
			CHILD_CHECK(!lent_refill(shared.cache, GFP_KERNEL, &sheaf, 9, NULL));
		lent_return(shared.cache, sheaf, NULL);
	}
	return arg;
}

static void *looker(void *arg)
{
	while (!load_relaxed(&shared.stop)) {
		void *obj = xchg(&shared.taken, NULL);

		if (!obj)
			continue;
		CHILD_CHECK(!lent_holds(obj));
		cache_free(shared.cache, obj);
	}
	return arg;
}

IN_CHILD(test_threads)
{
	ready();
	shared.cache = make_front("c", 64, "array");
	threads_run_beside(2, lender, looker, &shared.stop);
	if (shared.taken)
		cache_free(shared.cache, shared.taken);
	cache_check_all();
	CHILD_CHECK(in_use(shared.cache) == 0 && list_empty(&lent_sheaves));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
