/* SPDX-License-Identifier: MIT */
/*
 * unit/os/process/process_test.c - number and name of a thread, and the ends of a process
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "child.h"
#include "os/process/process.h"

static void check_name(const char *name)
{
	char buf[OS_THREAD_NAME_MAX];

	assert_int_equal(prctl(PR_SET_NAME, name), 0);
	errno = 77;
	os_thread_name(buf);
	assert_int_equal(errno, 77);
	assert_string_equal(buf, *name ? name : "?");
}

static void *thread(void *arg)
{
	assert_int_equal(os_thread_id(), syscall(SYS_gettid));
	assert_int_not_equal(os_thread_id(), getpid());
	check_name("other");
	return arg;
}

static void test_thread(void **state)
{
	pthread_t t;

	(void)state;
	assert_int_equal(os_thread_id(), getpid());
	check_name("fifteen letters");
	assert_int_equal(pthread_create(&t, NULL, thread, NULL), 0);
	assert_int_equal(pthread_join(t, NULL), 0);
	check_name("");
}

static void child_after_fork(void *arg)
{
	(void)arg;
	os_thread_id_forget();
	CHILD_CHECK(os_thread_id() == (unsigned int)getpid());
}

/* The number is remembered; a child asks anew. */
static void test_fork(void **state)
{
	struct child c;

	(void)state;
	assert_int_equal(os_thread_id(), getpid());
	c = child_run(child_after_fork, NULL);
	assert_true(child_passed(&c));
}

static void never(void)
{
	child_failed(__FILE__, __LINE__, "a handler ran");
}

static void child_exits(void *arg)
{
	(void)arg;
	CHILD_CHECK(!atexit(never));
	os_exit(7);
}

static void child_aborts(void *arg)
{
	(void)arg;
	os_abort();
}

static void test_ends(void **state)
{
	struct child c = child_run(child_exits, NULL);

	(void)state;
	assert_true(WIFEXITED(c.status));
	assert_int_equal(WEXITSTATUS(c.status), 7);
	c = child_run(child_aborts, NULL);
	assert_true(child_aborted(&c));
}

static void test_blocked(void **state)
{
	sigset_t set;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	assert_false(os_blocked_signals() >> (SIGUSR2 - 1) & 1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	assert_true(os_blocked_signals() >> (SIGUSR2 - 1) & 1);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	assert_false(os_blocked_signals() >> (SIGUSR2 - 1) & 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thread),
		cmocka_unit_test(test_blocked),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
