/* SPDX-License-Identifier: MIT */
/*
 * unit/os/symbol/elf_test.c - an ELF file: this program's own, and damaged copies of its header
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "os/symbol/elf.h"

#define SELF "/proc/self/exe"

static void test_own_sections(void **state)
{
	const Elf64_Shdr *text, *symbols;
	struct os_elf elf;

	(void)state;
	errno = 77;
	assert_int_equal(os_elf_open(&elf, SELF), 0);
	text = os_elf_section(&elf, SHT_PROGBITS, ".text");
	assert_non_null(text);
	assert_true(text->sh_flags & SHF_EXECINSTR);
	symbols = os_elf_section(&elf, SHT_SYMTAB, NULL);
	assert_non_null(symbols);
	assert_int_equal(os_elf_section_at(&elf, symbols->sh_link)->sh_type, SHT_STRTAB);
	assert_non_null(os_elf_part(&elf, symbols->sh_offset, symbols->sh_size));
	assert_null(os_elf_section(&elf, SHT_PROGBITS, ".no_such_section"));
	assert_null(os_elf_section_at(&elf, 100000));
	os_elf_close(&elf);
	assert_int_equal(errno, 77);
}

static void test_parts_are_inside(void **state)
{
	const Elf64_Shdr *strings;
	struct os_elf elf;

	(void)state;
	assert_int_equal(os_elf_open(&elf, SELF), 0);
	assert_non_null(os_elf_part(&elf, 0, elf.size));
	assert_null(os_elf_part(&elf, 0, elf.size + 1));
	assert_null(os_elf_part(&elf, 8, elf.size));
	assert_null(os_elf_part(&elf, 8, UINT64_MAX - 4));
	assert_null(os_elf_part(&elf, UINT64_MAX - 7, 8));
	assert_null(os_elf_part(&elf, 4, 4)); /* not aligned */
	strings = os_elf_section(&elf, SHT_STRTAB, ".strtab");
	assert_string_equal(os_elf_string(&elf, strings, 0), "");
	assert_string_equal(os_elf_string(&elf, strings, UINT32_MAX), "");
	assert_string_equal(os_elf_string(&elf, NULL, 0), "");
	os_elf_close(&elf);
}

/* A file of the given bytes; what opening it says. */
static int open_bytes(const void *bytes, size_t size, struct os_elf *elf)
{
	char path[] = "/tmp/elf_test.XXXXXX";
	int fd = mkstemp(path);
	int ret;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	ret = os_elf_open(elf, path);
	unlink(path);
	close(fd);
	return ret;
}

static void test_damaged_files(void **state)
{
	Elf64_Ehdr header;
	struct os_elf elf;

	(void)state;
	assert_int_equal(os_elf_open(&elf, SELF), 0);
	memcpy(&header, elf.data, sizeof(header));
	os_elf_close(&elf);

	assert_int_equal(os_elf_open(&elf, "/no/such/file"), -ENOENT);
	assert_true(os_elf_open(&elf, "/") < 0);
	assert_int_equal(open_bytes("", 0, &elf), -ENOEXEC);
	assert_int_equal(open_bytes("#!/bin/sh\n", 10, &elf), -ENOEXEC);
	assert_int_equal(open_bytes(&header, sizeof(header) - 1, &elf), -ENOEXEC);

	/* nothing but the header: its sections lie beyond the end */
	assert_int_equal(open_bytes(&header, sizeof(header), &elf), 0);
	assert_null(os_elf_section(&elf, SHT_SYMTAB, NULL));
	os_elf_close(&elf);
	header.e_shoff = UINT64_MAX - 7;
	assert_int_equal(open_bytes(&header, sizeof(header), &elf), 0);
	assert_null(os_elf_section(&elf, SHT_SYMTAB, NULL));
	os_elf_close(&elf);
	header.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(open_bytes(&header, sizeof(header), &elf), -ENOEXEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_sections),
		cmocka_unit_test(test_parts_are_inside),
		cmocka_unit_test(test_damaged_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
