/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/json_values_test.c - values arrive in JSON, and what could not be made is not printed
 */
#include "json_values.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What json_print() writes of the whole. */
static int print(char **text, json_object *whole, bool failed)
{
	size_t size;
	FILE *out = open_memstream(text, &size);
	int err;

	assert_non_null(out);
	err = json_print(out, whole, JSON_C_TO_STRING_PLAIN, failed);
	fclose(out);
	return err;
}

static void test_values(void **state)
{
	json_object *whole = json_object_new_object();
	json_object *array = json_object_new_array();
	bool failed = false;
	char *text;

	(void)state;
	json_append(array, json_new_decimal(1.25, 1), &failed);
	json_append(array, json_new_decimal(7, 3), &failed);
	json_append(array, json_new_address(0xffff888100000000), &failed);
	json_add(whole, "array", array, &failed);
	json_add_null(whole, "nothing", &failed);
	assert_false(failed);
	assert_int_equal(print(&text, whole, failed), 0);
	assert_string_equal(text,
			    "{\"array\":[1.2,7.000,\"0xffff888100000000\"],\"nothing\":null}\n");
	free(text);
}

static void test_no_number(void **state)
{
	(void)state;
	assert_null(json_new_decimal(NAN, 1));
	assert_null(json_new_decimal(INFINITY, 1));
	assert_null(json_new_decimal(-INFINITY, 1));
}

/* As where memory is short: each of the steps fails, and nothing is printed. */
static void test_failures(void **state)
{
	json_object *object = json_object_new_object();
	json_object *array = json_object_new_array();
	bool failed[6] = { false };
	char *text;

	(void)state;
	json_add(object, "key", NULL, &failed[0]);
	json_add(NULL, "key", json_object_new_int(1), &failed[1]);
	json_add_null(NULL, "key", &failed[2]);
	json_append(array, NULL, &failed[3]);
	json_append(NULL, json_object_new_int(1), &failed[4]);
	for (int i = 0; i < 5; i++)
		assert_true(failed[i]);
	assert_int_equal(json_object_object_length(object), 0);
	assert_int_equal(json_object_array_length(array), 0);
	json_add(object, "array", array, &failed[5]);
	assert_false(failed[5]);
	assert_int_equal(print(&text, object, true), -ENOMEM);
	assert_string_equal(text, "");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_no_number),
		cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
