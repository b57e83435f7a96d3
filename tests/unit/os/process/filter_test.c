/* SPDX-License-Identifier: MIT */
/*
 * unit/os/process/filter_test.c - what was in place when the library started
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "bare.h"
#include "child.h"
#include "os/process/filter.h"
#include "os/memory/readable.h"

static uint32_t count_of(const char *status)
{
	char path[] = "/tmp/filter_test.XXXXXX";
	int fd = mkstemp(path);
	uint32_t count;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, status, strlen(status)), strlen(status));
	errno = 77;
	count = os_filter_count(path);
	assert_int_equal(errno, 77);
	close(fd);
	unlink(path);
	return count;
}

static void test_count(__attribute__((unused)) void **state)
{
	char groups[6000];

	assert_int_equal(count_of("Name:\tx\nThreads:\t1\nSeccomp:\t2\nSeccomp_filters:\t2\n"), 3);
	assert_int_equal(count_of("Name:\tx\nThreads:\t1\nSeccomp:\t0\nSeccomp_filters:\t0\n"), 1);
	/* other threads may have others; kernels before 5.9 do not tell */
	assert_int_equal(count_of("Name:\tx\nThreads:\t2\nSeccomp:\t2\nSeccomp_filters:\t2\n"), 0);
	assert_int_equal(count_of("Name:\tx\nThreads:\t1\nSeccomp:\t2\n"), 0);
	assert_int_equal(count_of("Name:\tx\nThreads:\t1\nSeccomp_filters:\tx\n"), 0);
	assert_int_equal(os_filter_count("/nowhere"), 0);
	memset(groups, '7', sizeof(groups));
	memcpy(groups, "Groups:\t", 8);
	strcpy(groups + sizeof(groups) - 40, "\nThreads:\t1\nSeccomp_filters:\t2\n");
	assert_int_equal(count_of(groups), 0); /* the first 4 KiB are read */
}

/* Does the kernel count them? */
static bool kernel_counts(void)
{
	char line[256];
	FILE *file = fopen("/proc/self/status", "re");
	bool found = false;

	while (file && fgets(line, sizeof(line), file))
		found |= !strncmp(line, "Seccomp_filters:", 16);
	if (file)
		fclose(file);
	return found;
}

static void needs_no_filter(void)
{
	if (!bare_process())
		skip(); /* what runs it has threads, and asks for pages in its own way */
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0))
		skip_because("there is a filter of system calls");
}

static void start_under_one(__attribute__((unused)) void *arg)
{
	char word[] = "readable";
	char copy[8];
	void *hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	os_filter_init();
	CHILD_CHECK(!os_filtered);
	CHILD_CHECK(os_filters <= 1);
	errno = 77;
	CHILD_CHECK(!os_filter_was_added() && os_filter_lets_through());
	child_deny(SYS_acct, EPERM);
	CHILD_CHECK(os_filter_was_added() && !os_filter_lets_through());
	os_filter_init();
	CHILD_CHECK(!os_filter_was_added() && !os_filter_lets_through());
	CHILD_CHECK(errno == 77);
	CHILD_CHECK(os_filtered);
	CHILD_CHECK(os_filters == (kernel_counts() ? 2 : 0));
	child_deny(SYS_swapon, EPERM);
	CHILD_CHECK(os_filter_was_added() == kernel_counts());
	/* through the file */
	CHILD_CHECK(os_readable_copy(copy, word, 8) && !memcmp(copy, word, 8));
	CHILD_CHECK(!os_readable_copy(copy, hole, 8));
	CHILD_CHECK(!munmap(hole, 4096) && !os_readable_copy(copy, hole, 8));
	/* without it */
	child_deny(SYS_openat, EPERM);
	memset(copy, 0, 8);
	CHILD_CHECK(os_readable_copy(copy, word, 8) && !memcmp(copy, word, 8));
	CHILD_CHECK(!os_readable_copy(copy, hole, 8));
	CHILD_CHECK(errno == 77);
}

/* What ends processes for a call of commands ends a child, and the program starts. */
static void start_under_a_deadly_one(__attribute__((unused)) void *arg)
{
	child_end_at(SYS_madvise);
	os_filter_init();
	CHILD_CHECK(os_filtered);
	CHILD_CHECK(os_filters == OS_FILTERS_END);
	CHILD_CHECK(waitpid(-1, NULL, __WALL | WNOHANG) == -1 && errno == ECHILD);
}

/* What only misses call may be forbidden: a command may be made then. */
static void start_in_a_container(__attribute__((unused)) void *arg)
{
	child_enter_container();
	errno = 77;
	os_filter_init();
	CHILD_CHECK(os_filtered && os_filters == (kernel_counts() ? 2 : 0));
	CHILD_CHECK(os_filter_lets_through() == kernel_counts());
	CHILD_CHECK(errno == 77);
	child_end_at(SYS_mincore);
	os_filter_init();
	CHILD_CHECK(!os_filter_lets_through() && os_filters == (kernel_counts() ? 3 : 0));
	child_end_at(SYS_madvise);
	os_filter_init();
	CHILD_CHECK(!os_filter_lets_through() && os_filters == OS_FILTERS_END);
}

/* Each of these may have added another filter. */
static void no_container_any_more(__attribute__((unused)) void *arg)
{
	child_enter_container();
	os_filter_init();
	if (!kernel_counts())
		return;
	CHILD_CHECK(os_filter_lets_through());
	CHILD_CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHILD_CHECK(!os_filter_lets_through());
	os_filter_init();
	CHILD_CHECK(!os_filter_lets_through() && os_filters == 2);
}

/* As in a user namespace of its own. */
static void with_all_capabilities(__attribute__((unused)) void *arg)
{
	child_enter_container();
	os_filter_init();
	if (!kernel_counts())
		return;
	CHILD_CHECK(os_filter_lets_through());
	if (unshare(CLONE_NEWUSER))
		child_cannot("there are no user namespaces");
	CHILD_CHECK(!os_filter_lets_through());
}

static void test_container(void **state)
{
	static void (*const tests[])(void *arg) = {
		start_in_a_container,
		no_container_any_more,
		with_all_capabilities,
	};

	needs_no_filter();
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		struct child c = child_run(tests[i], state);

		assert_true(child_passed(&c));
	}
}

static void start_without_children(__attribute__((unused)) void *arg)
{
	child_deny(SYS_clone, EPERM);
	os_filter_init();
	CHILD_CHECK(os_filtered && os_filters == 0);
}

static void test_start(void **state)
{
	struct child c;

	needs_no_filter();
	c = child_run(start_under_one, state);
	assert_true(child_passed(&c));
	c = child_run(start_under_a_deadly_one, state);
	assert_true(child_passed(&c));
	c = child_run(start_without_children, state);
	assert_true(child_passed(&c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_container),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
