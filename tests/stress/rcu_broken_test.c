/* SPDX-License-Identifier: MIT */
/*
 * stress/rcu_broken_test.c - the test of rcu_test.c: an RCU whose grace periods end at once, which
 * readers must see; and children of fork(), which go on
 *
 * ctest: timeout=200 sanitize=no (ThreadSanitizer sees it, too, and wants no threads after fork)
 */
#include <sys/wait.h>

#include "rcu_own_storm.h"

#define CATCH_MS 60000 /* it takes some ms, unless the machine does something else */

static void call_at_once(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	func(head);
}

static void wait_for_nothing(void)
{
}

static const struct uslab_rcu_ops broken = { call_at_once, wait_for_nothing, wait_for_nothing };

IN_CHILD(readers_see_a_broken_rcu)
{
	CHILD_CHECK(uslab_set_rcu(&broken) == 0);
	storm_make_caches("slub");
	CHILD_CHECK(storm_run(CATCH_MS, STORM_THREADS) > 0);
}

IN_CHILD(readers_see_slabs_that_go_too_early)
{
	run_only_safe(&broken, "slub", CATCH_MS);
	CHILD_CHECK(storm.caught > 0);
}

IN_CHILD(readers_see_objects_that_go_too_early)
{
	run_only_safe(&broken, "slob", CATCH_MS);
	CHILD_CHECK(storm.caught > 0);
}

/* ---- fork ---- */

static void child_goes_on(void)
{
	storm.caught = 0;
	CHILD_CHECK(storm_run(50, 2) == 0);
	kvfree_rcu_barrier();
	os_rcu_check();
}

static void *fork_often(void *arg)
{
	while (storm_goes_on()) {
		int status;
		pid_t pid;

		usleep(20000);
		reader_before_fork();
		pid = fork();
		reader_after_fork(!pid);
		CHILD_CHECK(pid >= 0);
		if (!pid) {
			child_goes_on();
			_exit(0);
		}
		CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	}
	return arg;
}

IN_CHILD(children_go_on)
{
	bool stop = false;

	CHILD_CHECK(uslab_set_rcu(&reader_rcu) == 0);
	reader_start();
	storm_make_caches("slub");
	storm.ms = RUN_MS;
	storm.begun = os_clock_ms();
	threads_run_beside(4, storm_work, fork_often, &stop);
	CHILD_CHECK(storm.caught == 0);
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(readers_see_a_broken_rcu),
		cmocka_unit_test(readers_see_slabs_that_go_too_early),
		cmocka_unit_test(readers_see_objects_that_go_too_early),
		cmocka_unit_test(children_go_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
