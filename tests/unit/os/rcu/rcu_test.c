/* SPDX-License-Identifier: MIT */
/*
 * unit/os/rcu/rcu_test.c - items wait for grace periods: how many of these, in which order, who
 * waits for them, and what a program may bind
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/atomic.h"
#include "child.h"
#include "manual_rcu.h"
#include "os/lock/lock.h"
#include "os/rcu/rcu.h"

static struct os_rcu_item items[8];
static unsigned int released[8]; /* times */

static void release(struct os_rcu_item *first)
{
	for (struct os_rcu_item *item = first; item; item = first) {
		first = item->next;
		item->next = NULL;
		released[item - items]++;
	}
}

static void defer(unsigned int i)
{
	os_rcu_defer(OS_RCU_PAGES, &items[i], release);
	os_rcu_check();
}

static bool is_item(const struct os_rcu_item *item, const void *arg)
{
	return item == arg;
}

static bool waits(unsigned int i)
{
	return os_rcu_find(OS_RCU_PAGES, is_item, &items[i]);
}

static void other_call(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	(void)head;
	(void)func;
}

IN_CHILD(one_rcu_is_bound)
{
	struct uslab_rcu_ops other = manual_rcu;

	CHILD_CHECK(!os_rcu_is_bound());
	CHILD_CHECK(os_rcu_bind(&manual_rcu) == 0 && os_rcu_is_bound());
	CHILD_CHECK(os_rcu_bind(&manual_rcu) == 0);
	other.call = other_call;
	CHILD_CHECK(os_rcu_bind(&other) == -EBUSY);
	os_rcu_synchronize();
	CHILD_CHECK(rcu.synchronized == 1);
}

/* Nothing is lost before there is an RCU. */
IN_CHILD(items_wait_for_an_rcu)
{
	defer(0);
	os_rcu_submit();
	os_rcu_wait(OS_RCU_PAGES);
	CHILD_CHECK(waits(0) && !released[0]);
	CHILD_CHECK(os_rcu_bind(&manual_rcu) == 0);
	os_rcu_submit();
	CHILD_CHECK(rcu.calls == 1 && waits(0));
	rcu_grace();
	CHILD_CHECK(!waits(0) && released[0] == 1);
	os_rcu_check();
}

/* However many there are, one grace period is under way. */
IN_CHILD(one_call_for_all)
{
	CHILD_CHECK(os_rcu_bind(&manual_rcu) == 0);
	os_rcu_submit();
	CHILD_CHECK(rcu.calls == 0);
	for (unsigned int i = 0; i < 3; i++)
		defer(i);
	CHILD_CHECK(lock_thread.flags & LOCK_DEFERRED);
	os_rcu_submit();
	os_rcu_submit();
	CHILD_CHECK(rcu.calls == 1);
	/* these came too late for it */
	defer(3);
	defer(4);
	os_rcu_submit();
	CHILD_CHECK(rcu.calls == 1);
	rcu_grace();
	for (unsigned int i = 0; i < 5; i++)
		CHILD_CHECK(released[i] == (i < 3) && waits(i) == (i >= 3));
	CHILD_CHECK(rcu.calls == 2);
	rcu_grace();
	CHILD_CHECK(released[3] == 1 && released[4] == 1 && rcu.calls == 2);
	os_rcu_check();
}

IN_CHILD(who_waits_waits_for_all_before)
{
	CHILD_CHECK(os_rcu_bind(&manual_rcu) == 0);
	os_rcu_wait(OS_RCU_PAGES);
	CHILD_CHECK(rcu.barriers == 0);
	defer(0);
	os_rcu_submit();
	defer(1); /* needs a second one */
	os_rcu_wait(OS_RCU_OBJECTS);
	CHILD_CHECK(rcu.barriers == 0 && !released[0]);
	os_rcu_wait(OS_RCU_PAGES);
	CHILD_CHECK(rcu.barriers == 2 && released[0] == 1 && released[1] == 1);
}

static bool was_releasing;

static void look(struct os_rcu_item *first)
{
	was_releasing = os_rcu_releases(OS_RCU_HEADS) && !os_rcu_releases(OS_RCU_PAGES);
	first->next = NULL;
	/* items may come meanwhile: they wait for the next one */
	os_rcu_defer(OS_RCU_PAGES, &items[1], release);
}

IN_CHILD(releases_are_seen)
{
	CHILD_CHECK(os_rcu_bind(&manual_rcu) == 0);
	os_rcu_defer(OS_RCU_HEADS, &items[0], look);
	CHILD_CHECK(!os_rcu_releases(OS_RCU_HEADS));
	os_rcu_submit();
	CHILD_CHECK(!os_rcu_releases(OS_RCU_HEADS));
	rcu_grace();
	CHILD_CHECK(was_releasing && !os_rcu_releases(OS_RCU_HEADS));
	CHILD_CHECK(rcu.calls == 2 && waits(1));
}

/* ---- an RCU that allocates and frees ---- */

static unsigned int deepest;

/* As a slow path of the library may do: what comes of it waits until this has returned. */
static void busy_call(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	static unsigned int depth;

	if (++depth > deepest)
		deepest = depth;
	if (rcu.calls == 0)
		os_rcu_defer(OS_RCU_OBJECTS, &items[1], release);
	os_rcu_submit();
	rcu_call(head, func);
	depth--;
}

static void busy_barrier(void)
{
	os_rcu_defer(OS_RCU_PAGES, &items[2], release);
	os_rcu_submit();
	CHILD_CHECK(rcu.calls == 3);
	rcu_grace();
}

IN_CHILD(its_functions_are_not_interrupted)
{
	const struct uslab_rcu_ops ops = { busy_call, rcu_synchronize, busy_barrier };

	CHILD_CHECK(os_rcu_bind(&ops) == 0);
	os_rcu_defer(OS_RCU_HEADS, &items[0], release);
	os_rcu_submit();
	CHILD_CHECK(rcu.calls == 2 && deepest == 1); /* both are under way */
	rcu_grace();
	CHILD_CHECK(released[0] == 1 && released[1] == 1);
	os_rcu_defer(OS_RCU_HEADS, &items[3], release);
	os_rcu_wait(OS_RCU_HEADS);
	CHILD_CHECK(released[3] == 1 && !released[2] && waits(2));
	os_rcu_submit();
	CHILD_CHECK(rcu.calls == 4 && deepest == 1);
	rcu_grace();
	CHILD_CHECK(released[2] == 1);
	os_rcu_check();
}

/* ---- threads: an RCU with a thread of its own ---- */

static struct {
	pthread_mutex_t lock;
	struct rcu_head *head;
	void (*func)(struct rcu_head *head);
	unsigned int under_way;
} slow = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void slow_call(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	pthread_mutex_lock(&slow.lock);
	CHILD_CHECK(!slow.head);
	slow.head = head;
	slow.func = func;
	slow.under_way++;
	pthread_mutex_unlock(&slow.lock);
}

static void *end_grace_periods(void *arg)
{
	const bool *done = arg;

	while (!load_acquire(done)) { /* pairs with the end of threads_wait() */
		struct rcu_head *head;

		pthread_mutex_lock(&slow.lock);
		head = slow.head;
		slow.head = NULL;
		pthread_mutex_unlock(&slow.lock);
		if (head)
			slow.func(head);
		else
			usleep(10);
	}
	return NULL;
}

static void nothing(void)
{
}

static void count_released(struct os_rcu_item *first)
{
	for (struct os_rcu_item *next; first; first = next) {
		next = first->next;
		store_release(&first->next, first); /* pairs with wait_for_own() */
	}
}

/* Each waits for what it has deferred itself, while the others go on. */
static void *wait_for_own(void *arg)
{
	for (unsigned int round = 0; round < 300; round++) {
		struct os_rcu_item own[3] = { { NULL }, { NULL }, { NULL } };

		for (unsigned int i = 0; i < 3; i++) {
			os_rcu_defer(OS_RCU_PAGES, &own[i], count_released);
			if (round % 2)
				os_rcu_submit();
		}
		os_rcu_wait(OS_RCU_PAGES);
		for (unsigned int i = 0; i < 3; i++)
			CHILD_CHECK(load_acquire(&own[i].next) == &own[i]);
	}
	return arg;
}

IN_CHILD(threads_wait)
{
	const struct uslab_rcu_ops ops = { slow_call, nothing, nothing };
	bool done = false;
	pthread_t thread[3];
	pthread_t end;

	CHILD_CHECK(os_rcu_bind(&ops) == 0);
	CHILD_CHECK(!pthread_create(&end, NULL, end_grace_periods, &done));
	for (unsigned int i = 0; i < 3; i++)
		CHILD_CHECK(!pthread_create(&thread[i], NULL, wait_for_own, NULL));
	for (unsigned int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	store_release(&done, true);
	pthread_join(end, NULL);
	os_rcu_check();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_rcu_is_bound),
		cmocka_unit_test(items_wait_for_an_rcu),
		cmocka_unit_test(one_call_for_all),
		cmocka_unit_test(who_waits_waits_for_all_before),
		cmocka_unit_test(releases_are_seen),
		cmocka_unit_test(its_functions_are_not_interrupted),
		cmocka_unit_test(threads_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
