/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/command/filtered_test.c - who has a filter of system calls
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/atomic.h"
#include "child.h"
#include "command/filtered.h"
#include "os/process/filter.h"

static int done[2]; /* a pipe that ends when the thread may end */

static void *wait_filtered(void *filtered)
{
	char byte;

	child_deny(SYS_acct, EPERM);
	store_release((bool *)filtered, true);
	CHILD_CHECK(read(done[0], &byte, 1) == 0);
	return NULL;
}

static void other_thread(__attribute__((unused)) void *arg)
{
	bool filtered = false;
	pthread_t thread;

	CHILD_CHECK(pipe(done) == 0);
	CHILD_CHECK(pthread_create(&thread, NULL, wait_filtered, &filtered) == 0);
	while (!load_acquire(&filtered))
		usleep(1000);
	CHILD_CHECK(filtered_process(getpid(), 1) == FILTERED_SINCE);
	close(done[1]);
	pthread_join(thread, NULL);
}

static void this_thread(__attribute__((unused)) void *arg)
{
	child_deny(SYS_acct, EPERM);
	CHILD_CHECK(filtered_process(getpid(), 1) == FILTERED_SINCE);
	CHILD_CHECK(filtered_process(getpid(), 0) == FILTERED_UNKNOWN);
}

static void test_filtered(void **state)
{
	struct child c = child_run(this_thread, state);

	assert_true(child_passed(&c));
	c = child_run(other_thread, state);
	assert_true(child_passed(&c));
	assert_int_equal(filtered_process(INT32_MAX, 1), FILTERED_NOT); /* no such process */
	assert_int_equal(filtered_process(INT32_MAX, 0), FILTERED_NOT);
}

/* ---- made-up processes: other kernels, and what cannot be made here ---- */

static char folder[] = "/tmp/filtered_test.XXXXXX";

static void make_thread(const char *thread, const char *status)
{
	char path[100];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, thread);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%s/status", folder, thread);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(status, file);
	fclose(file);
}

static void remove_thread(const char *thread)
{
	char path[100];

	snprintf(path, sizeof(path), "%s/%s/status", folder, thread);
	unlink(path);
	snprintf(path, sizeof(path), "%s/%s", folder, thread);
	rmdir(path);
}

#define STATUS(mode, filters) "Name:\tx\nSeccomp:\t" mode "\nSeccomp_filters:\t" filters "\n"

/* One at a time is enough. Without any nothing is known, which is not taken for "no filter". */
static void with_few_descriptors(__attribute__((unused)) void *arg)
{
	struct rlimit limit;
	int last = dup(2);

	CHILD_CHECK(last >= 0 && !getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = (rlim_t)last + 1;
	CHILD_CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	CHILD_CHECK(filtered_threads(folder, 3) == FILTERED_UNREAD);
	close(last);
	CHILD_CHECK(filtered_threads(folder, 3) == FILTERED_NOT);
}

static void test_counted(__attribute__((unused)) void **state)
{
	struct child result;

	assert_non_null(mkdtemp(folder));
	make_thread("10", STATUS("2", "2"));
	assert_int_equal(filtered_threads(folder, 3), FILTERED_NOT);
	assert_int_equal(filtered_threads(folder, 2), FILTERED_SINCE);
	assert_int_equal(filtered_threads(folder, 1), FILTERED_SINCE);
	assert_int_equal(filtered_threads(folder, 0), FILTERED_UNKNOWN);

	/* one thread is enough */
	make_thread("11", STATUS("2", "3"));
	assert_int_equal(filtered_threads(folder, 3), FILTERED_SINCE);
	assert_int_equal(filtered_threads(folder, 4), FILTERED_NOT);
	make_thread("11", STATUS("0", "0"));
	assert_int_equal(filtered_threads(folder, 3), FILTERED_NOT);
	make_thread("11", STATUS("1", "0")); /* the strict mode */
	assert_int_equal(filtered_threads(folder, 4), FILTERED_SINCE);

	/* one that ends processes; known from the start */
	assert_int_equal(FILTERED_AT_START_ENDS, OS_FILTERS_END);
	assert_int_equal(filtered_threads(folder, OS_FILTERS_END), FILTERED_SINCE);
	make_thread("11", STATUS("0", "0"));
	assert_int_equal(filtered_threads(folder, OS_FILTERS_END), FILTERED_ENDS);

	/* before Linux 5.9; without filters at all */
	make_thread("10", "Name:\tx\nSeccomp:\t2\n");
	make_thread("11", "Name:\tx\nSeccomp:\t0\n");
	assert_int_equal(filtered_threads(folder, 3), FILTERED_UNKNOWN);
	assert_int_equal(filtered_threads(folder, 0), FILTERED_UNKNOWN);
	assert_int_equal(filtered_threads(folder, 1), FILTERED_SINCE);
	make_thread("10", "Name:\tx\n");
	assert_int_equal(filtered_threads(folder, 0), FILTERED_NOT);

	result = child_run(with_few_descriptors, NULL);
	remove_thread("10");
	remove_thread("11");
	rmdir(folder);
	assert_true(child_passed(&result));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_filtered),
		cmocka_unit_test(test_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
