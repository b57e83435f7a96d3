/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/process/core_map_test.c - what a core file says of itself, also a damaged one
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "bare.h"
#include "unit/tools/core_fixture.h"
#include "process/core_map.h"

static struct core_file file;
static uint64_t marker[2] = { 0x1122334455667788, 0x99aabbccddeeff00 };

static void test_own_core(void **state)
{
	struct core_map map;
	char buf[64];

	(void)state;
	core_fill(&file);
	core_write(&file);
	assert_null(core_map_open(&map, file.path));
	assert_null(core_map_set_program(&map, NULL));
	assert_int_equal(map.pid, getpid());
	assert_string_equal(map.name, "a?program");
	assert_int_equal(map.missing, 0);
	assert_int_equal(map.nr_segments, file.nr_lines);
	assert_non_null(map.program);
	assert_true(core_map_object_fd(&map, map.program) >= 0);
	assert_true(!map.program->lost && !map.program->changed);
	assert_int_equal(map.dropped, 0);

	/* written data; constants and code, which only the file has */
	assert_int_equal(core_map_read(&map, (uintptr_t)marker, buf, sizeof(marker)), 0);
	assert_memory_equal(buf, marker, sizeof(marker));
	assert_int_equal(core_map_read(&map, (uintptr_t)test_own_core, buf, sizeof(buf)), 0);
	assert_memory_equal(buf, (void *)test_own_core, sizeof(buf));
	assert_int_equal(core_map_read(&map, 0, buf, 1), -EFAULT);
	assert_int_equal(core_map_read(&map, UINT64_MAX, buf, 8), -EFAULT);
	core_map_close(&map);
	unlink(file.path);
}

/* Across the end of what the core has of a mapping, and the end of the mapping. */
static void test_across_ends(void **state)
{
	uint64_t start = file.line[0].start;
	struct core_map map;
	char buf[8192];

	(void)state;
	if (THREAD_SANITIZED) /* which has mappings of its own around the program's */
		skip();
	core_fill(&file);
	core_write(&file);
	assert_null(core_map_open(&map, file.path));
	assert_null(core_map_set_program(&map, NULL));
	for (unsigned int i = 0; i < file.nr_lines; i++)
		if (file.line[i].path[0] == '/' && file.line[i].access[0] == 'r' &&
		    file.segment[i + 1].p_filesz == 4096 &&
		    file.line[i].end - file.line[i].start > sizeof(buf)) {
			start = file.line[i].start;
			break;
		}
	assert_int_equal(core_map_read(&map, start, buf, sizeof(buf)), 0);
	assert_memory_equal(buf, (void *)start, sizeof(buf));
	for (unsigned int i = 0; i < map.nr_segments; i++) {
		const struct core_segment *s = &map.segment[i];

		if (i + 1 == map.nr_segments || map.segment[i + 1].start != s->end)
			assert_int_equal(core_map_read(&map, s->end - 4, buf, 8), -EFAULT);
	}
	core_map_close(&map);
	unlink(file.path);
}

/* Further headers that name the same bytes of the file, or the same addresses, are dropped. */
static void test_overlaps(void **state)
{
	struct core_map map;
	char buf[sizeof(marker)];
	unsigned int last;

	(void)state;
	core_fill(&file);
	for (last = 1; !file.segment[last].p_filesz; last++)
		;
	for (unsigned int i = file.nr_lines + 1; i <= CORE_MAX; i++) {
		file.segment[i] = file.segment[last];
		if (i % 2) {
			file.segment[i].p_vaddr = (1ul << 60) + i * (1ul << 40);
			file.segment[i].p_offset++;
		} else {
			file.segment[i].p_vaddr++;
			file.segment[i].p_filesz = 0;
		}
	}
	file.header.e_phnum = CORE_MAX + 1;
	core_write(&file);
	assert_null(core_map_open(&map, file.path));
	assert_int_equal(map.nr_segments, file.nr_lines);
	for (size_t i = 1; i < map.nr_segments; i++)
		assert_true(map.segment[i - 1].end <= map.segment[i].start);
	assert_int_equal(map.missing, 0);
	assert_int_equal(core_map_read(&map, (uintptr_t)marker, buf, sizeof(buf)), 0);
	assert_memory_equal(buf, marker, sizeof(buf));
	core_map_close(&map);
	unlink(file.path);
}

/* A file of that name that is another one is not read from. */
static void test_changed_program(void **state)
{
	struct core_map map;
	char buf[16];

	(void)state;
	core_fill(&file);
	core_write(&file);
	assert_null(core_map_open(&map, file.path));
	assert_string_equal(core_map_set_program(&map, "/bin/sh"),
			    "it is of another program than the one given");
	assert_int_equal(core_map_read(&map, (uintptr_t)test_own_core, buf, sizeof(buf)), -EFAULT);
	core_map_close(&map);
	assert_null(core_map_open(&map, file.path));
	assert_non_null(core_map_set_program(&map, "/no/such/file"));
	core_map_close(&map);
	assert_null(core_map_open(&map, file.path));
	assert_null(core_map_set_program(&map, "/proc/self/exe"));
	assert_int_equal(core_map_read(&map, (uintptr_t)test_own_core, buf, sizeof(buf)), 0);
	core_map_close(&map);
	unlink(file.path);
}

/* Read there, and not from where the core says; a program that is given lies where that says. */
static void test_root(void **state)
{
	char folder[] = "/tmp/uslab-core-map-XXXXXX", nowhere[64];
	struct core_map map;
	char buf[16];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(nowhere, sizeof(nowhere), "%s/none", folder);
	core_fill(&file);
	core_write(&file);
	for (int i = 0; i < 4; i++) {
		const char *roots[] = { "/", folder, folder, nowhere };
		const char *program = i == 2 ? "/proc/self/exe" : NULL;
		const char *why;

		assert_null(core_map_open(&map, file.path));
		why = core_map_set_root(&map, roots[i]);
		if (i == 3) {
			assert_string_equal(why, strerror(ENOENT));
			core_map_close(&map);
			continue;
		}
		assert_null(why);
		assert_null(core_map_set_program(&map, program));
		assert_int_equal(core_map_is_given(&map, map.program), i == 2);
		assert_int_equal(core_map_read(&map, (uintptr_t)test_root, buf, sizeof(buf)),
				 i == 1 ? -EFAULT : 0);
		if (i == 1)
			assert_string_equal(core_map_why_lost(&map, map.program),
					    "cannot be opened under --sysroot");
		core_map_close(&map);
	}
	unlink(file.path);
	rmdir(folder);
}

static void test_cut_short(void **state)
{
	struct core_map map;
	struct stat st;
	char buf[16];

	(void)state;
	core_fill(&file);
	core_write(&file);
	stat(file.path, &st);
	assert_int_equal(truncate(file.path, (off_t)(sizeof(file.header) + sizeof(file.segment) +
						     sizeof(file.notes))),
			 0);
	assert_null(core_map_open(&map, file.path));
	assert_true(map.missing > 4096);
	assert_int_equal(core_map_read(&map, (uintptr_t)marker, buf, sizeof(buf)), -EFAULT);
	core_map_close(&map);
	assert_int_equal(truncate(file.path, sizeof(file.header) + 100), 0);
	assert_non_null(core_map_open(&map, file.path));
	core_map_close(&map);
	assert_int_equal(truncate(file.path, 20), 0);
	assert_non_null(core_map_open(&map, file.path));
	core_map_close(&map);
	unlink(file.path);
}

/* gdb writes the notes behind the memory. */
static void test_cut_in_notes(void **state)
{
	struct core_map map;

	(void)state;
	core_fill(&file);
	core_write(&file);
	assert_int_equal(truncate(file.path, (off_t)(file.segment[0].p_offset + 100)), 0);
	assert_null(core_map_open(&map, file.path));
	for (unsigned int i = 1; i <= file.nr_lines; i++)
		map.missing -= file.segment[i].p_filesz;
	assert_int_equal(map.missing, file.segment[0].p_filesz - 100);
	assert_int_equal(map.nr_mappings, 0);
	core_map_close(&map);
	unlink(file.path);
}

/* Writes only the headers, and says what opening gives. */
static const char *why(const struct core_file *c, const void *start, size_t size)
{
	char path[] = "/tmp/core_test.XXXXXX";
	int fd = mkstemp(path);
	struct core_map map;
	const char *text;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, c, sizeof(c->header) + sizeof(c->segment) + CORE_NOTES),
			 sizeof(c->header) + sizeof(c->segment) + CORE_NOTES);
	if (start)
		assert_int_equal(pwrite(fd, start, size, 0), (ssize_t)size);
	close(fd);
	text = core_map_open(&map, path);
	core_map_close(&map);
	unlink(path);
	return text;
}

/* Many headers for the same notes, of which one may be as large. */
static void test_many_notes(void **state)
{
	enum { HEADERS = 600, SIZE = 1 << 20 };
	char *garbage = malloc(SIZE);

	(void)state;
	assert_non_null(garbage);
	memset(garbage, 0xff, SIZE);
	core_fill(&file);
	file.header.e_phnum = HEADERS;
	for (unsigned int i = 0; i < HEADERS; i++)
		file.segment[i] = (Elf64_Phdr){ .p_type = PT_NOTE, .p_filesz = SIZE };
	memcpy(garbage, &file.header, sizeof(file.header));
	memcpy(garbage + sizeof(file.header), file.segment, HEADERS * sizeof(file.segment[0]));
	assert_string_equal(why(&file, garbage, SIZE), "it is damaged, or no core file");
	free(garbage);
}

static void test_other_files(void **state)
{
	struct core_map map;

	(void)state;
	core_fill(&file);
	assert_null(why(&file, NULL, 0));
	assert_non_null(strstr(why(&file, "\x28\xb5\x2f\xfd", 4), "compressed"));
	assert_string_equal(why(&file, "hello", 5), "it is no core file");
	file.header.e_type = ET_DYN;
	assert_non_null(strstr(why(&file, NULL, 0), "program or library"));
	file.header.e_type = ET_CORE;
	file.header.e_machine++;
	assert_non_null(strstr(why(&file, NULL, 0), "another kind of machine"));
	file.header.e_machine--;
	file.header.e_ident[EI_CLASS] = ELFCLASS32;
	assert_non_null(strstr(why(&file, NULL, 0), "32-bit"));
	file.header.e_ident[EI_CLASS] = ELFCLASS64;
	file.header.e_ident[EI_DATA] ^= 3;
	assert_non_null(strstr(why(&file, NULL, 0), "another kind of machine"));
	file.header.e_ident[EI_DATA] ^= 3;
	file.header.e_phnum = PN_XNUM; /* and no section header */
	assert_non_null(why(&file, NULL, 0));
	file.header.e_phnum = 0;
	assert_non_null(why(&file, NULL, 0));

	assert_string_equal(core_map_open(&map, "/"), "it is no regular file");
	core_map_close(&map);
	assert_string_equal(core_map_open(&map, "/no/such/file"), strerror(ENOENT));
	core_map_close(&map);
	assert_string_equal(core_map_open(&map, "/dev/zero"), "it is no regular file");
	core_map_close(&map);
}

static unsigned int rnd(unsigned int n)
{
	static unsigned int seed = 1;

	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % n;
}

/* Random words in headers and notes; reading anywhere then fails or not, and does nothing else. */
static void test_damaged(void **state)
{
	static const uint64_t values[] = { 0,	      1,	 UINT64_MAX,	  UINT64_MAX - 7,
					   INT64_MAX, 1ul << 32, (1ul << 32) - 1, 4096 };
	unsigned int rounds = getenv("USLAB_TEST_VALGRIND") ? 60 : 300;
	struct core_map map;
	char buf[256];

	(void)state;
	for (unsigned int i = 0; i < rounds; i++) {
		core_fill(&file);
		for (unsigned int j = rnd(3) + 1; j; j--) {
			char *place = rnd(2) ? file.notes + rnd((unsigned int)file.notes_size)
					     : (char *)file.segment +
						       rnd(file.nr_lines * sizeof(Elf64_Phdr));

			memcpy(place, &values[rnd(8)], rnd(8) + 1);
		}
		strcpy(file.path, "/tmp/core_test.XXXXXX");
		int fd = mkstemp(file.path);

		assert_true(fd >= 0);
		assert_true(write(fd, &file, sizeof(file)) == sizeof(file));
		close(fd);
		if (!core_map_open(&map, file.path) && !core_map_set_program(&map, NULL)) {
			for (size_t k = 0; k < map.nr_segments; k++) {
				core_map_read(&map, map.segment[k].start, buf, sizeof(buf));
				core_map_read(&map, map.segment[k].end - 8, buf, sizeof(buf));
			}
			core_map_read(&map, 0, buf, sizeof(buf));
		}
		core_map_close(&map);
		unlink(file.path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_core),   cmocka_unit_test(test_across_ends),
		cmocka_unit_test(test_overlaps),   cmocka_unit_test(test_changed_program),
		cmocka_unit_test(test_cut_short),  cmocka_unit_test(test_cut_in_notes),
		cmocka_unit_test(test_many_notes), cmocka_unit_test(test_other_files),
		cmocka_unit_test(test_damaged),	   cmocka_unit_test(test_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
