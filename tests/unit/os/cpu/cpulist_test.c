/* SPDX-License-Identifier: MIT */
/*
 * unit/os/cpu/cpulist_test.c - "0-3,8,10-11"
 *
 * Good lists give their ranges in order; bad ones an error and no endless loop.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "os/cpu/cpulist.h"

/* Prints the ranges back as "0..3 8..8 " and returns the last result. */
static int ranges(const char *list, char *buf, size_t size)
{
	unsigned int first;
	unsigned int last;
	size_t len = 0;
	int ret;

	buf[0] = '\0';
	while ((ret = os_cpulist_next(&list, &first, &last)) > 0)
		len += (size_t)snprintf(buf + len, size - len, "%u..%u ", first, last);
	return ret;
}

static void test_ranges(void **state)
{
	static const struct {
		const char *list;
		const char *result;
	} cases[] = {
		{ "0", "0..0 " },
		{ "0\n", "0..0 " },
		{ "0-1\n", "0..1 " },
		{ "0-3,8,10-11\n", "0..3 8..8 10..11 " },
		{ "7-7", "7..7 " },
		{ "8,0", "8..8 0..0 " },
		{ "1000000", "1000000..1000000 " },
		{ "0,", "0..0 " },
		{ "", "" },
		{ "\n", "" },
	};
	char buf[128];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(ranges(cases[i].list, buf, sizeof(buf)), 0);
		assert_string_equal(buf, cases[i].result);
	}
}

static void test_malformed(void **state)
{
	static const char *const lists[] = { "a",
					     "-1",
					     "1-",
					     "3-1",
					     "1,,2",
					     "1 2",
					     "1;2",
					     "0-3:1",
					     "1000001",
					     "4294967296",
					     ",",
					     "0-x",
					     "99999999999999999999" };
	const char *text = "5,x";
	unsigned int first;
	unsigned int last;
	char buf[128];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		assert_int_equal(ranges(lists[i], buf, sizeof(buf)), -EINVAL);
	assert_int_equal(os_cpulist_next(&text, &first, &last), 1);
	assert_int_equal(first, 5);
	assert_int_equal(os_cpulist_next(&text, &first, &last), -EINVAL);
	assert_string_equal(text, "x");
}

static void test_measure(void **state)
{
	unsigned int highest;
	unsigned int count;

	(void)state;
	assert_int_equal(os_cpulist_measure("0-3,8,10-11\n", &highest, &count), 0);
	assert_int_equal(highest, 11);
	assert_int_equal(count, 7);
	assert_int_equal(os_cpulist_measure("9,2-3", &highest, &count), 0);
	assert_int_equal(highest, 9);
	assert_int_equal(count, 3);
	assert_int_equal(os_cpulist_measure("0", &highest, &count), 0);
	assert_int_equal(highest, 0);
	assert_int_equal(count, 1);
	assert_int_equal(os_cpulist_measure("", &highest, &count), -EINVAL);
	assert_int_equal(os_cpulist_measure("\n", &highest, &count), -EINVAL);
	assert_int_equal(os_cpulist_measure("0-1,x", &highest, &count), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_measure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
