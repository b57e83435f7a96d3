/* SPDX-License-Identifier: MIT */
/*
 * unit/os/instrument/sanitizer_test.c - what the functions say to ThreadSanitizer and
 * MemorySanitizer, where these are
 *
 * Here the program is uninstrumented: the functions of the sanitizers are the test's own. What the
 * real ones make of it is seen in tests/tools/instrument_test.py.
 *
 * ctest: sanitize=no
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "os/instrument/sanitizer.h"

#define PAGES 4

static char block[PAGES * PAGE_SIZE] __attribute__((aligned(PAGE_SIZE)));
static void *released[PAGES];
static void *acquired[PAGES];
static unsigned int nr_released, nr_acquired;
static int ignored, unchecked; /* depths */
static size_t written, undefined, defined;

void __tsan_acquire(void *place);
void __tsan_release(void *place);
void __tsan_write_range(void *p, long size);
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
void __msan_allocated_memory(const volatile void *p, size_t size);
void __msan_unpoison(const volatile void *p, size_t size);
void __msan_scoped_disable_interceptor_checks(void);
void __msan_scoped_enable_interceptor_checks(void);

static void assert_inside(const volatile void *p, size_t size)
{
	const volatile char *from = p;

	assert_true(from >= block && from + size <= block + sizeof(block));
}

void __tsan_acquire(void *place)
{
	assert_true(nr_acquired < PAGES);
	acquired[nr_acquired++] = place;
}

void __tsan_release(void *place)
{
	assert_true(nr_released < PAGES);
	released[nr_released++] = place;
}

void __tsan_write_range(void *p, long size)
{
	assert_inside(p, (size_t)size);
	written += (size_t)size;
}

void AnnotateIgnoreReadsBegin(const char *file, int line)
{
	assert_true(file && line);
	ignored++;
}

void AnnotateIgnoreReadsEnd(const char *file, int line)
{
	assert_true(file && line);
	ignored--;
}

void AnnotateIgnoreWritesBegin(const char *file, int line)
{
	AnnotateIgnoreReadsBegin(file, line);
}

void AnnotateIgnoreWritesEnd(const char *file, int line)
{
	AnnotateIgnoreReadsEnd(file, line);
}

void __msan_allocated_memory(const volatile void *p, size_t size)
{
	assert_inside(p, size);
	undefined += size;
}

void __msan_unpoison(const volatile void *p, size_t size)
{
	assert_inside(p, size);
	defined += size;
}

void __msan_scoped_disable_interceptor_checks(void)
{
	unchecked++;
}

void __msan_scoped_enable_interceptor_checks(void)
{
	unchecked--;
}

static int begin(void **state)
{
	(void)state;
	nr_released = nr_acquired = 0;
	written = undefined = defined = 0;
	return os_sanitizer_init(true) ? 0 : -1;
}

static void declined_they_hear_nothing(void **state)
{
	(void)state;
	assert_false(os_sanitizer_init(false));
	os_sanitizer_enter();
	os_sanitizer_give(block, 64, true);
	os_sanitizer_take(block, 64, 64, false);
	os_sanitizer_wrote(block, 64);
	assert_int_equal(ignored + unchecked, 0);
	os_sanitizer_leave();
	assert_int_equal(nr_released + nr_acquired, 0);
	assert_int_equal(written + undefined + defined, 0);
}

/* Who takes any part of a page comes after those who gave any part of it back. */
static void pages_are_handed_on(void **state)
{
	(void)state;
	os_sanitizer_give(block, 64, true);
	assert_int_equal(nr_released, 1);
	os_sanitizer_take(block + 100, 20, 3000, false);
	assert_int_equal(nr_acquired, 1);
	assert_ptr_equal(acquired[0], released[0]);
}

/* The whole place counts, not only what was asked for: the rest may be used later. */
static void all_of_its_pages(void **state)
{
	(void)state;
	os_sanitizer_take(block + PAGE_SIZE - 8, 8, 2 * PAGE_SIZE, true);
	assert_int_equal(nr_acquired, 3);
	os_sanitizer_give(block, sizeof(block), false);
	assert_int_equal(nr_released, PAGES);
	for (unsigned int i = 0; i < 3; i++)
		assert_ptr_equal(acquired[i], released[i]);
	assert_ptr_not_equal(released[0], released[1]);
	os_sanitizer_take(block, 0, 0, true);
	assert_int_equal(nr_acquired, 4);
}

static void bytes_hold_something_or_nothing(void **state)
{
	(void)state;
	os_sanitizer_take(block, 40, 64, false);
	assert_true(undefined == 40 && defined == 0);
	os_sanitizer_take(block, 40, 64, true);
	assert_true(undefined == 40 && defined == 40);
	os_sanitizer_wrote(block, 16);
	assert_int_equal(defined, 56);
	os_sanitizer_give(block, 64, true);
	assert_true(undefined == 104 && written == 64);
	os_sanitizer_give(block, 64, false); /* keeps its bytes */
	assert_true(undefined == 104 && written == 64);
}

static void enter_and_leave_nest(void **state)
{
	(void)state;
	os_sanitizer_enter();
	os_sanitizer_enter();
	assert_true(ignored == 4 && unchecked == 2);
	os_sanitizer_leave();
	os_sanitizer_leave();
	assert_true(ignored == 0 && unchecked == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(declined_they_hear_nothing),
		cmocka_unit_test_setup(pages_are_handed_on, begin),
		cmocka_unit_test_setup(all_of_its_pages, begin),
		cmocka_unit_test_setup(bytes_hold_something_or_nothing, begin),
		cmocka_unit_test_setup(enter_and_leave_nest, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
