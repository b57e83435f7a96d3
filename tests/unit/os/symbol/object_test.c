/* SPDX-License-Identifier: MIT */
/*
 * unit/os/symbol/object_test.c - the program and its libraries by address
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "os/symbol/object.h"
#include "plug_in.h"
#include "objects.h"

static void test_program(void **state)
{
	struct os_object object;
	struct os_object_file file;

	(void)state;
	NEEDS_OBJECTS();
	assert_true(os_object_find((uintptr_t)test_program, &object));
	assert_true(os_object_file(&object, &file));
	assert_string_equal(file.path, "");
	assert_in_range((uintptr_t)test_program, (uintptr_t)object.start,
			(uintptr_t)object.end - 1);
	assert_non_null(object.eh_frame);
}

static void test_library(void **state)
{
	struct os_object object;
	struct os_object_file file;
	Dl_info info;

	(void)state;
	NEEDS_OBJECTS();
	assert_true(os_object_find((uintptr_t)qsort, &object));
	assert_true(dladdr((void *)qsort, &info));
	assert_true(os_object_file(&object, &file));
	assert_string_equal(file.path, info.dli_fname);
	assert_ptr_equal(object.start, info.dli_fbase);
	assert_ptr_equal((void *)file.bias, info.dli_fbase);
}

static void test_none(void **state)
{
	struct os_object object;

	(void)state;
	assert_false(os_object_find(0, &object));
	assert_false(os_object_find((uintptr_t)&object, &object));
	assert_false(os_object_find(UINTPTR_MAX, &object));
}

static void test_no_file(void **state)
{
	struct os_object object;
	struct os_object_file file;
	void *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	NEEDS_OBJECTS();
	assert_true(os_object_find((uintptr_t)qsort, &object));
	assert_true(os_object_is_loaded(&object));
	object.map = gone;
	assert_false(os_object_file(&object, &file));
	assert_false(os_object_is_loaded(&object));
	assert_true(os_object_find((uintptr_t)qsort, &object));
	object.start = gone;
	assert_false(os_object_file(&object, &file));
	munmap(gone, 4096);
}

/* What is found may have gone before its file is asked for; what does not go is always there. */
static enum plug_in_look look_up(uintptr_t address)
{
	struct os_object object;
	struct os_object_file file;
	enum plug_in_look look = PLUG_IN_GONE;

	if (os_object_find(address, &object) && os_object_file(&object, &file))
		look = strstr(file.path, PLUG_IN) ? PLUG_IN_THERE : PLUG_IN_OTHER;
	CHILD_CHECK(os_object_find((uintptr_t)qsort, &object) && os_object_file(&object, &file));
	CHILD_CHECK(os_object_find((uintptr_t)look_up, &object) && os_object_file(&object, &file));
	CHILD_CHECK(!file.path[0]);
	CHILD_CHECK(!os_object_find((uintptr_t)&object, &object));
	return look;
}

IN_CHILD(test_unloaded_meanwhile)
{
	child_needs_objects();
	plug_in_meanwhile(look_up);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_library),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_no_file),
		cmocka_unit_test(test_unloaded_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
