/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/process/symbol_test.c - symbols of this program and of libc, from files and from
 * memory
 *
 * symbol_marker is in .symtab only (this program exports nothing); environ is a data symbol that
 * libc exports.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "process/symbol.h"

int symbol_marker = 4711;

static int find_in(const char *path, const char *name, struct symbol *found)
{
	int fd = open(path, O_RDONLY);
	int ret;

	assert_true(fd >= 0);
	ret = symbol_in_file(fd, name, found);
	close(fd);
	return ret;
}

static const struct link_map *libc_map(void)
{
	Dl_info info;
	struct link_map *map = NULL;

	assert_true(dladdr1((void *)gnu_get_libc_version, &info, (void **)&map, RTLD_DL_LINKMAP));
	return map;
}

static void test_file(void **state)
{
	struct symbol symbol;
	uint64_t bias = _r_debug.r_map->l_addr; /* of the program itself */

	(void)state;
	assert_int_equal(find_in("/proc/self/exe", "symbol_marker", &symbol), 0);
	assert_int_equal(symbol.value + bias, (uintptr_t)&symbol_marker);
	assert_int_equal(symbol.load_offset, 0);
	assert_int_equal(find_in("/proc/self/exe", "symbol_marke", &symbol), -ENOENT);
	assert_int_equal(find_in("/proc/self/exe", "test_file", &symbol), -ENOENT); /* no data */
}

static void test_library(void **state)
{
	const struct link_map *map = libc_map();
	struct symbol symbol;

	(void)state;
	assert_int_equal(find_in(map->l_name, "environ", &symbol), 0);
	/* not &environ: the program may have a copy of it */
	assert_int_equal(symbol.value + map->l_addr, (uintptr_t)dlsym(RTLD_NEXT, "environ"));
}

static void test_memory(void **state)
{
	const struct link_map *map = libc_map();
	unsigned int reads = SYMBOL_READS;
	uint64_t address = 0;

	(void)state;
	assert_int_equal(symbol_in_memory(&reader_local, &reads, map->l_addr, "environ", &address),
			 0);
	assert_int_equal(address, (uintptr_t)dlsym(RTLD_NEXT, "environ"));
	assert_int_equal(symbol_in_memory(&reader_local, &reads, map->l_addr, "no_such_name",
					  &address),
			 -ENOENT);
}

/* What was read for one object is not there for the next. */
static void test_bound(void **state)
{
	const struct link_map *map = libc_map();
	unsigned int reads = SYMBOL_READS, left;
	uint64_t address = 0;

	(void)state;
	symbol_in_memory(&reader_local, &reads, map->l_addr, "no_such_name", &address);
	assert_true(reads < SYMBOL_READS - 10);
	left = SYMBOL_READS - reads;
	assert_int_equal(symbol_in_memory(&reader_local, &left, map->l_addr, "no_such_name",
					  &address),
			 -ENOENT);
	assert_int_equal(left, 0);
	left = SYMBOL_READS - reads - 1;
	assert_int_equal(symbol_in_memory(&reader_local, &left, map->l_addr, "no_such_name",
					  &address),
			 -E2BIG);
	assert_int_equal(left, 0);
	assert_int_equal(symbol_in_memory(&reader_local, &left, map->l_addr, "environ", &address),
			 -E2BIG);
}

/* The first bytes of an ELF file, with one of them changed. */
static void check_changed(const char *text, size_t at, char byte, int expected, bool is_32bit)
{
	char head[4096];
	char path[] = "/tmp/uslab-symbol-XXXXXX";
	int fd = open("/proc/self/exe", O_RDONLY);
	unsigned int reads = SYMBOL_READS;
	struct symbol symbol;
	uint64_t address;

	assert_int_equal(read(fd, head, sizeof(head)), sizeof(head));
	close(fd);
	head[at] = byte;
	fd = mkstemp(path);
	unlink(path);
	assert_int_equal(write(fd, head, sizeof(head)), sizeof(head));
	assert_int_equal(symbol_in_file(fd, text, &symbol), expected);
	assert_int_equal(symbol_file_is_32bit(fd), is_32bit);
	close(fd);
	if (expected == -ENOEXEC)
		assert_int_equal(symbol_in_memory(&reader_local, &reads, (uintptr_t)head, text,
						  &address),
				 -ENOEXEC);
}

static void test_foreign(void **state)
{
	(void)state;
	check_changed("x", EI_MAG1, 'X', -ENOEXEC, false);
	check_changed("x", EI_CLASS, ELFCLASS32, -ENOEXEC, true);
	check_changed("x", offsetof(ElfW(Ehdr), e_machine), 0x7f, -ENOEXEC, false);
}

/* A file cut off behind its first page: nothing is found and nothing crashes. */
static void test_truncated(void **state)
{
	(void)state;
	check_changed("symbol_marker", EI_PAD, 0, -ENOENT, false);
}

static void test_no_elf(void **state)
{
	struct symbol symbol;

	(void)state;
	assert_int_equal(find_in("/proc/self/status", "x", &symbol), -ENOEXEC);
	assert_int_equal(find_in("/dev/null", "x", &symbol), -ENOEXEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file),	cmocka_unit_test(test_library),
		cmocka_unit_test(test_memory),	cmocka_unit_test(test_bound),
		cmocka_unit_test(test_foreign), cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_no_elf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
