/* SPDX-License-Identifier: MIT */
/*
 * unit/debug/report/report_text_test.c - the buffer of reports: one thread at a time, cut where it
 * is full
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "bare.h"
#include "child.h"
#include "debug/stacks.h"
#include "debug/report/report_text.h"
#include "objects.h"

static const char *get(void)
{
	size_t len;
	const char *text = report_text_get(&len);

	assert_int_equal(len, strlen(text));
	return text;
}

static void test_print(void **state)
{
	(void)state;
	assert_false(report_text_is_open());
	report_text_open();
	assert_true(report_text_is_open());
	assert_string_equal(get(), "");
	report_text_print("%-9s%lx: %02x\n", "Object", 0xabcul, 7);
	report_text_open(); /* goes on */
	report_text_print("%c", 'x');
	assert_string_equal(get(), "Object   abc: 07\nx");
	report_text_close();
	assert_false(report_text_is_open());
	report_text_open();
	assert_string_equal(get(), "");
	report_text_close();
}

static void test_symbols(void **state)
{
	static const uintptr_t pcs[] = { 0x10, 0x20, 0x30 };
	uint32_t handle = stacks_save(pcs + 1, 2);

	(void)state;
	report_text_open();
	report_text_symbol(0x1234);
	report_text_print("\n");
	report_text_frames("    ", pcs, 3);
	assert_int_equal(report_text_stack(" ", 0), 0);
	assert_int_equal(report_text_stack(" ", handle), 2);
	assert_string_equal(get(), "0x1234\n    0x10\n    0x20\n    0x30\n 0x20\n 0x30\n");
	report_text_close();
}

static void test_name_of_function(void **state)
{
	(void)state;
	NEEDS_OBJECTS();
	report_text_open();
	report_text_symbol((uintptr_t)test_print + 4);
	assert_memory_equal(get(), "test_print+0x4/0x", 17);
	report_text_close();
}

/* Lines of any length: what fits stays whole, and a last line says that there was more. */
static void test_full(void **state)
{
	static const char last[] = "[the report is longer than 64 KiB: the rest is left out]\n";
	char line[64 + 2] = "";

	(void)state;
	for (size_t len = 1; len <= 64; len++) {
		const char *end;

		line[len - 1] = 'a';
		line[len] = '\n';
		report_text_open();
		for (size_t used = 0; used < REPORT_TEXT_MAX + 100; used += len + 1)
			report_text_print("%s", line);
		end = get() + strlen(get()) - strlen(last);
		assert_string_equal(end, last);
		assert_memory_equal(end - len - 1, line, len + 1);
		assert_in_range(strlen(get()), REPORT_TEXT_MAX - sizeof(last) - len - 1,
				REPORT_TEXT_MAX - 1);
		report_text_close();
		line[len] = '\0';
	}
	report_text_open(); /* and the next one is empty */
	assert_string_equal(get(), "");
	report_text_close();
}

/*
 * More than there is a note for, and more than there is room for: each line has its own name still.
 */
static void test_many_symbols(void **state)
{
	unsigned int i, at = 0;
	unsigned int n;
	int len;

	(void)state;
	report_text_open();
	for (i = 0; i < 6000; i++) {
		report_text_print("%u ", i);
		report_text_symbol(0x100000 + i);
		report_text_print("\n");
	}
	for (i = 0; sscanf(get() + at, "%u 0x%*x\n%n", &n, &len) == 1; i++) {
		char line[64];

		assert_int_equal(len, snprintf(line, sizeof(line), "%u 0x%x\n", i, 0x100000 + i));
		assert_memory_equal(get() + at, line, (size_t)len);
		at += (unsigned int)len;
	}
	assert_in_range(i, REPORT_TEXT_MAX / 16, 5999);
	assert_memory_equal(get() + at, "[the report is longer", 21);
	report_text_close();
}

/* What comes behind the text that was asked for already. */
static void test_goes_on(void **state)
{
	(void)state;
	report_text_open();
	report_text_print("in ");
	report_text_symbol(0x10);
	assert_string_equal(get(), "in 0x10");
	report_text_symbol(0x20);
	report_text_print(" and ");
	report_text_symbol(0x30);
	assert_string_equal(get(), "in 0x100x20 and 0x30");
	report_text_print(".\n");
	assert_string_equal(get(), "in 0x100x20 and 0x30.\n");
	report_text_close();
}

/* No file is opened as long as a report is collected, which is done under locks. */
static void look_up_late(__attribute__((unused)) void *arg)
{
	report_text_open();
	report_text_symbol((uintptr_t)test_print + 5);
	child_deny(SYS_openat, EACCES);
	CHILD_CHECK(*get() &&
		    !strstr(get(), "test_print")); /* as far as that goes without a file */
}

static void test_looked_up_late(void **state)
{
	struct child c;

	if (!bare_process())
		skip(); /* tools open files themselves */
	c = child_run(look_up_late, state);
	assert_true(child_passed(&c));
}

/* n reports of lines of 100 bytes, a name in each, as many as get() says. */
static void put_reports(unsigned int n, unsigned int lines)
{
	report_text_open();
	for (unsigned int i = 0; i < n; i++) {
		report_text_begin();
		report_text_print("report %u\n", i);
		for (unsigned int line = 0; line < lines; line++) {
			report_text_print("%-96s", "");
			report_text_symbol(0x1);
			report_text_print("\n");
		}
	}
}

static void check_lost(unsigned int n)
{
	const char *text = get();
	unsigned int begun = 0;
	char last[100];

	for (const char *at = text; (at = strstr(at, "report ")); at++)
		begun += at[7] != 'i'; /* "the report is longer" */
	assert_int_equal(report_text_lost(), n - begun);
	snprintf(last, sizeof(last), "64 KiB: the rest and %u more reports are left out]\n",
		 n - begun);
	assert_string_equal(text + strlen(text) - strlen(last), last);
}

/* Reports of which nothing fits are counted, also where it is names that take the space. */
static void test_lost(void **state)
{
	(void)state;
	put_reports(6, 100);
	assert_non_null(strstr(get(), "report 5\n"));
	assert_int_equal(report_text_lost(), 0);
	report_text_close();
	put_reports(9, 100);
	check_lost(9);
	assert_non_null(strstr(get(), "report 6\n")); /* cut */
	assert_null(strstr(get(), "report 7\n"));
	report_text_begin(); /* the line is written: what is lost later is only counted */
	report_text_print("report 9\n");
	assert_non_null(strstr(get(), "and 2 more reports"));
	assert_int_equal(report_text_lost(), 3);
	report_text_close();
	put_reports(1000, 1); /* short ones */
	check_lost(1000);
	report_text_close();
	put_reports(8, 100);
	assert_non_null(strstr(get(), "the rest and 1 more report are left out]\n"));
	report_text_close();
}

/* Without names all fits. */
static void test_lost_by_names(void **state)
{
	(void)state;
	NEEDS_OBJECTS();
	report_text_open();
	for (unsigned int i = 0; i < 400; i++) {
		report_text_begin();
		report_text_print("report %u\n%-140s\n", i, "");
		for (unsigned int name = 0; name < 4; name++)
			report_text_symbol((uintptr_t)test_print + 4);
		report_text_print("\n");
	}
	assert_int_equal(report_text_lost(), 0);
	check_lost(400);
	report_text_close();
}

/* One line that is too long: nothing of it. */
static void test_long_line(void **state)
{
	char *line = malloc(REPORT_TEXT_MAX + 1);

	(void)state;
	memset(line, 'l', REPORT_TEXT_MAX);
	line[REPORT_TEXT_MAX] = '\0';
	report_text_open();
	report_text_print("%s", line);
	assert_memory_equal(get(), "[the report is longer", 21);
	report_text_close();
	free(line);
}

static unsigned int inside;

static void *writer(void *arg)
{
	for (int i = 0; i < 2000; i++) {
		report_text_open();
		if (__atomic_fetch_add(&inside, 1, __ATOMIC_RELAXED))
			abort();
		report_text_print("%s %d\n", (const char *)arg, i);
		if (strchr(get(), '\n')[1])
			abort(); /* somebody else's line */
		__atomic_fetch_sub(&inside, 1, __ATOMIC_RELAXED);
		report_text_close();
	}
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t threads[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, writer, "t"), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

/* A child of fork() has the text to itself, whoever had it open. */
static void *forks(void *arg)
{
	int status = 1;
	pid_t pid = fork();

	if (!pid) {
		report_text_reset();
		report_text_open();
		_exit(report_text_is_open() && !*get() ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return arg;
}

static void test_fork(void **state)
{
	pthread_t t;

	(void)state;
	report_text_open();
	report_text_print("half a");
	assert_int_equal(pthread_create(&t, NULL, forks, NULL), 0);
	assert_int_equal(pthread_join(t, NULL), 0);
	report_text_close();
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_symbols),
		cmocka_unit_test(test_name_of_function),
		cmocka_unit_test(test_many_symbols),
		cmocka_unit_test(test_goes_on),
		cmocka_unit_test(test_looked_up_late),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_lost_by_names),
		cmocka_unit_test(test_long_line),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_fork),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
