/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/free_test.c - objects go back, one or many, and whose they are
 */
#include "cache_fixture.h"
#include "refused.h"

IN_CHILD(test_one)
{
	struct cache *c;
	void *a;

	ready();
	stay_here();
	c = make("c", 64, 0, 0);
	a = get(c);
	CHILD_CHECK(in_use(c) == 1);
	cache_free(c, a);
	CHILD_CHECK(in_use(c) == 0 && get(c) == a);
}

/* A caller that has looked at the page himself; whether the object is live is looked at here. */
IN_CHILD(test_known)
{
	static const char *const fronts[] = { "array", "none", "cpuslab", "sheaves" };

	ready();
	report_set_hook(quiet, NULL, true);
	for (size_t f = 0; f < ARRAY_SIZE(fronts); f++) {
		struct cache *c = make_front("c", 64, fronts[f]);
		unsigned long before = reports();
		void *a = get(c);

		cache_free_known(c, a, NULL);
		CHILD_CHECK(in_use(c) == 0 && reports() == before);
		cache_free_known(c, a, NULL);
		CHILD_CHECK(in_use(c) == 0 && reports() == before + 1);
		a = get(c);
		((uint32_t *)a)[1] = (uint32_t)(uintptr_t)a; /* it only looks free */
		cache_free_known(c, a, NULL);
		CHILD_CHECK(in_use(c) == 0 && reports() == before + 1);
	}
	cache_check_all();
}

IN_CHILD(test_free_bulk)
{
	static const char *const fronts[] = { "array", "none", "cpuslab", "sheaves" };

	ready();
	for (size_t f = 0; f < ARRAY_SIZE(fronts); f++) {
		struct cache *c = make_front("c", 200, fronts[f]);
		static void *p[1000];

		CHILD_CHECK(cache_alloc_bulk(c, GFP_KERNEL, 1000, p) == 1000);
		CHILD_CHECK(in_use(c) == 1000);
		/* of every slab some, in a mixed order */
		for (unsigned int i = 0; i < 1000; i++) {
			unsigned int j = (i * 389 + 7) % 1000;
			void *swapped = p[i];

			p[i] = p[j];
			p[j] = swapped;
		}
		cache_free_bulk(c, 400, p);
		CHILD_CHECK(in_use(c) == 600);
		cache_check_all();
		cache_free_bulk(c, 0, p);
		cache_free_bulk(c, 600, p + 400);
		CHILD_CHECK(in_use(c) == 0);
		CHILD_CHECK(cache_shrink(c) == 0 && stats_of(c).nr_slabs == 0);
	}
	cache_check_all();
}

IN_CHILD(test_whose)
{
	struct cache *a;
	struct cache *b;
	char *obj;
	void *run;

	ready();
	a = make("a", 64, 0, 0);
	b = make("b", 5000, 0, 0); /* slabs of several pages */
	obj = get(a);
	CHILD_CHECK(cache_of_object(obj) == a && cache_of_object(obj + 63) == a);
	obj = get(b);
	CHILD_CHECK(cache_of_object(obj) == b && cache_of_object(obj + 4999) == b);
	run = run_alloc(3 * PAGE_SIZE, 0, -1, NULL);
	CHILD_CHECK(!cache_of_object(run) && !cache_of_object((char *)run + PAGE_SIZE));
	CHILD_CHECK(!cache_of_object(&obj) && !cache_of_object(NULL));
	CHILD_CHECK(!cache_of_object(ZERO_SIZE_PTR) && !cache_of_object(page_map.base - 1));
	cache_free(b, obj);
	cache_shrink(b);
	CHILD_CHECK(!cache_of_object(obj)); /* its slab has gone */
}

/*
 * No debug flags are set, and the call is no hit: what can be no object of anybody is refused.
 * The memory of nobody does not start a page: that could have been a large block.
 */
static void free_nonsense(void *arg)
{
	static _Alignas(64) char outside[64];
	struct cache *c;
	char *obj;

	ready();
	c = make_front("victim", 64, "none");
	obj = get(c);
	cache_free_for(c, arg ? obj + 1 : outside + 16, (char *)free_nonsense + 4);
}

static void test_no_object(void **state)
{
	struct child outside = child_run(free_nonsense, NULL);
	struct child between = child_run(free_nonsense, state);

	assert_true(child_passed(&outside) && child_passed(&between));
	assert_non_null(strstr(outside.text, "kmem_cache_free(): 0x"));
	assert_non_null(strstr(outside.text, " was not allocated by uslab\n"));
	assert_non_null(
		strstr(between.text, " lies inside of an object of victim, not at its start\n"));
}

/* ---- arrays (spec 13.3) ---- */

/* NULLs are skipped, wherever they are. */
IN_CHILD(test_array_with_nulls)
{
	void *p[60];

	ready();
	for (unsigned int keep = 1; keep < 9; keep++) {
		struct cache *c = make_front("c", 64, keep % 2 ? "array" : "none");

		CHILD_CHECK(cache_alloc_bulk(c, GFP_KERNEL, 60, p) == 60);
		for (unsigned int i = 0; i < 60; i++)
			if (i % keep == 0) {
				cache_free(c, p[i]);
				p[i] = NULL;
			}
		cache_free_array_for(c, 60, p, NULL);
		CHILD_CHECK(in_use(c) == 0 && reports() == 0);
		cache_free_array_for(c, 0, NULL, NULL);
		memset(p, 0, sizeof(p));
		cache_free_array_for(c, 60, p, NULL);
		CHILD_CHECK(in_use(c) == 0);
	}
}

/* Each mistake is reported, and costs none of the others: where bulk frees check by samples too. */
IN_CHILD(test_array_mistakes)
{
	static const char *const fronts[] = { "array", "none", "cpuslab", "queues" };
	void *p[60];

	ready();
	report_set_hook(quiet, NULL, true);
	for (size_t f = 0; f < ARRAY_SIZE(fronts); f++) {
		struct cache *c = make_front("c", 64, fronts[f]);
		struct cache *other = make_front("other", 64, fronts[f]);
		unsigned long before = reports();

		CHILD_CHECK(cache_alloc_bulk(c, GFP_KERNEL, 60, p) == 60);
		cache_free(c, p[7]);
		cache_free(c, p[31]);
		p[7] = get(other); /* is freed to that one */
		p[31] = NULL;
		cache_free(c, p[45]);
		p[45] = (char *)p[44] + 8; /* no start of an object */
		cache_free(c, p[50]);	   /* freed already */
		cache_free_array_for(c, 60, p, NULL);
		CHILD_CHECK(reports() == before + 3);
		CHILD_CHECK(in_use(c) == 0 && in_use(other) == 0);
	}
	cache_check_all();
}

int main(void)
{
	static int something;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_free_bulk),
		cmocka_unit_test(test_whose),
		cmocka_unit_test(test_array_with_nulls),
		cmocka_unit_test(test_array_mistakes),
		cmocka_unit_test_prestate(test_no_object, &something),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
