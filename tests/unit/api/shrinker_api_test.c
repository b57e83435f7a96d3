/* SPDX-License-Identifier: MIT */
/*
 * unit/api/shrinker_api_test.c - both ways to register a shrinker, as kernel code writes them
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <uslab/shrinker.h>

static unsigned long counts;
static unsigned long freeable;

static unsigned long count(struct shrinker *s, struct shrink_control *sc)
{
	assert_null(sc->memcg);
	assert_true(s->flags & SHRINKER_REGISTERED);
	counts++;
	return freeable ? freeable : SHRINK_EMPTY;
}

static unsigned long scan(struct shrinker *s, struct shrink_control *sc)
{
	unsigned long n = sc->nr_to_scan < freeable ? sc->nr_to_scan : freeable;

	(void)s;
	freeable -= n;
	return n;
}

static void test_old(void **state)
{
	static struct shrinker s = { .count_objects = count,
				     .scan_objects = scan,
				     .seeks = DEFAULT_SEEKS };
	static struct shrinker bad;

	(void)state;
	assert_int_equal(register_shrinker(&s), 0); /* before Linux 6.0 */
	assert_int_equal(register_shrinker(&s, "again-%d", 1), -EEXIST);
	assert_int_equal(register_shrinker(&bad, "bad"), -EINVAL);
	freeable = 1000;
	uslab_trim();
	assert_int_equal(freeable, 0);
	unregister_shrinker(&s);
	unregister_shrinker(&s);
	counts = 0;
	uslab_trim();
	assert_int_equal(counts, 0);
	assert_int_equal(register_shrinker(&s, "named-%s", "x"), 0);
	unregister_shrinker(&s);
}

static void test_new(void **state)
{
	struct shrinker *s = shrinker_alloc(SHRINKER_MEMCG_AWARE | SHRINKER_REGISTERED, "new");

	(void)state;
	assert_non_null(s);
	assert_int_equal(s->flags, SHRINKER_ALLOCATED | SHRINKER_MEMCG_AWARE);
	assert_int_equal(s->seeks, DEFAULT_SEEKS);
	shrinker_register(s); /* without functions: it is not */
	assert_false(s->flags & SHRINKER_REGISTERED);
	s->count_objects = count;
	s->scan_objects = scan;
	shrinker_register(s);
	shrinker_register(s);
	assert_true(s->flags & SHRINKER_REGISTERED);
	freeable = 10;
	uslab_trim();
	assert_int_equal(freeable, 0);
	shrinker_free(s);
	shrinker_free(shrinker_alloc(0, "never registered"));
	shrinker_free(NULL);
	counts = 0;
	uslab_trim();
	assert_int_equal(counts, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_old),
		cmocka_unit_test(test_new),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
