/* SPDX-License-Identifier: MIT */
/*
 * unit/os/symbol/pin_test.c - objects that dlclose() leaves where they are
 */
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "os/symbol/pin.h"
#include "plug_in.h"

static bool is_loaded(void)
{
	void *handle = dlopen(USLAB_TEST_PLUG_IN, RTLD_LAZY | RTLD_NOLOAD);

	if (handle)
		dlclose(handle);
	return handle;
}

static void open_and_close(bool pin)
{
	void *handle = dlopen(USLAB_TEST_PLUG_IN, RTLD_LAZY);

	if (!handle)
		fail_msg("%s", dlerror());
	if (pin)
		assert_true(os_pin_object(dlsym(handle, PLUG_IN_FUNCTION)));
	assert_int_equal(dlclose(handle), 0);
}

static void test_library(void **state)
{
	(void)state;
	open_and_close(false);
#ifdef __GLIBC__ /* other libcs unload nothing */
	assert_false(is_loaded());
#endif
	open_and_close(true);
	assert_true(is_loaded());
	open_and_close(true); /* a second time changes nothing */
	assert_true(is_loaded());
}

static void test_program(void **state)
{
	(void)state;
	assert_true(os_pin_object((void *)test_program));
}

static void test_nothing(void **state)
{
	int local;

	(void)state;
	errno = 77;
	assert_false(os_pin_object(NULL));
	assert_false(os_pin_object(&local));
	assert_int_equal(errno, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_library),
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
