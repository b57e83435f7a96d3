/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/util_test.c - messages, numbers, sizes, workers
 */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "child.h"
#include "util.h"

static void say_usage(void *arg)
{
	(void)arg;
	CHILD_CHECK(util_usage_error("info", "no %s", "such") == EXIT_USAGE);
	CHILD_CHECK(util_usage_error(NULL, "which?") == EXIT_USAGE);
	CHILD_CHECK(util_fail("run", "%d", 7) == EXIT_FAILED);
	util_warn("run", "so so");
	util_warn("run", "so %s", "so"); /* said once */
	util_warn("run", "and so");
}

static void test_messages(void **state)
{
	struct child c = child_run(say_usage, NULL);

	(void)state;
	assert_true(child_passed(&c));
	assert_string_equal(c.text, "uslab info: no such\nTry 'uslab info --help'.\n"
				    "uslab: which?\nTry 'uslab --help'.\n"
				    "uslab run: 7\nuslab run: so so\nuslab run: and so\n");
}

static void test_printable(void **state)
{
	static const char *const cases[][2] = {
		{ "as it is, \xc3\xa4\xe2\x82\xac\xf0\x9f\x90\xa7\ntwo", NULL },
		{ "\033[2Jgone\r\t\x7f", "?[2Jgone???" },
		{ "\xff\xfe", "??" },
		{ "\xc2\x9b"
		  "2J",
		  "??2J" }, /* the same in one character */
		{ "cut \xe2\x82", "cut ??" },
		{ "\xc3(", "?(" },
		{ "\xe0\x82\x9b", "???" }, /* and in too many bytes */
		{ "\xf0\x80\x82\x9b", "????" },
		{ "\xed\xa0\x80", "???" }, /* half a pair */
		{ "\xf4\x90\x80\x80", "????" },
		/* what turns the direction of text, and what stands beside it */
		{ "\xe2\x80\x8e|\xe2\x80\x8f", "???|???" },
		{ "\xe2\x80\xaa|\xe2\x80\xae"
		  "cba",
		  "???|???cba" },
		{ "\xe2\x81\xa6|\xe2\x81\xa9", "???|???" },
		{ "\xd8\x9c|\xd8\x9b|\xd9\x9c", "??|\xd8\x9b|\xd9\x9c" },
		{ "\xe2\x80\x8d|\xe2\x80\x90|\xe2\x80\xa9|\xe2\x80\xaf", NULL },
		{ "\xe2\x81\xa5|\xe2\x81\xaa|\xe2\x82\xa6|\xe1\x80\xae", NULL },
		{ "", NULL },
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		strcpy(text, cases[i][0]);
		util_make_printable(text);
		assert_string_equal(text, cases[i][1] ? cases[i][1] : cases[i][0]);
	}
}

static void test_numbers(void **state)
{
	static const char *const wrong[] = { "",     " 1", "+1", "-1", "1 ",
					     "0x10", "1k", "4",	 "11", "18446744073709551616" };
	unsigned long value = 77;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_false(util_parse_number(wrong[i], 5, 10, &value));
		assert_int_equal(value, 77);
	}
	assert_true(util_parse_number("5", 5, 10, &value));
	assert_int_equal(value, 5);
	assert_true(util_parse_number("010", 5, 10, &value)); /* decimal, not octal */
	assert_int_equal(value, 10);
	assert_true(util_parse_number("18446744073709551615", 0, ~0ul, &value));
	assert_true(value == ~0ul);
}

static void test_sizes(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} cases[] = {
		{ 0, "0 B" },
		{ 1023, "1023 B" },
		{ 1024, "1.0 KiB" },
		{ 1536, "1.5 KiB" },
		{ 1048575, "1.0 MiB" },
		{ 1ull << 30, "1.0 GiB" },
		{ UINT64_MAX, "16.0 EiB" },
	};
	char buf[UTIL_SIZE_TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(util_size(buf, sizeof(buf), cases[i].bytes), cases[i].text);
}

static void parse(void *arg)
{
	static const struct option options[] = {
		{ "value", required_argument, NULL, 'v' },
		{ "switch", no_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	char *argv[] = { "cmd", arg, NULL };
	int got;

	opterr = 0;
	optind = 0;
	got = getopt_long(2, argv, ":v:s", options, NULL);
	CHILD_CHECK(util_bad_option("cmd", argv, got) == EXIT_USAGE);
}

static void test_bad_options(void **state)
{
	static const struct {
		const char *argument;
		const char *text;
	} cases[] = {
		{ "-x", "unknown option '-x'" },
		{ "--nope", "unknown or ambiguous option '--nope'" },
		{ "-v", "option '-v' needs a value" },
		{ "--value", "option '--value' needs a value" },
		{ "--switch=1", "option '--switch' takes no value" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct child c = child_run(parse, (void *)cases[i].argument);

		assert_true(child_passed(&c));
		assert_non_null(strstr(c.text, cases[i].text));
	}
}

/* Standard error is no terminal here: nothing may be written to it. */
static void show_progress(void *arg)
{
	struct progress p;

	(void)arg;
	progress_start(&p, "cmd");
	progress_show(&p, "%d", 1);
	progress_end(&p);
}

static void test_no_progress(void **state)
{
	struct child c = child_run(show_progress, NULL);

	(void)state;
	assert_true(child_passed(&c));
	assert_string_equal(c.text, "");
}

/* Somebody flushed before, and the error is of then. */
static void write_to_full_disk(void *arg)
{
	(void)arg;
	CHILD_CHECK(freopen("/dev/full", "w", stdout));
	puts("text");
	fflush(stdout);
	CHILD_CHECK(util_finish("cmd", EXIT_OK) == EXIT_FAILED);
}

static void test_full_disk(void **state)
{
	struct child c = child_run(write_to_full_disk, NULL);

	(void)state;
	assert_true(child_passed(&c));
	assert_string_equal(c.text, "uslab cmd: cannot write all of the output\n");
}

struct worker {
	pid_t pid;
	bool runs; /* atomic */
};

/* One that waits for ever, whose parent ends once it runs. */
static void leave_worker(void *arg)
{
	struct worker *w = arg;
	pid_t pid = util_fork();

	CHILD_CHECK(pid >= 0);
	if (!pid) {
		alarm(60); /* where it is left alone, by another signal */
		__atomic_store_n(&w->runs, true, __ATOMIC_RELAXED);
		for (;;)
			pause();
	}
	w->pid = pid;
	while (!__atomic_load_n(&w->runs, __ATOMIC_RELAXED))
		sched_yield();
}

static void test_worker_left_alone(void **state)
{
	struct worker *w =
		mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct child c;
	int status;

	(void)state;
	assert_ptr_not_equal(w, MAP_FAILED);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	c = child_run(leave_worker, w);
	assert_true(child_passed(&c));
	assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	munmap(w, sizeof(*w));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages),    cmocka_unit_test(test_printable),
		cmocka_unit_test(test_numbers),	    cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_bad_options), cmocka_unit_test(test_no_progress),
		cmocka_unit_test(test_full_disk),   cmocka_unit_test(test_worker_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
