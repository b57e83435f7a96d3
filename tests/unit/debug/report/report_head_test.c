/* SPDX-License-Identifier: MIT */
/*
 * unit/debug/report/report_head_test.c - which reports are written, and the lines before them
 */
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "child.h"
#include "debug/report/report.h"
#include "debug/report/report_head.h"

static int defaults(void **state)
{
	(void)state;
	report_head_reset();
	report_counters.suppressed = 0;
	return !report_set_burst("10") || !report_set_interval("5") || !report_set_time("1");
}

static void test_options(void **state)
{
	(void)state;
	assert_true(report_set_burst("0") && report_set_burst("1k"));
	assert_false(report_set_burst("") || report_set_burst("many") || report_set_burst("5g"));
	assert_true(report_set_interval("0") && report_set_interval("1000000"));
	assert_false(report_set_interval("") || report_set_interval("1000001"));
	assert_true(report_set_time("0") && report_set_time("1"));
	assert_false(report_set_time("") || report_set_time("2") || report_set_time("10"));
}

/* Ten in five seconds from the first one on. */
static void test_limit(void **state)
{
	uint64_t now = 1000;

	(void)state;
	for (int i = 0; i < 10; i++)
		assert_true(report_limit_takes(1, now + 100 * (uint64_t)i));
	assert_false(report_limit_has_left_out());
	for (int i = 0; i < 7; i++)
		assert_false(report_limit_takes(1, now + 4999));
	assert_true(report_limit_has_left_out());
	assert_int_equal(report_counters.suppressed, 7);
	assert_true(report_limit_takes(1, now + 5000));
	for (int i = 0; i < 9; i++)
		assert_true(report_limit_takes(1, now + 9999));
	assert_false(report_limit_takes(1, now + 9999));
	assert_true(report_limit_takes(1, now + 10000));
}

/* A text is written whole, and each of its reports counts. */
/* Notes: one in an interval, and reports have theirs beside it. */
static void test_notes(void **state)
{
	unsigned long before = report_counters.suppressed;

	(void)state;
	assert_true(report_limit_takes_note(1000));
	assert_false(report_limit_takes_note(1000) || report_limit_takes_note(5999));
	assert_int_equal(report_counters.suppressed, before + 2);
	assert_true(report_limit_has_left_out() && report_limit_takes(10, 1000));
	assert_true(report_limit_takes_note(6000));
	report_head_reset();
	assert_true(report_limit_takes_note(6000) && !report_limit_takes_note(6000));
	assert_true(report_set_burst("0"));
	assert_true(report_limit_takes_note(6000));
}

static void test_long_texts(void **state)
{
	(void)state;
	assert_true(report_limit_takes(9, 1000));
	assert_true(report_limit_takes(50, 1000));
	assert_false(report_limit_takes(3, 1000));
	assert_false(report_limit_takes(1, 1000));
	report_limit_leave_out(2);
	assert_int_equal(report_counters.suppressed, 6);
}

static void test_no_limit(void **state)
{
	(void)state;
	for (int i = 0; i < 11; i++)
		report_limit_takes(1, 1000);
	assert_int_equal(report_counters.suppressed, 1);
	assert_true(report_set_burst("0"));
	assert_true(report_limit_takes(1, 1000));
	assert_true(report_set_burst("1") && report_set_interval("0"));
	assert_true(report_limit_takes(1, 1000) && report_limit_takes(1, 1000));
}

static void check_head(bool is_report, const char *pattern)
{
	char head[REPORT_TEXT_HEAD_MAX];
	size_t len = report_head(head, is_report);
	regex_t regex;

	assert_int_equal(len, strlen(head));
	assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
	if (regexec(&regex, head, 0, NULL, 0))
		fail_msg("\"%s\" is not %s", head, pattern);
	regfree(&regex);
}

static void test_head(void **state)
{
	char stamp[200];
	char both[400];

	(void)state;
	snprintf(stamp, sizeof(stamp),
		 "uslab: [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}Z pid=%d "
		 "tid=%ld\n$",
		 getpid(), syscall(SYS_gettid));
	snprintf(both, sizeof(both),
		 "^uslab: 4294967295 reports were suppressed; USLAB_CONF=report.burst=0 shows "
		 "all\n%s",
		 stamp);
	memmove(stamp + 1, stamp, strlen(stamp) + 1);
	stamp[0] = '^';
	check_head(true, stamp);
	check_head(false, "^$"); /* a trace */
	report_limit_leave_out(UINT32_MAX);
	check_head(true, both);
	check_head(true, stamp); /* it is said once */
	report_limit_leave_out(1);
	assert_true(report_set_time("0"));
	check_head(true, "^uslab: 1 reports were suppressed; .*\n$");
	check_head(true, "^$");
}

static void test_child(void **state)
{
	(void)state;
	report_limit_leave_out(3);
	report_head_reset();
	assert_false(report_limit_has_left_out());
	/* what the parent wrote counts no more, also if it left nothing out */
	assert_true(report_limit_takes(10, 1000));
	report_head_reset();
	assert_true(report_limit_takes(10, 1000));
}

/* ---- a text without space ---- */

enum { MANY = 500 }; /* reports of more than a text holds */

static void hook_for_many(const char *name, const char *report, void *arg)
{
	unsigned int begun = 0;
	char line[100];

	(void)name;
	for (const char *at = report; (at = strstr(at, "\nBUG many")); at++)
		begun++;
	snprintf(line, sizeof(line), "the rest and %u more reports are left out]\n", MANY - begun);
	CHILD_CHECK(strstr(report, line));
	*(unsigned int *)arg = begun;
}

static void report_many(void)
{
	struct engine many = { .name = "many" };

	for (unsigned int i = 0; i < MANY; i++)
		report_slab_counts(&many, NULL, REPORT_MOST_OBJECTS, i, 0);
	report_deliver();
}

/* What finds no space in a text is left out, and counts as it does beyond the burst. */
static void child_reports_many(void *arg)
{
	unsigned int first, begun = 0; /* they differ: the second text says that it is tainted */

	(void)arg;
	CHILD_CHECK(report_set_file("/dev/null") && report_set_interval("100000"));
	report_set_hook(hook_for_many, &begun, false);
	report_many();
	first = begun;
	CHILD_CHECK(first > 10 && report_counters.suppressed == MANY - first);
	report_many(); /* the burst leaves out all of it */
	CHILD_CHECK(report_counters.suppressed == 2 * MANY - first);
	CHILD_CHECK(report_counters.reports == 2 * MANY);
}

static void test_no_space(void **state)
{
	struct child c = child_run(child_reports_many, NULL);

	(void)state;
	assert_true(child_passed(&c));
}

#define TEST(name) cmocka_unit_test_setup(test_##name, defaults)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(options),	TEST(limit), TEST(notes), TEST(long_texts),
		TEST(no_limit), TEST(head),  TEST(child), TEST(no_space),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	report_head_reset(); /* nothing is said at the end */
	return failed;
}
