/* SPDX-License-Identifier: MIT */
/*
 * unit/base/bits_test.c - arithmetic on powers of two, and on bits
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/bits.h"

static unsigned int count_one_by_one(unsigned long x)
{
	unsigned int count = 0;

	for (; x; x >>= 1)
		count += x & 1;
	return count;
}

static void test_count(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (unsigned int first = 0; first < 64; first++) {
		assert_int_equal(bits_count(1ul << first), 1);
		assert_int_equal(bits_count(~(1ul << first)), 63);
		assert_int_equal(bits_count(~0ul << first), 64 - first);
	}
	assert_int_equal(bits_count(0), 0);
	for (unsigned int i = 0; i < 100000; i++) {
		random = random * 6364136223846793005ull + 1442695040888963407ull;
		assert_int_equal(bits_count(random), count_one_by_one(random));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
