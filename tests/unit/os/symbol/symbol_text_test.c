/* SPDX-License-Identifier: MIT */
/*
 * unit/os/symbol/symbol_text_test.c - names of code addresses
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "bare.h"
#include "child.h"
#include "os/symbol/symbol.h"
#include "plug_in.h"
#include "objects.h"

static const char *text_of(uintptr_t address)
{
	static char text[256];
	size_t length = os_symbol_text(text, sizeof(text), address);

	assert_int_equal(length, strlen(text));
	return text;
}

/* Is the text `name+0xOFFSET/0xSIZE` and then what follows? */
static bool is_text(const char *text, const char *name, unsigned long offset, const char *rest)
{
	size_t length = strlen(name);
	unsigned long found, size;
	int at = 0;

	if (strncmp(text, name, length) != 0 ||
	    sscanf(text + length, "+0x%lx/0x%lx%n", &found, &size, &at) != 2)
		return false;
	return found == offset && size >= offset && !strcmp(text + length + at, rest);
}

static noinline uintptr_t here(void)
{
	return (uintptr_t)__builtin_return_address(0);
}

static noinline void static_function(void)
{
	uintptr_t address = here();

	assert_true(is_text(text_of(address), "static_function",
			    address - (uintptr_t)static_function, ""));
}

static void test_static_function(void **state)
{
	(void)state;
	NEEDS_OBJECTS();
	static_function();
}

/* Each address is that of a return; the first byte of a function is none of its calls. */
static void test_bounds(void **state)
{
	uintptr_t start = (uintptr_t)static_function;
	unsigned long size;

	(void)state;
	NEEDS_OBJECTS();
	assert_false(is_text(text_of(start), "static_function", 0, ""));
	assert_true(is_text(text_of(start + 1), "static_function", 1, ""));
	assert_int_equal(sscanf(text_of(start + 1), "static_function+0x1/0x%lx", &size), 1);
	assert_true(is_text(text_of(start + size), "static_function", size, ""));
	assert_false(is_text(text_of(start + size + 1), "static_function", size + 1, ""));
}

static void test_library(void **state)
{
	Dl_info info;

	(void)state;
	if (!dladdr((void *)(uintptr_t)_cmocka_run_group_tests, &info) ||
	    !strstr(info.dli_fname, ".so"))
		skip_because("cmocka is a part of the program here");
	assert_true(is_text(text_of((uintptr_t)_cmocka_run_group_tests + 4),
			    "_cmocka_run_group_tests", 4, " [libcmocka.so.0]"));
}

static void test_unknown(void **state)
{
	char text[32];

	(void)state;
	errno = 77;
	assert_string_equal(text_of(0), "0x0");
	assert_string_equal(text_of(0x1234), "0x1234");
	assert_string_equal(text_of(UINTPTR_MAX), "0xffffffffffffffff");
	snprintf(text, sizeof(text), "%p", (void *)&text);
	assert_string_equal(text_of((uintptr_t)&text), text);
	assert_int_equal(errno, 77);
}

static void test_short_buffer(void **state)
{
	uintptr_t address = (uintptr_t)static_function + 4;
	size_t length = os_symbol_text(NULL, 0, address);
	char text[10];

	(void)state;
	NEEDS_OBJECTS();
	assert_true(length > sizeof(text));
	assert_int_equal(os_symbol_text(text, sizeof(text), address), length);
	assert_string_equal(text, "static_fu");
}

#if defined(__x86_64__)
/* As assemblers write them: a label without size; it ends where the next one begins. */
__asm__(".text\nsymbol_label: .skip 32, 0x90\n.type symbol_sized, @function\n"
	"symbol_sized: .skip 16, 0x90\n.size symbol_sized, 16\n");
extern const char symbol_label[], symbol_sized[];

static void test_label(void **state)
{
	(void)state;
	NEEDS_OBJECTS();
	assert_string_equal(text_of((uintptr_t)symbol_label + 8), "symbol_label+0x8/0x0");
	assert_string_equal(text_of((uintptr_t)symbol_sized + 8), "symbol_sized+0x8/0x10");
}
#endif

extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));

static bool is_pie(void)
{
	return __ehdr_start.e_type == ET_DYN;
}

/* As after chroot(2), or of a stripped file: the place in the object, by its name. */
static void without_files(void *arg)
{
	uintptr_t address = (uintptr_t)static_function + 4;
	char text[128], expected[128];

	(void)arg;
	child_needs_objects();
	child_deny(SYS_openat, EACCES);
	os_symbol_text(text, sizeof(text), address);
	snprintf(expected, sizeof(expected), "symbol_text_test+0x%lx",
		 address - (is_pie() ? (uintptr_t)&__ehdr_start : 0));
	CHILD_CHECK(!strcmp(text, expected));
}

static void test_without_files(void **state)
{
	struct child c;

	if (!bare_process())
		skip();
	c = child_run(without_files, state);
	assert_true(child_passed(&c));
}

static enum plug_in_look ask(uintptr_t address)
{
	char text[256];

	os_symbol_text(text, sizeof(text), address);
	return strstr(text, "[" PLUG_IN "]") ? PLUG_IN_THERE : PLUG_IN_GONE;
}

static void ask_meanwhile(__attribute__((unused)) void *arg)
{
	child_needs_objects();
	plug_in_meanwhile(ask);
}

/* A track may be of code that another thread unloads just now. */
static void test_unloaded_meanwhile(void **state)
{
	struct child c;
	struct iovec here = { &c, sizeof(c) };

	if (process_vm_readv(getpid(), &here, 1, &here, 1, 0) != sizeof(c))
		skip_because("nobody reads memory here that may go away (process_vm_readv)");
	c = child_run(ask_meanwhile, state);
	assert_true(child_passed(&c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_static_function),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_library),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_short_buffer),
		cmocka_unit_test(test_without_files),
		cmocka_unit_test(test_unloaded_meanwhile),
#if defined(__x86_64__)
		cmocka_unit_test(test_label),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
