/* SPDX-License-Identifier: MIT */
/*
 * unit/os/clock_test.c - the coarse clock against the fine one
 *
 * The coarse clock is behind by at most one tick (10 ms with the slowest kernel).
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>
#include <cmocka.h>

#include "os/clock.h"

static uint64_t fine_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void test_agrees(void **state)
{
	uint64_t end = fine_ms() + 50;
	uint64_t start = os_clock_ms();
	uint64_t last = start;
	uint64_t before;

	(void)state;
	errno = 77;
	do {
		uint64_t now;

		before = fine_ms();
		now = os_clock_ms();
		assert_true(now >= last);
		assert_true(now + 11 >= before);
		assert_true(now <= fine_ms());
		last = now;
	} while (before < end);
	assert_true(last - start >= 30);
	assert_int_equal(errno, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_agrees) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
