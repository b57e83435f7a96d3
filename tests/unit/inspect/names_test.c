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

/* cpuslab and what is over it are SLUB's; all other fronts go with every engine. */
static void test_pairs(void **state)
{
	(void)state;
	for (unsigned int e = 0; names_engine(e); e++)
		for (unsigned int f = 0; names_front(f); f++) {
			bool slubs = !strcmp(names_front(f), "cpuslab") ||
				     !strcmp(names_front(f), "sheaves:6.18");

			assert_int_equal(names_go_together(names_engine(e), names_front(f)),
					 !slubs || !strcmp(names_engine(e), "slub"));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_engines),
		cmocka_unit_test(test_fronts),
		cmocka_unit_test(test_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
