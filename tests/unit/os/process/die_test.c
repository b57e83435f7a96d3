/* SPDX-License-Identifier: MIT */
/*
 * unit/os/process/die_test.c - the line on stderr, and the end by abort()
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "child.h"
#include "os/process/die.h"

static void die_assertion(void *arg)
{
	(void)arg;
	os_die("page/buddy.c", 42, "a == b");
}

static void die_formatted(void *arg)
{
	os_die_fmt("double free of %p in %s", arg, "kmalloc-64");
}

static void die_check(void *arg)
{
	CHECK(arg != NULL);
}

static void test_die(void **state)
{
	struct child c = child_run(die_assertion, NULL);

	(void)state;
	assert_true(child_aborted(&c));
	assert_string_equal(c.text, "uslab: page/buddy.c:42: assertion failed: a == b\n");

	c = child_run(die_formatted, (void *)0x1230);
	assert_true(child_aborted(&c));
	assert_string_equal(c.text, "uslab: double free of 0x1230 in kmalloc-64\n");

	c = child_run(die_check, NULL);
	assert_true(child_aborted(&c));
	assert_non_null(strstr(c.text, "die_test.c:"));
	assert_non_null(strstr(c.text, ": assertion failed: arg != NULL\n"));

	c = child_run(die_check, &c);
	assert_true(child_passed(&c));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_die) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
