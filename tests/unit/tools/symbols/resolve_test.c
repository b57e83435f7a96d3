/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/symbols/resolve_test.c - names of code addresses of this process
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "symbols/resolve.h"

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

/* The piece of this program's file that an address lies in: start, length, place in the file. */
struct piece {
	char *start;
	size_t length;
	unsigned long offset;
};

static struct piece piece_of(uint64_t address)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	struct piece piece = { .length = 0 };
	char line[1024];

	while (maps && !piece.length && fgets(line, sizeof(line), maps)) {
		unsigned long start, end, offset;

		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 &&
		    start <= address && address < end)
			piece = (struct piece){ (char *)start, end - start, offset };
	}
	fclose(maps);
	return piece;
}

/*
 * What is not of the file, between two mappings of it, and the file's code at a place of its own:
 * as with JIT compilers, and programs that map pieces of themselves.
 */
static void test_between_mappings(void **state)
{
	uint64_t address = here();
	struct piece piece = piece_of(address);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *room = mmap(NULL, 3 * piece.length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct resolve_name *name, *moved;
	struct resolve *r;
	char text[64];

	(void)state;
	assert_true(piece.length && fd >= 0 && room != MAP_FAILED);
	for (int i = 0; i < 3; i += 2)
		assert_true(mmap(room + (size_t)i * piece.length, piece.length, PROT_READ,
				 MAP_PRIVATE | MAP_FIXED, fd, (off_t)piece.offset) != MAP_FAILED);
	r = resolve_process(getpid());
	snprintf(text, sizeof(text), "0x%" PRIx64, (uint64_t)(uintptr_t)(room + piece.length + 16));
	name = resolve_address(r, (uintptr_t)room + piece.length + 16);
	assert_string_equal(name->text, text);
	assert_string_equal(name->mapping.path, "");
	assert_string_equal(name->mapping.build_id, "");
	name = resolve_address(r, address);
	for (int i = 0; i < 3; i += 2) {
		uint64_t start = (uintptr_t)room + (size_t)i * piece.length;

		moved = resolve_address(r, start + (address - (uintptr_t)piece.start));
		assert_string_equal(moved->text, name->text);
		assert_string_equal(moved->function, "test_between_mappings");
		assert_int_equal(moved->line, name->line);
		assert_string_equal(moved->mapping.path, name->mapping.path);
		assert_int_equal(moved->mapping.address, name->mapping.address);
		assert_int_equal(moved->mapping.start, start);
		assert_int_equal(moved->mapping.offset, piece.offset);
	}
	resolve_close(r);
	munmap(room, 3 * piece.length);
	close(fd);
}

static void test_nobody(void **state)
{
	struct resolve *r = resolve_process(0x7fffffff);

	(void)state;
	assert_string_equal(resolve_address(r, 0x1234)->text, "0x1234");
	resolve_close(r);
	r = resolve_core("/dev/null", NULL, NULL);
	assert_string_equal(resolve_address(r, 0x1234)->text, "0x1234");
	resolve_close(r);
	r = resolve_core("/proc/self/maps", NULL, NULL); /* no core at all */
	assert_string_equal(resolve_address(r, 0x1234)->text, "0x1234");
	resolve_close(r);
	resolve_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_function),	 cmocka_unit_test(test_line),
		cmocka_unit_test(test_unknown),		 cmocka_unit_test(test_loaded_later),
		cmocka_unit_test(test_nobody),		 cmocka_unit_test(test_no_symbol),
		cmocka_unit_test(test_between_mappings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
