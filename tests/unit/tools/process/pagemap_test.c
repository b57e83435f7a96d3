/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/process/pagemap_test.c - pages of this process and of a child that shares them, by
 * either way of the kernel
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "process/pagemap.h"

#define PAGES 64

static struct pagemap p;

/*
 * PAGES pages of the system without neighbours: the first quarter written, of the second the first
 * page read, the rest not touched.
 */
static char *make(size_t page)
{
	char *area = mmap(NULL, (PAGES + 2) * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static volatile char sink;

	assert_ptr_not_equal(area, MAP_FAILED);
	area += page;
	assert_int_equal(mprotect(area, PAGES * page, PROT_READ | PROT_WRITE), 0);
	madvise(area, PAGES * page, MADV_NOHUGEPAGE);
	memset(area, 1, PAGES / 4 * page);
	sink = area[PAGES / 4 * page];
	(void)sink;
	return area;
}

static void check(const char *area, size_t page, bool zeros_may_count)
{
	size_t each = page / PAGE_SIZE;
	uint8_t state[(PAGES + 2) * (65536 / PAGE_SIZE)];

	memset(state, 0xff, sizeof(state));
	assert_int_equal(pagemap_states(&p, (uintptr_t)(area - page), (PAGES + 2) * each, state),
			 0);
	for (size_t i = 0; i < (PAGES + 2) * each; i++) {
		size_t at = i / each - 1; /* the page before the area is number SIZE_MAX */
		bool written = at < PAGES / 4;

		if (at != PAGES / 4 || !zeros_may_count)
			assert_int_equal(state[i] & MEMORY_RESIDENT, written);
		assert_false(state[i] & MEMORY_HUGE);
	}
	assert_int_equal(pagemap_resident(&p, (uintptr_t)area, (uintptr_t)area + PAGES * page),
			 PAGES / 4 * page);
}

static void test_pages(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *area = make(page);

	(void)state;
	assert_int_equal(pagemap_open(&p, getpid(), NULL), 0);
	assert_int_equal(p.nr_ranges, 0);
	assert_true(p.resident > PAGES / 4 * page);
	check(area, page, false);
	p.can_scan = false; /* as an older kernel */
	check(area, page, false);
	pagemap_close(&p);
	munmap(area - page, (PAGES + 2) * page);
}

/* Pages that two processes have count in each of them. */
static void test_fork(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *area = make(page);
	int ends[2];
	pid_t child;
	char c;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (!child) {
		close(ends[1]);
		_exit(read(ends[0], &c, 1) != 0);
	}
	for (int way = 0; way < 2; way++) {
		assert_int_equal(pagemap_open(&p, child, NULL), 0);
		p.can_scan &= !way;
		check(area, page, !p.can_scan);
		pagemap_close(&p);
	}
	close(ends[1]);
	assert_int_equal(waitpid(child, NULL, 0), child);
	close(ends[0]);
	assert_int_equal(pagemap_open(&p, child, NULL), -ENOENT);
	pagemap_close(&p);
	munmap(area - page, (PAGES + 2) * page);
}

/* The file of libc: code, and data with what lies behind it; no other file. */
static void test_library(void **state)
{
	char path[4096] = "";
	char line[4400];
	FILE *maps = fopen("/proc/self/maps", "re");

	(void)state;
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "libcmocka.so")) {
			sscanf(strchr(line, '/'), "%4095[^\n]", path);
			break;
		}
	fclose(maps);
	if (!path[0])
		skip(); /* a static program */
	assert_int_equal(pagemap_open(&p, getpid(), path), 0);
	assert_in_range(p.nr_ranges, 2, PAGEMAP_RANGES);
	assert_int_equal(p.range[0].kind, MEMORY_CODE);
	assert_int_equal(p.range[p.nr_ranges - 1].kind, MEMORY_DATA);
	for (unsigned int i = 1; i < p.nr_ranges; i++)
		assert_int_equal(p.range[i].start, p.range[i - 1].start + p.range[i - 1].size);
	pagemap_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
