/* SPDX-License-Identifier: MIT */
/*
 * unit/os/symbol/symbol_test.c - functions of other libraries, found by name
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "os/symbol/symbol.h"

static void test_of_later_library(void **state)
{
	size_t (*length)(const char *) = os_symbol("strlen", (void *)test_of_later_library);

	(void)state;
	assert_non_null(length);
	assert_int_equal(length("four"), 4);
}

static void test_not_there(void **state)
{
	(void)state;
	errno = 77;
	assert_null(os_symbol("no_such_function_anywhere", (void *)test_not_there));
	assert_null(os_symbol("no_such_function_anywhere", NULL));
	assert_null(os_symbol("no_such_function_anywhere", state)); /* no library's code */
	assert_int_equal(errno, 77);
}

/* What the program has itself comes first, else the first library that has it. */
static void test_global(void **state)
{
	size_t (*length)(const char *) = os_symbol_global("strlen");

	(void)state;
	assert_int_equal(length("four"), 4);
	errno = 77;
	assert_null(os_symbol_global("no_such_function_anywhere"));
	assert_int_equal(errno, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_of_later_library),
		cmocka_unit_test(test_not_there),
		cmocka_unit_test(test_global),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
