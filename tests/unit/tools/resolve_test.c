/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/resolve_test.c - names of code addresses of this process
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "resolve.h"

/* An address in it, behind a call. */
static uint64_t __attribute__((noinline)) here(void)
{
	return (uintptr_t)__builtin_return_address(0);
}

static void test_function(void **state)
{
	struct resolve *r = resolve_process(getpid());
	uint64_t address = here();
	const struct resolve_name *name;
	char text[64];

	(void)state;
	assert_non_null(r);
	name = resolve_address(r, address);
	assert_string_equal(name->function, "test_function");
	assert_string_equal(name->object, "resolve_test");
	assert_int_equal(name->offset, address - (uintptr_t)test_function);
	assert_true(name->size >= name->offset);
	snprintf(text, sizeof(text), "test_function+0x%" PRIx64 "/0x%" PRIx64 " [resolve_test]",
		 name->offset, name->size);
	assert_string_equal(name->text, text);
	assert_ptr_equal(resolve_address(r, address), name); /* kept */
	resolve_close(r);
}

/* Builds have debug information; a stripped one says so by an empty file. */
static void test_line(void **state)
{
	struct resolve *r = resolve_process(getpid());
	const struct resolve_name *name = resolve_address(r, here());
	unsigned int line = __LINE__ - 1;
	char text[64], expected[64];

	(void)state;
	if (!name->line)
		skip();
	assert_int_equal(name->line, line);
	snprintf(expected, sizeof(expected), "resolve_test.c:%u", line);
	assert_string_equal(resolve_line(name, text, sizeof(text)), expected);
	assert_string_equal(resolve_line(name, text, 5), "reso");
	resolve_close(r);
}

static void test_unknown(void **state)
{
	struct resolve *r = resolve_process(getpid());
	char text[64];
	const struct resolve_name *name = resolve_address(r, 0x1234);

	(void)state;
	assert_string_equal(name->text, "0x1234");
	assert_string_equal(name->function, "");
	assert_string_equal(name->object, "");
	assert_string_equal(resolve_line(name, text, sizeof(text)), "");
	assert_string_equal(resolve_address(r, 0)->text, "<not-available>");
	assert_string_equal(resolve_address(r, UINT64_MAX)->function, "");
	for (uint64_t i = 1; i < 5000; i++) /* more than there are slots at first */
		assert_int_equal(strtoull(resolve_address(r, i)->text, NULL, 16), i);
	resolve_close(r);
}

/* No symbol is there: what a person needs to find one later. */
static void test_no_symbol(void **state)
{
	static const char *volatile literal = "a text has no name";
	struct resolve *r = resolve_process(getpid());
	uint64_t address = (uintptr_t)literal;
	const struct resolve_name *name = resolve_address(r, address + 1);
	char text[512];
	int len;

	(void)state;
	assert_string_equal(name->function, "");
	assert_string_equal(name->object, "resolve_test");
	assert_true(name->mapping.path[0] == '/');
	assert_int_equal(name->mapping.address % 4096, address % 4096);
	assert_true(name->mapping.start <= address && address < name->mapping.end);
	len = snprintf(text, sizeof(text), "%s+0x%" PRIx64, name->mapping.path,
		       name->mapping.address);
	if (*name->mapping.build_id)
		snprintf(text + len, sizeof(text) - (size_t)len, " (build-id %s)",
			 name->mapping.build_id);
	assert_string_equal(name->text, text);
	assert_false(name->own || name->library);
	resolve_close(r);
}

static void test_loaded_later(void **state)
{
	struct resolve *r = resolve_process(getpid());
	void *library;
	uint64_t address;

	(void)state;
	library = dlopen("libresolv.so.2", RTLD_NOW);
	if (!library)
		skip();
	address = (uintptr_t)dlsym(library, "__p_cdname") + 1;
	assert_true(address > 1);
	usleep(1100 * 1000);
	assert_string_equal(resolve_address(r, address)->object, "libresolv.so.2");
	assert_string_equal(resolve_address(r, address)->function, "__p_cdname");
	resolve_close(r);
	dlclose(library);
}

static void test_nobody(void **state)
{
	struct resolve *r = resolve_process(0x7fffffff);

	(void)state;
	assert_string_equal(resolve_address(r, 0x1234)->text, "0x1234");
	resolve_close(r);
	r = resolve_core("/dev/null", NULL);
	assert_string_equal(resolve_address(r, 0x1234)->text, "0x1234");
	resolve_close(r);
	r = resolve_core("/proc/self/maps", NULL); /* no core at all */
	assert_string_equal(resolve_address(r, 0x1234)->text, "0x1234");
	resolve_close(r);
	resolve_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_function), cmocka_unit_test(test_line),
		cmocka_unit_test(test_unknown),	 cmocka_unit_test(test_loaded_later),
		cmocka_unit_test(test_nobody),	 cmocka_unit_test(test_no_symbol),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
