/* SPDX-License-Identifier: MIT */
/*
 * unit/os/process/thread_end_test.c - who asks for a call at the end of its thread gets one
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "os/process/thread_end.h"

static __thread int mine;
static int ended;
static int of_thread;

static void ends(void)
{
	ended++;
	of_thread = mine;
}

static void *ask(void *arg)
{
	mine = 42;
	for (int i = 0; i < *(int *)arg; i++)
		if (os_thread_end_ask())
			return NULL;
	return arg;
}

static void run(int asked)
{
	pthread_t thread;
	void *result;

	assert_int_equal(pthread_create(&thread, NULL, ask, &asked), 0);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, &asked);
}

static void test_once(void **state)
{
	(void)state;
	assert_int_equal(os_thread_end_init(ends), 0);
	run(0);
	assert_int_equal(ended, 0);
	run(1);
	assert_int_equal(ended, 1);
	assert_int_equal(of_thread, 42); /* by that thread, with its data */
	run(3);
	assert_int_equal(ended, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_once) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
