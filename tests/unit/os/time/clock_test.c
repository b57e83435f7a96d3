/* SPDX-License-Identifier: MIT */
/*
 * unit/os/time/clock_test.c - the coarse clock against the fine one
 *
 * The coarse clock is behind by at most one tick (10 ms with the slowest kernel).
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>
#include <cmocka.h>

#include "os/time/clock.h"

static uint64_t fine_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/*
 * It lags by up to a tick of the kernel, which may be late itself where a hypervisor holds a CPU
 * back: so most of its values count, not each, however long one of them stood.
 */
static void test_agrees(void **state)
{
	uint64_t start = os_clock_ms();
	uint64_t last = start;
	unsigned int looks = 0;
	unsigned int close = 0;

	(void)state;
	errno = 77;
	while (last - start < 50) {
		uint64_t before = fine_ms();
		uint64_t now = os_clock_ms();

		assert_true(now >= last);
		assert_true(now <= fine_ms());
		if (now != last || !looks) {
			looks++;
			close += now + 11 >= before;
		}
		last = now;
	}
	assert_true(2 * close > looks);
	assert_int_equal(errno, 77);
}

static uint64_t played;

static uint64_t play(void)
{
	return played;
}

static void test_played(void **state)
{
	uint64_t before = os_clock_us();

	(void)state;
	played = 61000123;
	os_clock_play(play);
	assert_int_equal(os_clock_us(), 61000123);
	assert_int_equal(os_clock_ms(), 61000);
	played += 877;
	assert_int_equal(os_clock_ms(), 61001);
	os_clock_play(NULL);
	assert_in_range(os_clock_us(), before, before + 60000000);
	assert_true(os_clock_ms() <= fine_ms());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_agrees),
		cmocka_unit_test(test_played),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
