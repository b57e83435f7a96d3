/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/limit_test.c - counts of pages of a cache, and their limit; the engines are in
 * unit/cache/limit_test.c
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "engine/limit.h"

#define THREADS 4
#define ROUNDS 20000
#define MOST 10

static const struct slab_layout layout = { .order = 1, .min_order = 1 };
static struct engine engine = { .id = 7, .layout = &layout };
static unsigned long most_seen; /* atomic */
static unsigned long got;	/* that are taken now; atomic */

static void test_counts(void **state)
{
	struct engine_limit *l = &engine_limits[7];

	(void)state;
	assert_true(engine_limit_take(&engine, 100));
	assert_false(engine_limit_is_met(&engine));
	l->most = 102;
	assert_false(engine_limit_is_met(&engine));
	assert_true(engine_limit_take(&engine, 2));
	assert_true(engine_limit_is_met(&engine));
	assert_false(engine_limit_take(&engine, 1));
	assert_int_equal(l->pages, 102);
	engine_limit_give(&engine, 102);
	assert_int_equal(l->pages, 0);
}

static void *take_and_give(void *arg)
{
	for (unsigned int i = 0; i < ROUNDS; i++) {
		unsigned long now;

		if (!engine_limit_take(&engine, 3))
			continue;
		now = fetch_add(&got, 3) + 3;
		if (now > load_relaxed(&most_seen))
			store_relaxed(&most_seen, now);
		fetch_sub(&got, 3);
		engine_limit_give(&engine, 3);
	}
	return arg;
}

static void test_threads(void **state)
{
	pthread_t thread[THREADS];

	(void)state;
	engine_limits[7].most = MOST;
	for (unsigned int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, take_and_give, NULL), 0);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	assert_true(most_seen && most_seen <= MOST);
	assert_int_equal(engine_limits[7].pages, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
