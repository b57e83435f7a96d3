/* SPDX-License-Identifier: MIT */
/*
 * cmocka.c - runs a group of tests; see cmocka.h
 *
 * A test that fails or is skipped leaves by longjmp. Signals are not caught: a test that crashes
 * ends the program, which is a failure.
 */
#include "cmocka.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

enum outcome { PASSED, FAILED, SKIPPED };

static jmp_buf leave;
static const char *filter;

static void print(const char *format, va_list arguments)
{
	vfprintf(stderr, format, arguments);
	fflush(stderr);
}

void print_message(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print(format, arguments);
	va_end(arguments);
}

void print_error(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print(format, arguments);
	va_end(arguments);
}

void cmocka_set_test_filter(const char *pattern)
{
	filter = pattern;
}

void _fail(const char *file, int line)
{
	print_error("%s:%d: error: Failure!\n", file, line);
	longjmp(leave, FAILED);
}

void _skip(const char *file, int line)
{
	(void)file, (void)line;
	longjmp(leave, SKIPPED);
}

void _assert_true(LargestIntegralType value, const char *text, const char *file, int line)
{
	if (value)
		return;
	print_error("%s\n", text);
	_fail(file, line);
}

void _assert_int(LargestIntegralType a, LargestIntegralType b, int equal, const char *file,
		 int line)
{
	if ((a == b) == equal)
		return;
	print_error("%#llx %s %#llx\n", a, equal ? "!=" : "==", b);
	_fail(file, line);
}

void _assert_string(const char *a, const char *b, int equal, const char *file, int line)
{
	if ((strcmp(a, b) == 0) == equal)
		return;
	print_error("\"%s\" %s \"%s\"\n", a, equal ? "!=" : "==", b);
	_fail(file, line);
}

void _assert_memory(const void *a, const void *b, size_t size, int equal, const char *file,
		    int line)
{
	const unsigned char *x = a;
	const unsigned char *y = b;

	if ((memcmp(a, b, size) == 0) == equal)
		return;
	for (size_t i = 0; equal && i < size; i++) {
		if (x[i] != y[i])
			print_error("byte %zu: %#x != %#x\n", i, x[i], y[i]);
	}
	_fail(file, line);
}

void _assert_range(LargestIntegralType value, LargestIntegralType low, LargestIntegralType high,
		   int inside, const char *file, int line)
{
	if ((value >= low && value <= high) == inside)
		return;
	print_error("%llu is %swithin %llu..%llu\n", value, inside ? "not " : "", low, high);
	_fail(file, line);
}

static enum outcome run(const struct CMUnitTest *test, void **state)
{
	volatile enum outcome outcome = (enum outcome)setjmp(leave);

	if (outcome != PASSED)
		return outcome;
	if (test->setup_func && test->setup_func(state)) {
		print_error("%s: the setup failed\n", test->name);
		return FAILED;
	}
	/* What leaves the test comes here; what leaves the teardown too, and has failed. */
	outcome = (enum outcome)setjmp(leave);
	if (outcome == PASSED)
		test->test_func(state);
	if (setjmp(leave) != 0)
		return FAILED;
	if (test->teardown_func && test->teardown_func(state)) {
		print_error("%s: the teardown failed\n", test->name);
		return FAILED;
	}
	return outcome;
}

static int group_fixture(CMFixtureFunction fixture, void **state)
{
	if (!fixture)
		return 0;
	return setjmp(leave) != 0 || fixture(state) != 0;
}

int _cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t nr_tests,
			    CMFixtureFunction setup, CMFixtureFunction teardown)
{
	static const char *const words[] = { "       OK", "  FAILED ", "  SKIPPED" };
	unsigned int count[3] = { 0 };
	void *group_state = NULL;

	print_message("[==========] %s: Running %zu test(s).\n", group, nr_tests);
	if (group_fixture(setup, &group_state)) {
		print_error("[  FAILED  ] %s: the setup of the group failed\n", group);
		return (int)nr_tests;
	}
	for (size_t i = 0; i < nr_tests; i++) {
		void *state = tests[i].initial_state ? tests[i].initial_state : group_state;
		enum outcome outcome;

		if (filter && fnmatch(filter, tests[i].name, 0) != 0)
			continue;
		print_message("[ RUN      ] %s\n", tests[i].name);
		outcome = run(&tests[i], &state);
		count[outcome]++;
		print_message("[%s ] %s\n", words[outcome], tests[i].name);
	}
	count[FAILED] += (unsigned int)group_fixture(teardown, &group_state);
	print_message("[==========] %s: %u passed, %u failed, %u skipped.\n", group, count[PASSED],
		      count[FAILED], count[SKIPPED]);
	return count[FAILED] > 255 ? 255 : (int)count[FAILED];
}
