/* SPDX-License-Identifier: MIT */
/*
 * unit/os/instrument/memcheck_test.c - what the functions for valgrind and
 * AddressSanitizer say, where these are
 *
 * Here the program is uninstrumented: the two functions of AddressSanitizer are the test's own.
 * What valgrind makes of its requests is seen in tests/tools/instrument_test.py.
 *
 * ctest: sanitize=no
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "os/instrument/memcheck.h"

static char place[64] __attribute__((aligned(8)));
static bool hidden[64]; /* bytes of place that are poisoned */
static const void *root;

void __asan_poison_memory_region(const volatile void *p, size_t size);
void __asan_unpoison_memory_region(const volatile void *p, size_t size);
void __lsan_register_root_region(const void *p, size_t size);

static void set(const volatile void *p, size_t size, bool value)
{
	size_t at = (size_t)((const volatile char *)p - place);

	assert_true(at <= sizeof(place) && size <= sizeof(place) - at);
	memset(hidden + at, value, size);
}

void __asan_poison_memory_region(const volatile void *p, size_t size)
{
	set(p, size, true);
}

void __asan_unpoison_memory_region(const volatile void *p, size_t size)
{
	set(p, size, false);
}

void __lsan_register_root_region(const void *p, size_t size)
{
	assert_int_equal(size, 64);
	root = p;
}

/* From and to of the only hidden part; (0, 0): none. */
static void assert_hidden(size_t from, size_t to)
{
	for (size_t i = 0; i < sizeof(place); i++)
		assert_int_equal(hidden[i], i >= from && i < to);
}

static void declined_it_is_not_there(void **state)
{
	(void)state;
	os_memcheck_declined = true;
	os_memcheck_init(false, true);
	assert_false(os_memcheck_on);
	os_memcheck_declined = false;
	os_memcheck_init(false, false);
	assert_false(os_memcheck_on);
	os_memcheck_close(place, 64, OS_HIDE_FROM_ALL);
	assert_hidden(0, 0);
}

static void free_objects_are_hidden(void **state)
{
	(void)state;
	os_memcheck_init(false, true);
	assert_true(os_memcheck_on);
	os_memcheck_close(place, 64, OS_HIDE_FROM_ALL);
	assert_hidden(0, 64);
	os_memcheck_forget(place, 64);
	assert_hidden(0, 0);
	os_memcheck_pool_alloc(place, place, 20, 32, false);
	assert_hidden(20, 32);
	os_memcheck_pool_whole(place, place, 32);
	assert_hidden(0, 0);
	os_memcheck_pool_free(place, place, 32, OS_HIDE_FROM_ALL);
	assert_hidden(0, 32);
	os_memcheck_pool_free(place, place, 32, OS_HIDE_FROM_VALGRIND);
	assert_hidden(0, 0);
	os_memcheck_pool_free(place, place, 32, OS_HIDE_FROM_NOBODY);
	assert_hidden(0, 0);
}

static void blocks_end_where_they_end(void **state)
{
	(void)state;
	os_memcheck_init(false, true);
	os_memcheck_block_alloc(place, 40, 64, true);
	assert_hidden(40, 64);
	os_memcheck_block_whole(place, 64);
	assert_hidden(0, 0);
	os_memcheck_block_alloc(place, 8, 64, false);
	os_memcheck_block_free(place, 64);
	assert_hidden(0, 0);
}

static void roots_are_named(void **state)
{
	(void)state;
	os_memcheck_add_roots(place, 64);
	assert_ptr_equal(root, place);
}

static void enter_and_leave_nest(void **state)
{
	(void)state;
	os_memcheck_enter();
	os_memcheck_enter();
	os_memcheck_leave();
	os_memcheck_leave();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(declined_it_is_not_there),
		cmocka_unit_test(free_objects_are_hidden),
		cmocka_unit_test(blocks_end_where_they_end),
		cmocka_unit_test(roots_are_named),
		cmocka_unit_test(enter_and_leave_nest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
