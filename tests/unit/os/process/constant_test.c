/* SPDX-License-Identifier: MIT */
/*
 * unit/os/process/constant_test.c - constants of the program, and what is none
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "os/process/constant.h"

static const char table[] = "a table";
static char variable[] = "a variable";
static char nothing[100];

static void test_program(void **state)
{
	const char *literal = "a literal";

	(void)state;
	assert_true(os_is_constant(literal));
	assert_true(os_is_constant(literal + strlen(literal)));
	assert_true(os_is_constant(table));
	assert_true(os_is_constant((const void *)test_program));
}

static void test_variables(void **state)
{
	char local[] = "on the stack";
	char *heap = malloc(100);

	(void)state;
	assert_non_null(heap);
	assert_false(os_is_constant(variable));
	assert_false(os_is_constant(nothing));
	assert_false(os_is_constant(local));
	assert_false(os_is_constant(heap));
	free(heap);
}

/* An address of no program: no sum of it and a segment's wraps around. */
static void test_nowhere(void **state)
{
	(void)state;
	assert_false(os_is_constant(NULL));
	assert_false(os_is_constant((const void *)16));
	assert_false(os_is_constant((const void *)UINTPTR_MAX));
	assert_false(os_is_constant((const void *)((uintptr_t)1 << 62)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_variables),
		cmocka_unit_test(test_nowhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
