/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/names_test.c - what tools offer is what USLAB_CONF takes
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cache/cache.h"
#include "inspect/names.h"

static void test_engines(void **state)
{
	unsigned int count = 0;

	(void)state;
	for (; names_engine(count); count++)
		assert_non_null(cache_engine_by_name(names_engine(count)));
	assert_int_equal(count, CACHE_NR_ENGINES);
	assert_string_equal(names_engine(0), "slub");
	assert_null(names_engine(count + 1));
}

static void test_fronts(void **state)
{
	unsigned int count = 0;

	(void)state;
	for (; names_front(count); count++)
		assert_non_null(front_by_name(names_front(count)));
	assert_int_equal(count, 6);
	assert_string_equal(names_front(0), "array");
	assert_null(names_front(count + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_engines),
		cmocka_unit_test(test_fronts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
