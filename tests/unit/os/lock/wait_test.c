/* SPDX-License-Identifier: MIT */
/*
 * unit/os/lock/wait_test.c - sleeping on a word: until it changes, until the time is over; for a
 * moment
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/lock/wait.h"

#define FOREVER 3600000u /* ms */
#define THREADS 4

static unsigned int word;
static unsigned int awake; /* threads that have seen another value; atomic */

static void *sleep_on_zero(void *arg)
{
	while (!load_acquire(&word)) /* pairs with change() */
		os_wait(&word, 0, FOREVER);
	fetch_add(&awake, 1);
	return arg;
}

static void change(unsigned int value)
{
	store_release(&word, value); /* pairs with sleep_on_zero() */
}

/* Another value than expected, or no time: it returns at once, and errno stays. */
static void test_returns(void **state)
{
	(void)state;
	word = 7;
	errno = 123;
	os_wait(&word, 6, FOREVER);
	os_wait(&word, 7, 0);
	os_wait(&word, 7, 1);
	os_wake(&word, 1);
	assert_int_equal(errno, 123);
}

/* The word is gone: nobody is woken, nothing is said. */
static void test_gone(void **state)
{
	(void)state;
	if (getenv("USLAB_TEST_VALGRIND"))
		skip(); /* valgrind checks the address that the kernel only compares */
	errno = 123;
	os_wake(NULL, OS_WAKE_ALL);
	assert_int_equal(errno, 123);
}

/* Not before the time is over, if nobody wakes it and no signal comes. */
static void test_time(void **state)
{
	struct timespec from;
	struct timespec to;

	(void)state;
	word = 0;
	clock_gettime(CLOCK_MONOTONIC, &from);
	os_wait(&word, 0, 1030);
	clock_gettime(CLOCK_MONOTONIC, &to);
	assert_true((to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000 >=
		    1000);
}

static void test_woken(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	word = 0;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, sleep_on_zero, NULL), 0);
	change(1);
	os_wake(&word, 1);
	os_wake(&word, OS_WAKE_ALL);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(awake, THREADS);
}

/* Each time twice as long, to a millisecond; none is shorter than it says. */
static void test_nap(void **state)
{
	struct timespec from;
	struct timespec to;
	unsigned int us = 0;
	unsigned int sum = 0;

	(void)state;
	errno = 123;
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (unsigned int i = 0, want = OS_NAP_LEAST_US; i < 10; i++, want *= 2) {
		os_nap(&us);
		assert_int_equal(us, MIN(want, OS_NAP_MOST_US));
		sum += us;
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	assert_int_equal(errno, 123);
	assert_true((to.tv_sec - from.tv_sec) * 1000000 + (to.tv_nsec - from.tv_nsec) / 1000 >=
		    sum);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_returns), cmocka_unit_test(test_gone),
		cmocka_unit_test(test_time),	cmocka_unit_test(test_woken),
		cmocka_unit_test(test_nap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
