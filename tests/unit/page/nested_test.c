/* SPDX-License-Identifier: MIT */
/*
 * unit/page/nested_test.c - when a call is nested, and what becomes of deferred frees
 */
#include <pthread.h>

#include "fixture.h"
#include "page/nested.h"
#include "page/reserve.h"

static struct lock lock = LOCK_INIT(RANK_PAGE);
static unsigned int given;
static void *last;

static void give_back(void *owner, void *p, const void *caller)
{
	CHILD_CHECK(owner == &lock && caller == &given);
	given++;
	last = p;
}

static void defer(void *p)
{
	nested_defer(give_back, &lock, p, &given);
}

IN_CHILD(only_inside)
{
	CHILD_CHECK(!nested_call());
	lock_acquire(&lock);
	CHILD_CHECK(nested_call());
	lock_release(&lock);
	CHILD_CHECK(!nested_call());
	CHILD_CHECK(lock_try(&lock) && nested_call());
	lock_release(&lock);
	CHILD_CHECK(lock_fork_enter() && nested_call());
	lock_fork_leave();
	lock_acquire_apart(&lock);
	CHILD_CHECK(nested_call());
	lock_release_apart(&lock);
	CHILD_CHECK(!nested_call());
}

/* By the next call of the same thread that is not nested, once. */
IN_CHILD(put_off)
{
	int object[3];

	lock_acquire(&lock);
	for (unsigned int i = 0; i < 3; i++)
		defer(&object[i]);
	CHILD_CHECK(nested_call() && !given && nested_waiting() == 3 && reserve_count() == 3);
	lock_release(&lock);
	CHILD_CHECK(!nested_call() && given == 3 && last == &object[2]);
	CHILD_CHECK(!nested_call() && given == 3 && !nested_waiting() && !reserve_count());
}

static void *defer_and_end(void *arg)
{
	lock_acquire(&lock);
	defer(arg);
	lock_release(&lock);
	return NULL;
}

/* A thread that has gone left it to others; these are not reminded, but may ask. */
IN_CHILD(of_others)
{
	pthread_t thread;

	CHILD_CHECK(!pthread_create(&thread, NULL, defer_and_end, &given));
	pthread_join(thread, NULL);
	CHILD_CHECK(!nested_call() && nested_waiting() == 1);
	nested_settle();
	CHILD_CHECK(given == 1 && last == &given);
}

static void give_more(void *owner, void *p, const void *caller)
{
	(void)owner, (void)caller;
	if (given++ < 5) { /* a signal, while the list is gone through */
		lock_acquire(&lock);
		nested_defer(give_more, NULL, p, NULL);
		lock_release(&lock);
	}
}

IN_CHILD(while_others_are_given)
{
	lock_acquire(&lock);
	nested_defer(give_more, NULL, &lock, NULL);
	lock_release(&lock);
	for (unsigned int i = 1; i <= 6; i++) {
		CHILD_CHECK(!nested_call());
		CHILD_CHECK(given == i);
	}
	CHILD_CHECK(!nested_waiting() && !nested_lost());
}

IN_CHILD(lost)
{
	const struct rlimit none = { 0, 0 };

	NEEDS_BARE_PROCESS();
	child_limit(RLIMIT_DATA, &none);
	lock_acquire(&lock);
	defer(&lock);
	lock_release(&lock);
	CHILD_CHECK(reserve_counters.failed == 1 && !reserve_counters.served);
	CHILD_CHECK(nested_lost() == 1 && !nested_waiting() && !nested_call() && !given);
}

static unsigned int refusals;

static bool give_if_may(void *p, const void *caller)
{
	CHILD_CHECK(caller == &given);
	if (refusals) {
		refusals--;
		return false;
	}
	given++;
	last = p;
	return true;
}

static void give_tried(void *owner, void *p, const void *caller)
{
	CHILD_CHECK(!owner);
	refusals = 0;
	give_if_may(p, caller);
}

/* Those of calls that only try: some of them again, at any time; else as all others. */
IN_CHILD(tried)
{
	int object[5];

	for (unsigned int i = 0; i < 5; i++)
		CHILD_CHECK(nested_defer_tried(give_tried, &object[i], &given));
	CHILD_CHECK(nested_waiting() == 5);
	refusals = 2;
	nested_retry(give_if_may, 3);
	CHILD_CHECK(given == 1 && nested_waiting() == 4 && reserve_count() == 4);
	nested_retry(give_if_may, 0);
	CHILD_CHECK(given == 1 && nested_waiting() == 4);
	nested_retry(give_if_may, 2);
	CHILD_CHECK(given == 3 && nested_waiting() == 2);
	CHILD_CHECK(!nested_call() && given == 5 && !nested_waiting() && !reserve_count());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_inside), cmocka_unit_test(put_off),
		cmocka_unit_test(of_others),   cmocka_unit_test(while_others_are_given),
		cmocka_unit_test(lost),	       cmocka_unit_test(tried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
