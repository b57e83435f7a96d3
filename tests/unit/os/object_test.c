/* SPDX-License-Identifier: MIT */
/*
 * unit/os/object_test.c - the program and its libraries by address
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "os/object.h"

static void test_program(void **state)
{
	struct os_object object;

	(void)state;
	assert_true(os_object_find((uintptr_t)test_program, &object));
	assert_string_equal(object.path, "");
	assert_in_range((uintptr_t)test_program, (uintptr_t)object.start,
			(uintptr_t)object.end - 1);
	assert_non_null(object.eh_frame);
}

static void test_library(void **state)
{
	struct os_object object;
	Dl_info info;

	(void)state;
	assert_true(os_object_find((uintptr_t)qsort, &object));
	assert_true(dladdr((void *)qsort, &info));
	assert_string_equal(object.path, info.dli_fname);
	assert_ptr_equal(object.start, info.dli_fbase);
	assert_ptr_equal((void *)object.bias, info.dli_fbase);
}

static void test_none(void **state)
{
	struct os_object object;

	(void)state;
	assert_false(os_object_find(0, &object));
	assert_false(os_object_find((uintptr_t)&object, &object));
	assert_false(os_object_find(UINTPTR_MAX, &object));
}

static void test_copy(void **state)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char copy[16];

	(void)state;
	assert_ptr_not_equal(pages, MAP_FAILED);
	memset(pages, 'x', 4096);
	assert_int_equal(munmap(pages + 4096, 4096), 0);
	assert_true(os_object_copy(copy, pages + 4080, 16));
	assert_memory_equal(copy, "xxxxxxxxxxxxxxxx", 16);
	assert_false(os_object_copy(copy, pages + 4081, 16));
	assert_false(os_object_copy(copy, NULL, 1));
	munmap(pages, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_library),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
