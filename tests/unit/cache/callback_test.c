/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/callback_test.c - who is in a function of the program, and who waits for it
 */
#include <pthread.h>
#include <sched.h>

#include "cache_fixture.h"
#include "cache/callback.h"

static uintptr_t running;
static unsigned int step;

static void *stay_inside(void *arg)
{
	lock_acquire(&cache_lock);
	callback_enter_locked(&running);
	CHILD_CHECK(callback_inside == &running && !lock_thread.nr);
	store_release(&step, 1);
	usleep(20000);
	store_release(&step, 2);
	callback_leave(&running);
	CHILD_CHECK(!callback_inside);
	return arg;
}

IN_CHILD(test_wait)
{
	pthread_t thread;

	ready();
	CHILD_CHECK(!pthread_create(&thread, NULL, stay_inside, NULL));
	while (!load_acquire(&step))
		usleep(100);
	callback_wait(&running);
	CHILD_CHECK(load_acquire(&step) == 2 && !running);
	pthread_join(thread, NULL);
}

#define PATIENCE_S 5u /* then SIGALRM ends the child; it has a CPU for itself until then */

static int become(int policy, int priority)
{
	struct sched_param param = { .sched_priority = priority };

	return pthread_setschedparam(pthread_self(), policy, &param);
}

static void *work_inside(void *arg)
{
	CHILD_CHECK(!become(SCHED_FIFO, 10));
	lock_acquire(&cache_lock);
	callback_enter_locked(&running);
	store_release(&step, 1);
	while (load_acquire(&step) == 1) {} /* with the CPU that the other one wants */
	for (volatile unsigned int i = 0; i < 1000000; i++) {}
	callback_leave(&running);
	return arg;
}

/* Who waits has the higher priority, on the CPU of the one that is inside. */
static void wait_above(void *arg)
{
	pthread_t thread;

	(void)arg;
	ready();
	stay_here();
	alarm(PATIENCE_S);
	CHILD_CHECK(!become(SCHED_FIFO, 50));
	CHILD_CHECK(!pthread_create(&thread, NULL, work_inside, NULL));
	while (!load_acquire(&step))
		usleep(1000);
	store_release(&step, 2);
	callback_wait(&running);
	CHILD_CHECK(!running);
	pthread_join(thread, NULL);
}

static void test_priorities(void **state)
{
	struct child c;

	(void)state;
	if (become(SCHED_FIFO, 50)) {
		print_message("no right to SCHED_FIFO here\n");
		skip();
	}
	become(SCHED_OTHER, 0);
	c = child_run(wait_above, NULL);
	assert_true(child_passed(&c));
}

/* Whoever is inside does not wait for itself; in a child of fork() it is the only one. */
IN_CHILD(test_inside)
{
	ready();
	lock_acquire(&cache_lock);
	callback_enter_locked(&running);
	callback_wait(&running);
	fetch_add(&running, 3); /* other threads of the parent */
	callback_forked(&running);
	CHILD_CHECK(running == 1);
	callback_leave(&running);
	fetch_add(&running, 3);
	callback_forked(&running);
	CHILD_CHECK(running == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wait),
		cmocka_unit_test(test_priorities),
		cmocka_unit_test(test_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
