/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/filtered_test.c - who has a filter of system calls
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/atomic.h"
#include "child.h"
#include "filtered.h"

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
	CHILD_CHECK(filtered_process(getpid()));
	close(done[1]);
	pthread_join(thread, NULL);
}

static void this_thread(__attribute__((unused)) void *arg)
{
	child_deny(SYS_acct, EPERM);
	CHILD_CHECK(filtered_process(getpid()));
}

static void test_filtered(void **state)
{
	struct child c = child_run(this_thread, state);

	assert_true(child_passed(&c));
	c = child_run(other_thread, state);
	assert_true(child_passed(&c));
	assert_false(filtered_process(INT32_MAX)); /* no such process */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_filtered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
