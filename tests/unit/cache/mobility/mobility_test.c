/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/mobility/mobility_test.c - who may have objects moved, and who runs that
 *
 * What it does for each engine and front: conformance/mobility_test.c.
 */
#include <sys/wait.h>

#include "conformance/store.h"

static struct cache *make_store(void)
{
	return made(&(struct cache_spec){ .name = "store", .size = 64, .ctor = store_ctor });
}

/* Other users of the cache have objects that nobody moves; afterwards nobody joins. */
IN_CHILD(test_merged)
{
	const struct mobility_functions by_move = { .move = move };
	struct cache *c;

	ready();
	c = make("a", 64, 0, 0);
	CHILD_CHECK(make("b", 64, 0, 0) == c);
	CHILD_CHECK(mobility_set(c, &by_move) == -EBUSY);
	cache_destroy(c->handle, NULL);
	CHILD_CHECK(mobility_set(c, &by_move) == 0);
	CHILD_CHECK(make("b", 64, 0, 0) != c);
	cache_check_all();
}

/* A function that takes itself away, or sets another one, is not called again by that step. */
static unsigned int calls_of_first;
static struct mobility_functions next_functions;

static int replace(void *from, void *to, void *arg)
{
	(void)from, (void)to, (void)arg;
	if (++calls_of_first == 10)
		CHILD_CHECK(mobility_set(store.c, &next_functions) == 0);
	return -1;
}

IN_CHILD(test_replaced_by_itself)
{
	ready();
	open_store(make_store(), 1000);
	thin_out();
	CHILD_CHECK(mobility_set(store.c, &(struct mobility_functions){ .move = replace }) == 0);
	CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == 1 && calls_of_first == 10);
	CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == -EOPNOTSUPP);
	calls_of_first = 0;
	next_functions = (struct mobility_functions){ .move = move, .arg = &store };
	CHILD_CHECK(mobility_set(store.c, &(struct mobility_functions){ .move = replace }) == 0);
	CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == 1 && calls_of_first == 10);
	CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == 0 && calls_of_first == 10);
	empty_store();
	cache_check_all();
}

/* ---- a step that is under way in another thread ---- */

static unsigned int inside; /* atomic */
static bool may_leave;

static int wait_inside(void *from, void *to, void *arg)
{
	store_relaxed(&inside, 1);
	while (!load_relaxed(&may_leave))
		sched_yield();
	return move(from, to, arg);
}

static void *run_step(void *arg)
{
	int ret = cache_defrag(store.c, NUMA_NO_NODE, 0);

	CHILD_CHECK(ret == 0 || ret == 1); /* 1: other functions were set meanwhile */
	return arg;
}

/* It has begun, and is in the program's function. */
static pthread_t begin_step(void)
{
	pthread_t thread;

	open_store(make_store(), 1000);
	thin_out();
	CHILD_CHECK(mobility_set(store.c, &(struct mobility_functions){ .move = wait_inside,
									.arg = &store }) == 0);
	CHILD_CHECK(!pthread_create(&thread, NULL, run_step, NULL));
	while (!load_relaxed(&inside))
		sched_yield();
	return thread;
}

IN_CHILD(test_one_at_a_time)
{
	pthread_t thread;

	ready();
	thread = begin_step();
	CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == -EBUSY);
	store_relaxed(&may_leave, true);
	pthread_join(thread, NULL);
	CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == 0);
	empty_store();
	cache_destroy(store.c->handle, NULL);
}

static void *set_none(void *arg)
{
	CHILD_CHECK(mobility_set(store.c, &(struct mobility_functions){ 0 }) == 0);
	store_relaxed(&inside, 2);
	return arg;
}

/* Whoever changes the functions, or destroys the cache, waits for the one that is running. */
IN_CHILD(test_waits)
{
	pthread_t thread, other;

	ready();
	thread = begin_step();
	CHILD_CHECK(!pthread_create(&other, NULL, set_none, NULL));
	usleep(20000);
	CHILD_CHECK(load_relaxed(&inside) == 1);
	store_relaxed(&may_leave, true);
	pthread_join(other, NULL);
	pthread_join(thread, NULL);
	CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == -EOPNOTSUPP);
	empty_store();
	cache_destroy(store.c->handle, NULL);
}

/* In a child the step is over: its slabs are as others, the front is open, nothing is busy. */
IN_CHILD(test_forked)
{
	pthread_t thread;
	int status;
	pid_t pid;

	ready();
	thread = begin_step();
	CHILD_CHECK(load_relaxed(&store.c->watch) & WATCH_MOVES);
	pid = fork();
	if (!pid) {
		CHILD_CHECK(!(store.c->watch & (WATCH_MOVES | WATCH_PAST_FRONT)));
		cache_check_all();
		store_relaxed(&may_leave, true);
		CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == 0);
		cache_check_all();
		_exit(0);
	}
	CHILD_CHECK(waitpid(pid, &status, 0) == pid && !status);
	store_relaxed(&may_leave, true);
	pthread_join(thread, NULL);
	cache_check_all();
	empty_store();
	cache_destroy(store.c->handle, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_merged),	      cmocka_unit_test(test_replaced_by_itself),
		cmocka_unit_test(test_one_at_a_time), cmocka_unit_test(test_waits),
		cmocka_unit_test(test_forked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
