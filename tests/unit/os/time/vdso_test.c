/* SPDX-License-Identifier: MIT */
/*
 * unit/os/time/vdso_test.c - the library's clock is the kernel's, also if clock_gettime() is not
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "os/time/clock.h"
#include "os/time/vdso.h"

/* In place of libc's, as libfaketime has one: time stands still. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	*now = (struct timespec){ 5, 0 };
	return 0;
}

static uint64_t kernel_us(void)
{
	struct timespec now;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void test_clocks(void **state)
{
	uint64_t before = kernel_us();
	uint64_t us, ms;

	(void)state;
	errno = 77;
	us = os_clock_us();
	ms = os_clock_ms();
	assert_int_equal(errno, 77);
	assert_in_range(us, before, kernel_us());
	/* the coarse one may be a tick behind */
	assert_in_range(ms, before / 1000 - 100, kernel_us() / 1000);
}

static void test_find(void **state)
{
	bool any = getauxval(AT_SYSINFO_EHDR);

	(void)state;
	errno = 77;
	assert_null(os_vdso_find("no such function"));
	assert_null(os_vdso_find(""));
	assert_int_equal(any, os_vdso_find("__vdso_clock_gettime") ||
				      os_vdso_find("__kernel_clock_gettime"));
	assert_int_equal(errno, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clocks),
		cmocka_unit_test(test_find),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
