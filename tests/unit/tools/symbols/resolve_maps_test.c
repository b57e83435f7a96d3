/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/symbols/resolve_maps_test.c - what is mapped where in this process, and which
 * place of its file that is
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "process/core_map.h"
#include "symbols/resolve_maps.h"

extern const char __ehdr_start __attribute__((visibility("hidden")));

static void test_process(void **state)
{
	uint64_t code = (uintptr_t)test_process, start = (uintptr_t)&__ehdr_start, vaddr;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const struct resolve_map *map;
	struct resolve_maps maps;
	char path[PATH_MAX] = "";
	int local = 0;
	GElf_Ehdr header;
	Elf *elf;

	(void)state;
	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	assert_non_null(gelf_getehdr(elf, &header));
	resolve_maps_of_process(&maps, getpid());
	map = resolve_maps_find(&maps, code);
	assert_non_null(map);
	assert_string_equal(map->path, path);
	assert_true(map->start <= code && code < map->end);
	assert_true(resolve_maps_vaddr(elf, code - map->start + map->offset, &vaddr));
	assert_int_equal(vaddr, header.e_type == ET_DYN ? code - start : code);
	map = resolve_maps_find(&maps, (uintptr_t)&local);
	assert_non_null(map);
	assert_true(*map->path != '/');
	assert_null(resolve_maps_find(&maps, 0));
	assert_false(resolve_maps_vaddr(elf, UINT64_MAX, &vaddr));
	for (unsigned int i = 1; i < maps.nr; i++)
		assert_true(maps.map[i - 1].end <= maps.map[i].start);
	resolve_maps_free(&maps);
	elf_end(elf);
	close(fd);
}

static void test_nobody(void **state)
{
	const struct core_map nothing = { .nr_mappings = 0 };
	struct resolve_maps maps;

	(void)state;
	resolve_maps_of_process(&maps, 0x7fffffff);
	assert_int_equal(maps.nr, 0);
	assert_null(resolve_maps_find(&maps, 0x1234));
	resolve_maps_of_core(&maps, &nothing);
	assert_int_equal(maps.nr, 0);
	resolve_maps_free(&maps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_process),
		cmocka_unit_test(test_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
