/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/callback_test.c - who is in a function of the program, and who waits for it
 */
#include <pthread.h>

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
		cmocka_unit_test(test_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
