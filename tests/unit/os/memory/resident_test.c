/* SPDX-License-Identifier: MIT */
/*
 * unit/os/memory/resident_test.c - memory that is made resident, and locked
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <cmocka.h>

#include "bare.h"
#include "base/bits.h"
#include "bytes.h"
#include "child.h"
#include "os/memory/resident.h"
#include "os/process/filter.h"
#include "os/memory/vm.h"
#include "os/process/file.h"

#define PAGES 64u

/* linux/mman.h since Linux 5.14 */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* How many of PAGES pages are in memory. */
static unsigned int resident(void *p)
{
	unsigned char in_memory[PAGES];
	unsigned int count = 0;

	assert_int_equal(mincore(p, PAGES * os_page_size(), in_memory), 0);
	for (unsigned int i = 0; i < PAGES; i++)
		count += in_memory[i] & 1;
	return count;
}

static void test_populate(void **state)
{
	size_t size = PAGES * os_page_size();
	char *p = os_map(size, os_page_size());

	(void)state;
	assert_non_null(p);
	os_small_pages(p, size);
	if (!is_emulated())
		assert_int_equal(resident(p), 0);
	errno = 17;
	assert_int_equal(os_populate(p, size), 0);
	assert_int_equal(errno, 17);
	if (!is_emulated())
		assert_int_equal(resident(p), PAGES);
	assert_true(all_bytes(p, size, 0));
	os_release(p, size);
}

/* Memory that cannot be had is no reason to touch it. */
static void test_no_memory(void **state)
{
	size_t page = os_page_size();
	char *p = os_map(page, page);

	(void)state;
	assert_non_null(p);
	if (is_emulated() || madvise(p, page, MADV_POPULATE_WRITE))
		skip_because("the system does not populate");
	os_release(p, page);
	errno = 17;
	assert_int_equal(os_populate(p, page), -ENOMEM);
	assert_int_equal(errno, 17);
}

#define HUGE (2ul << 20) /* maybe one page with other data of this program */

static char unused[4 * HUGE];

/* Data is resident; what is constant after relocation is not written. */
static void test_image(void **state)
{
	char *pages = (char *)ALIGN_UP((uintptr_t)unused + HUGE, HUGE);

	(void)state;
	if (!is_emulated())
		assert_int_equal(resident(pages), 0);
	errno = 17;
	os_populate_image();
	os_lock_image();
	assert_int_equal(errno, 17);
	if (!is_emulated())
		assert_int_equal(resident(pages), PAGES);
	assert_true(all_bytes(unused, sizeof(unused), 0));
}

static size_t locked_kib(void)
{
	char text[4096];
	const char *line;

	assert_true(os_read_text("/proc/self/status", text, sizeof(text)) > 0);
	line = strstr(text, "VmLck:");
	assert_non_null(line);
	return strtoul(line + strlen("VmLck:"), NULL, 10);
}

/* As far as this user may. */
static void test_lock(void **state)
{
	size_t page = os_page_size();
	size_t before = locked_kib();
	struct rlimit limit;
	char *p = os_map(page, page);
	int ret;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
	errno = 17;
	ret = os_lock(p, page);
	assert_int_equal(errno, 17);
	if (limit.rlim_cur >= 16 * page)
		assert_int_equal(ret, 0);
	if (!ret && bare_process() && !is_emulated())
		assert_int_equal(locked_kib(), before + page / 1024);
	os_unlock(p, page);
	assert_int_equal(errno, 17);
	if (!is_emulated())
		assert_int_equal(locked_kib(), before);
	os_release(p, page);
	if (!is_emulated() && bare_process())	   /* sanitizers make mlock a no-op */
		assert_true(os_lock(p, page) < 0); /* nothing is mapped there */
}

static void test_available(void **state)
{
	(void)state;
	errno = 17;
	assert_true(os_available_memory() > 0);
	assert_true(os_available_memory() <= os_physical_memory());
	assert_int_equal(errno, 17);
}

static void test_count(void **state)
{
	size_t page = os_page_size();
	char *p = os_map(PAGES * page, page);

	(void)state;
	assert_non_null(p);
	os_small_pages(p, PAGES * page);
	errno = 17;
	if (!is_emulated())
		assert_int_equal(os_count_resident(p, PAGES * page), 0);
	for (unsigned int i = 0; i < PAGES; i += 8)
		p[i * page] = 1;
	if (!is_emulated())
		assert_int_equal(os_count_resident(p, PAGES * page), PAGES / 8);
	os_release(p, PAGES * page);
	assert_int_equal(os_count_resident(p, page), -ENOMEM);
	assert_int_equal(errno, 17);
}

static void count_under_a_filter(__attribute__((unused)) void *arg)
{
	char *p = os_map(os_page_size(), os_page_size());

	CHILD_CHECK(p);
	CHILD_CHECK(os_filter_lets_through());
	child_deny(SYS_mincore, EPERM);
	errno = 17;
	CHILD_CHECK(!os_filter_lets_through());
	CHILD_CHECK(os_count_resident(p, os_page_size()) == -EPERM && errno == 17);
}

static void test_count_refused(void **state)
{
	struct child c;

	if (!os_filter_lets_through())
		skip_because("there is a filter of system calls");
	c = child_run(count_under_a_filter, state);
	assert_true(child_passed(&c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_populate),      cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_lock),	      cmocka_unit_test(test_available),
		cmocka_unit_test(test_image),	      cmocka_unit_test(test_count),
		cmocka_unit_test(test_count_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
