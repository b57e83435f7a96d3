/* SPDX-License-Identifier: MIT */
/*
 * urcu/storm_test.c - kfree_rcu() and type-safe caches under readers of liburcu, in each flavour;
 * fork
 */
#include "urcu/flavour.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "child.h"
#include "debug/report/report.h"
#include "os/rcu/rcu.h"

/* Threads of the writers are none that liburcu knows, but in qsbr. */
static bool is_registered(unsigned int thread)
{
#if URCU_TEST_qsbr
	(void)thread;
	return true;
#else
	return thread % 2;
#endif
}

static void storm_begin(unsigned int thread)
{
	if (is_registered(thread))
		rcu_register_thread();
}

static void storm_end(unsigned int thread)
{
	if (is_registered(thread))
		rcu_unregister_thread();
}

static void storm_quiet(unsigned int thread)
{
	(void)thread;
	rcu_quiescent_state();
}

static void storm_enter(unsigned int thread)
{
	(void)thread;
	rcu_read_lock();
}

static void storm_leave(unsigned int thread)
{
	(void)thread;
	rcu_read_unlock();
}

#include "stress/rcu_storm.h"

static void other_call(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	(void)head;
	(void)func;
}

IN_CHILD(is_bound_once)
{
	const struct uslab_rcu_ops other = { other_call, synchronize_rcu, rcu_barrier };
	const struct uslab_rcu_ops same = { call_rcu, synchronize_rcu, rcu_barrier };

	CHILD_CHECK(uslab_set_urcu(NULL) == -EINVAL);
	CHILD_CHECK(uslab_set_urcu(&rcu_flavor) == 0);
	CHILD_CHECK(uslab_set_urcu(&rcu_flavor) == 0);
	CHILD_CHECK(uslab_set_rcu(&other) == -EBUSY);
	CHILD_CHECK(uslab_set_rcu(&same) == 0);
	rcu_barrier(); /* its thread works */
}

static void begin(void)
{
	CHILD_CHECK(uslab_set_urcu(&rcu_flavor) == 0);
	storm_make_caches("slub");
}

static void finish(void)
{
	storm_clear();
	os_rcu_check();
	CHILD_CHECK(report_counters.reports == 0);
}

IN_CHILD(readers_see_nothing)
{
	begin();
	CHILD_CHECK(storm_run(1000, STORM_THREADS) == 0);
	CHILD_CHECK(storm.reads > 100 && storm.lives > 100);
	finish();
}

/* As liburcu asks for; its readers are gone by then. */
IN_CHILD(children_go_on)
{
	struct storm_node *node;
	int status;
	pid_t pid;

	begin();
	for (unsigned int i = 0; i < 500; i++) {
		node = kmem_cache_alloc(storm.nodes, GFP_KERNEL);
		kfree_rcu(node, rcu);
	}
	call_rcu_before_fork();
	pid = fork();
	if (pid)
		call_rcu_after_fork_parent();
	else
		call_rcu_after_fork_child();
	CHILD_CHECK(pid >= 0);
	node = kmem_cache_alloc(storm.nodes, GFP_KERNEL);
	kfree_rcu(node, rcu);
	finish();
	if (!pid)
		_exit(0);
	CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_bound_once),
		cmocka_unit_test(readers_see_nothing),
		cmocka_unit_test(children_go_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
