/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/reader_test.c - the memory of this process, at every alignment
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "inspect/reader.h"

static int read_local(const void *from, void *buf, size_t len)
{
	return reader_read(&reader_local, (uintptr_t)from, buf, len);
}

static void test_copies(void **state)
{
	char from[64] __attribute__((aligned(8)));
	char to[64] __attribute__((aligned(8)));

	(void)state;
	for (int i = 0; i < 64; i++)
		from[i] = (char)(i * 7 + 1);
	for (size_t at = 0; at < 9; at++)
		for (size_t shift = 0; shift < 9; shift++)
			for (size_t len = 0; len < 40; len++) {
				memset(to, 0, sizeof(to));
				assert_int_equal(read_local(from + at, to + shift, len), 0);
				assert_memory_equal(to + shift, from + at, len);
				assert_int_equal(to[shift + len], 0);
			}
}

static void test_null(void **state)
{
	char buf[8];

	(void)state;
	assert_int_equal(read_local(NULL, buf, sizeof(buf)), -EFAULT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
