/* SPDX-License-Identifier: MIT */
/*
 * cmocka.h - what the tests use of cmocka, for targets for which it is not installed
 *
 * The same names, meanings and exit status as cmocka's own header (https://api.cmocka.org),
 * so that a test does not see which of the two it was built with. Assertions work in the
 * thread that runs the test.
 */
#ifndef TESTS_CMOCKA_H
#define TESTS_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

typedef unsigned long long LargestIntegralType;
typedef void (*CMUnitTestFunction)(void **state);
typedef int (*CMFixtureFunction)(void **state);

struct CMUnitTest {
	const char *name;
	CMUnitTestFunction test_func;
	CMFixtureFunction setup_func;
	CMFixtureFunction teardown_func;
	void *initial_state;
};

/* clang-format off */
#define cmocka_unit_test(f) { #f, f, NULL, NULL, NULL }
#define cmocka_unit_test_setup(f, setup) { #f, f, setup, NULL, NULL }
#define cmocka_unit_test_teardown(f, teardown) { #f, f, NULL, teardown, NULL }
#define cmocka_unit_test_setup_teardown(f, setup, teardown) { #f, f, setup, teardown, NULL }
#define cmocka_unit_test_prestate(f, state) { #f, f, NULL, NULL, state }
#define cmocka_unit_test_prestate_setup_teardown(f, setup, teardown, state) \
	{ #f, f, setup, teardown, state }
/* clang-format on */

/* Returns the number of tests that failed, those whose setup did among them. */
int _cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t nr_tests,
			    CMFixtureFunction setup, CMFixtureFunction teardown);
#define cmocka_run_group_tests(tests, setup, teardown) \
	_cmocka_run_group_tests(#tests, tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown)
#define cmocka_run_group_tests_name(name, tests, setup, teardown) \
	_cmocka_run_group_tests(name, tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown)

/* Only tests whose name matches the shell's pattern run. */
void cmocka_set_test_filter(const char *pattern);

void print_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
void print_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- what the macros below call ---- */

void _fail(const char *file, int line) __attribute__((noreturn));
void _skip(const char *file, int line) __attribute__((noreturn));
void _assert_true(LargestIntegralType value, const char *text, const char *file, int line);
void _assert_int(LargestIntegralType a, LargestIntegralType b, int equal, const char *file,
		 int line);
void _assert_string(const char *a, const char *b, int equal, const char *file, int line);
void _assert_memory(const void *a, const void *b, size_t size, int equal, const char *file,
		    int line);
void _assert_range(LargestIntegralType value, LargestIntegralType low, LargestIntegralType high,
		   int inside, const char *file, int line);

#define cast_to_largest_integral_type(value) ((LargestIntegralType)(value))
#define cast_ptr_to_largest_integral_type(p) ((LargestIntegralType)(uintptr_t)(p))

#define fail() _fail(__FILE__, __LINE__)
#define fail_msg(...)                               \
	do {                                        \
		print_error("ERROR: " __VA_ARGS__); \
		print_error("\n");                  \
		fail();                             \
	} while (0)
#define skip() _skip(__FILE__, __LINE__)

#define assert_true(c) _assert_true(cast_to_largest_integral_type(c), #c, __FILE__, __LINE__)
#define assert_false(c) _assert_true(!(c), "!(" #c ")", __FILE__, __LINE__)
#define assert_non_null(p) _assert_true((p) != NULL, #p, __FILE__, __LINE__)
#define assert_null(p) _assert_true((p) == NULL, "!(" #p ")", __FILE__, __LINE__)
#define assert_int_equal(a, b)                                                             \
	_assert_int(cast_to_largest_integral_type(a), cast_to_largest_integral_type(b), 1, \
		    __FILE__, __LINE__)
#define assert_int_not_equal(a, b)                                                         \
	_assert_int(cast_to_largest_integral_type(a), cast_to_largest_integral_type(b), 0, \
		    __FILE__, __LINE__)
#define assert_ptr_equal(a, b)                                                                     \
	_assert_int(cast_ptr_to_largest_integral_type(a), cast_ptr_to_largest_integral_type(b), 1, \
		    __FILE__, __LINE__)
#define assert_ptr_not_equal(a, b)                                                                 \
	_assert_int(cast_ptr_to_largest_integral_type(a), cast_ptr_to_largest_integral_type(b), 0, \
		    __FILE__, __LINE__)
#define assert_string_equal(a, b) _assert_string(a, b, 1, __FILE__, __LINE__)
#define assert_string_not_equal(a, b) _assert_string(a, b, 0, __FILE__, __LINE__)
#define assert_memory_equal(a, b, size) _assert_memory(a, b, size, 1, __FILE__, __LINE__)
#define assert_memory_not_equal(a, b, size) _assert_memory(a, b, size, 0, __FILE__, __LINE__)
#define assert_in_range(value, low, high)                                                       \
	_assert_range(cast_to_largest_integral_type(value), cast_to_largest_integral_type(low), \
		      cast_to_largest_integral_type(high), 1, __FILE__, __LINE__)
#define assert_not_in_range(value, low, high)                                                   \
	_assert_range(cast_to_largest_integral_type(value), cast_to_largest_integral_type(low), \
		      cast_to_largest_integral_type(high), 0, __FILE__, __LINE__)

#endif /* TESTS_CMOCKA_H */
