/* SPDX-License-Identifier: MIT */
/*
 * unit/os/time/utc_test.c - dates against known ones, and each day of some centuries against libc
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "os/time/utc.h"

static void test_known(void **state)
{
	static const struct {
		int64_t seconds;
		unsigned int us;
		const char *text;
	} rows[] = {
		{ 0, 0, "1970-01-01T00:00:00.000000Z" },
		{ 951782399, 999999, "2000-02-28T23:59:59.999999Z" },
		{ 951782400, 0, "2000-02-29T00:00:00.000000Z" },
		{ 1709251199, 1, "2024-02-29T23:59:59.000001Z" },
		{ 2147483648, 12, "2038-01-19T03:14:08.000012Z" },
		{ 4107542400, 0, "2100-03-01T00:00:00.000000Z" },
		{ -1, 500000, "1969-12-31T23:59:59.500000Z" },
		{ 253402300799, 0, "9999-12-31T23:59:59.000000Z" },
	};
	char text[OS_UTC_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		os_utc_text(text, rows[i].seconds, rows[i].us);
		assert_string_equal(text, rows[i].text);
	}
}

/* From 1900 on, with the years of centuries that have no leap day, and one that has. */
static void test_each_day(void **state)
{
	char text[OS_UTC_BYTES];
	char expected[64];

	(void)state;
	for (long day = -25567; day < 100000; day++) {
		time_t seconds = day * 86400 + (day & 0xffff);
		struct tm tm;

		assert_non_null(gmtime_r(&seconds, &tm));
		assert_true(strftime(expected, sizeof(expected), "%Y-%m-%dT%H:%M:%S.000007Z", &tm));
		os_utc_text(text, seconds, 7);
		assert_string_equal(text, expected);
	}
}

static void test_now(void **state)
{
	char before[OS_UTC_BYTES], text[OS_UTC_BYTES], after[OS_UTC_BYTES];
	struct timespec now;

	(void)state;
	errno = 77;
	clock_gettime(CLOCK_REALTIME, &now);
	os_utc_text(before, now.tv_sec, (unsigned int)(now.tv_nsec / 1000));
	os_utc_now(text);
	clock_gettime(CLOCK_REALTIME, &now);
	os_utc_text(after, now.tv_sec, (unsigned int)(now.tv_nsec / 1000));
	assert_true(strcmp(before, text) <= 0 && strcmp(text, after) <= 0);
	assert_int_equal(errno, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_each_day),
		cmocka_unit_test(test_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
