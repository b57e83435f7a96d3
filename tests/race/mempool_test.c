/* SPDX-License-Identifier: MIT */
/*
 * race/mempool_test.c - waiting for elements, with delays where a wakeup could be lost
 *
 * The pool's code is compiled into this file with its sleep and its wakeup wrapped: a thread may
 * be late between the look that found nothing and its sleep, and between an element that is kept
 * and the wakeup. Nobody looks again after a time, so that one lost wakeup ends in an alarm.
 *
 * With the rule broken that who sleeps has looked since the last wakeup, or without any wakeups, it
 * must not come to an end.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/atomic.h"
#include "os/lock/wait.h"

static void late_wait(const unsigned int *word, unsigned int value, unsigned int ms);
static void late_wake(const unsigned int *word, unsigned int nr);

#define os_wait late_wait
#define os_wake late_wake
#include "cache/mempool/elements.c"
#include "api/mempool_api.c"
#undef os_wait
#undef os_wake

#include "bare.h"
#include "child.h"
#include "threads.h"

#define USERS 6
#define FOREVER 86400000u /* ms */
#define TOO_LONG 300	  /* s, of a machine with much to do */

static __thread unsigned int seed;
static unsigned int rounds = 6000;
static bool word_stays;		   /* broken: it sleeps whatever came after its look */
static bool nobody_told;	   /* broken: nobody is woken */
static void (*before_sleep)(void); /* once */

static void be_late(void)
{
	unsigned int dice = (unsigned int)rand_r(&seed) % 16;

	if (dice < 4)
		sched_yield();
	else if (dice == 4)
		usleep(50);
}

static void late_wait(const unsigned int *word, unsigned int value, unsigned int ms)
{
	void (*before)(void) = before_sleep;

	(void)ms;
	if (before) {
		before_sleep = NULL;
		before();
	}
	be_late();
	os_wait(word, word_stays ? load_relaxed(word) : value, FOREVER);
}

static void late_wake(const unsigned int *word, unsigned int nr)
{
	be_late();
	if (!nobody_told)
		os_wake(word, nr);
}

static int spare; /* elements that the source has; atomic */

static void *from_source(gfp_t flags, void *data)
{
	(void)flags;
	(void)data;
	if (fetch_sub(&spare, 1) > 0)
		return malloc(1);
	fetch_add(&spare, 1);
	return NULL;
}

static void to_source(void *element, void *data)
{
	(void)data;
	free(element);
	fetch_add(&spare, 1);
}

static mempool_t pool;

static void *need(void *arg)
{
	unsigned int count = (unsigned int)(uintptr_t)arg % 3 + 1; /* of three */

	seed = (unsigned int)(uintptr_t)arg;
	for (unsigned int i = 0; i < rounds; i++) {
		void *elements[3] = { NULL };

		obtain(&pool, elements, pool.min_nr == 3 ? count : 1, GFP_KERNEL, NULL);
		be_late();
		for (unsigned int j = 0; j < 3; j++)
			mempool_free(elements[j], &pool);
	}
	return NULL;
}

static void needs(int min_nr, int more)
{
	spare = min_nr + more;
	CHILD_CHECK(mempool_init(&pool, min_nr, from_source, to_source, NULL) == 0);
	threads_run(USERS, need);
	elements_check(&pool);
	CHILD_CHECK(!pool.wait.threads && !pool.wait.several);
	mempool_exit(&pool);
	CHILD_CHECK(spare == min_nr + more);
}

IN_CHILD(test_one)
{
	alarm(TOO_LONG);
	needs(1, 0);
	needs(2, 0);
}

/* What comes from elsewhere does not take the place of a wakeup. */
IN_CHILD(test_beside_a_source)
{
	alarm(TOO_LONG);
	needs(1, 1);
	needs(2, 1);
}

IN_CHILD(test_none_kept)
{
	alarm(TOO_LONG);
	needs(0, 2);
}

IN_CHILD(test_several)
{
	alarm(TOO_LONG);
	rounds /= 4; /* all are woken each time */
	needs(3, 0);
	needs(3, 1);
}

/* An element comes between the look and the sleep; nobody sleeps yet who could be woken. */
static void *only_one;

static void free_the_only_one(void)
{
	mempool_free(only_one, &pool);
}

static void free_late(void *arg)
{
	(void)arg;
	spare = 1;
	CHILD_CHECK(mempool_init(&pool, 1, from_source, to_source, NULL) == 0);
	only_one = mempool_alloc(&pool, GFP_KERNEL);
	before_sleep = free_the_only_one;
	CHILD_CHECK(mempool_alloc(&pool, GFP_KERNEL) == only_one);
	mempool_free(only_one, &pool);
	mempool_exit(&pool);
}

IN_CHILD(test_free_before_sleep)
{
	alarm(TOO_LONG);
	free_late(NULL);
}

static void free_late_in_vain(void *arg)
{
	(void)arg;
	word_stays = true;
	alarm(5); /* it sleeps for ever */
	free_late(NULL);
}

static void need_in_vain(void *arg)
{
	(void)arg;
	nobody_told = true;
	alarm(5);
	needs(1, 0);
}

static void test_mutations(void **state)
{
	struct child c = child_run(free_late_in_vain, NULL);

	(void)state;
	assert_int_equal(c.status, SIGALRM);
	c = child_run(need_in_vain, NULL);
	assert_int_equal(c.status, SIGALRM);
}

static int slow_down(void **state)
{
	(void)state;
	if (!bare_process())
		rounds /= 10;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_beside_a_source),
		cmocka_unit_test(test_none_kept),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_free_before_sleep),
		cmocka_unit_test(test_mutations),
	};

	return cmocka_run_group_tests(tests, slow_down, NULL);
}
