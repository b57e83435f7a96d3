/* SPDX-License-Identifier: MIT */
/*
 * unit/malloc/load_test.c - dlopen() of the drop-in
 *
 * ctest: sanitize=no (the sanitizers have a dlopen() of their own)
 *
 * What a library finds that is loaded with the flag: tests/programs/dlopen_test.py.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cache/cache.h"
#include "child.h"
#include "os/symbol/symbol.h"

#ifdef RTLD_DEEPBIND
#define FLAG RTLD_DEEPBIND
#else
#define FLAG 0
#endif

static void test_as_the_systems(void **state)
{
	static const int modes[] = { RTLD_NOW, RTLD_LAZY | RTLD_GLOBAL, RTLD_NOW | FLAG };
	const char *error;

	(void)state;
	for (unsigned int i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		void *program = dlopen(NULL, modes[i]);

		assert_non_null(program);
		assert_int_equal(dlclose(program), 0);
		assert_null(dlopen("/nonexistent/uslab.so", modes[i]));
		error = dlerror();
		assert_non_null(error);
		assert_non_null(strstr(error, "/nonexistent/uslab.so"));
		assert_null(dlerror());
	}
}

IN_CHILD(test_option)
{
	CHILD_CHECK(!os_keep_deepbind);
	CHILD_CHECK(cache_set_option("deepbind", "", NULL) && os_keep_deepbind);
	CHILD_CHECK(cache_set_option("deepbind", "0", NULL) && !os_keep_deepbind);
	CHILD_CHECK(cache_set_option("deepbind", "1", NULL) && os_keep_deepbind);
	CHILD_CHECK(!cache_set_option("deepbind", "2", NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_the_systems),
		cmocka_unit_test(test_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
