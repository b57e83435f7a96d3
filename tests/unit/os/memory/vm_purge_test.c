/* SPDX-License-Identifier: MIT */
/*
 * unit/os/memory/vm_purge_test.c - pages given back lazily, and ranges given back together
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "bare.h"
#include "bytes.h"
#include "os/memory/vm.h"

static size_t page;

/* It stays until it is needed; whoever writes to it has it again. */
static void test_purge_lazily(void **state)
{
	unsigned char *p = os_map(4 * page, page);

	(void)state;
	memset(p, 0x55, 4 * page);
	errno = 77;
	assert_int_equal(os_purge_lazily(p + page, 2 * page), 0);
	assert_int_equal(errno, 77);
	assert_true(all_bytes(p, page, 0x55) && all_bytes(p + 3 * page, page, 0x55));
	assert_true(p[page] == 0x55 || p[page] == 0);
	memset(p + page, 0x66, 2 * page);
	assert_true(all_bytes(p + page, 2 * page, 0x66));
	os_release(p, 4 * page);
}

/* Several at once. */
static void test_purge_ranges(void **state)
{
	unsigned char *p = os_reserve(64 * page, page);
	struct os_range ranges[20];

	(void)state;
	assert_int_equal(os_commit(p, 64 * page), 0);
	memset(p, 0x55, 64 * page);
	for (unsigned int i = 0; i < 20; i++)
		ranges[i] = (struct os_range){ p + 3 * i * page, page };
	assert_int_equal(os_purge_ranges(ranges, 20), 20);
	for (unsigned int i = 0; i < 60; i++)
		assert_true(all_bytes(p + i * page, page, i % 3 ? 0x55 : 0));
	os_release(p, 64 * page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_purge_lazily),
		cmocka_unit_test(test_purge_ranges),
	};

	page = os_page_size();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
