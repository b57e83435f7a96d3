/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/fork_test.c - hooks, and forks while other threads work
 */
#include <pthread.h>
#include <sys/wait.h>

#include "base/atomic.h"
#include "cache/internal.h"
#include "cache_fixture.h"
#include "debug/kfence/kfence.h"
#include "debug/pages/blocks.h"
#include "debug/stacks.h"
#include "front/array.h"
#include "os/cpu/dword.h"
#include "os/lock/fork.h"
#include "page/buddy.h"
#include "page/large.h"
#include "page/meta.h"
#include "page/pcp.h"
#include "page/pcp_runs.h"
#include "page/realtime.h"
#include "threads.h"

#define MAX_LOCKS 1024u

static struct lock *locks[MAX_LOCKS];
static unsigned int nr_locks;

static void collect(struct lock *l)
{
	for (unsigned int i = 0; i < nr_locks; i++)
		CHILD_CHECK(locks[i] != l);
	CHILD_CHECK(nr_locks < MAX_LOCKS);
	locks[nr_locks++] = l;
}

static void collect_heap(const struct engine_heap *heap)
{
	heap->each_lock(heap, collect);
}

/* Those of every file that has some, each once. */
static void collect_locks(void)
{
	struct list_head *pos;

	nr_locks = 0;
	collect(&cache_lock);
	array_limit_each_lock(collect);
	list_for_each(pos, &cache_list) {
		struct cache *c = list_entry(pos, struct cache, list);

		if (c->front.ops->each_lock)
			c->front.ops->each_lock(&c->front, collect);
		if (c->engine.ops->each_lock)
			c->engine.ops->each_lock(&c->engine, collect);
	}
	cache_heaps_each(collect_heap);
	percpu_each_lock(collect);
	pcp_runs_each_lock(collect);
	pcp_each_lock(collect);
	buddy_each_lock(collect);
	large_each_lock(collect);
	meta_each_lock(collect);
	kfence_each_lock(collect);
	stacks_each_lock(collect);
	blocks_each_lock(collect);
	dword_each_lock(collect);
}

/* A cache with each front, and one with debugging. */
static void make_all_fronts(void)
{
	static const char *const fronts[] = { "array", "none", "cpuslab", "queues", "sheaves" };

	CHILD_CHECK(os_topology_set(4, 2) == 0);
	ready();
	for (unsigned int i = 0; i < ARRAY_SIZE(fronts); i++)
		get(make_front("c", 64, fronts[i]));
	CHILD_CHECK(!cache_set_debug(make_front("d", 64, "array"), SLAB_RED_ZONE));
}

static bool stop;

/*
 * Where there are other threads all locks of the floors are held between the hooks; afterwards all
 * are free.
 */
IN_CHILD(test_hooks)
{
	pthread_t other;

	make_all_fronts();
	CHILD_CHECK(pthread_create(&other, NULL, threads_wait, &stop) == 0);
	for (unsigned int round = 0; round < 2; round++) {
		collect_locks();
		CHILD_CHECK(nr_locks > 60);
		realtime_counters.locked = 1;
		cache_fork_prepare();
		for (unsigned int i = 0; i < nr_locks; i++)
			CHILD_CHECK(!lock_try(locks[i]));
		/* without sequences; it lies where cache 0's state would */
		for (int cpu = 0; cpu < 4; cpu++)
			CHILD_CHECK(!lock_try((struct lock *)percpu_state(USLAB_ID_NONE, cpu)));
		if (round)
			cache_fork_child();
		else
			cache_fork_parent();
		/* locks of memory are not inherited */
		CHILD_CHECK(realtime_counters.locked == !round);
		for (unsigned int i = 0; i < nr_locks; i++)
			CHILD_CHECK(!load_relaxed(&locks[i]->word));
		cache_check_all();
		cache_shrink_all();
		CHILD_CHECK(get(make_front("more", 64, "array")));
	}
	store_relaxed(&stop, true);
	pthread_join(other, NULL);
}

/* The only thread takes none, and a handler that interrupts it between the hooks is inside. */
IN_CHILD(test_hooks_alone)
{
	make_all_fronts();
	if (!os_is_alone())
		child_cannot("this libc does not say whether there are other threads");
	for (unsigned int round = 0; round < 2; round++) {
		collect_locks();
		realtime_counters.locked = 1;
		cache_fork_prepare();
		CHILD_CHECK(lock_is_inside());
		for (unsigned int i = 0; i < nr_locks; i++)
			CHILD_CHECK(!load_relaxed(&locks[i]->word));
		cache_fork_prepare(); /* that handler forks, too */
		cache_fork_parent();
		CHILD_CHECK(lock_is_inside());
		if (round)
			cache_fork_child();
		else
			cache_fork_parent();
		CHILD_CHECK(!lock_is_inside() && realtime_counters.locked == !round);
		cache_check_all();
		CHILD_CHECK(get(make_front("more", 64, "array")));
	}
}

/* It was alone when the fork began: what its handler makes of that is not what it began with. */
IN_CHILD(test_a_thread_started_between_the_hooks)
{
	pthread_t other;

	make_all_fronts();
	if (!os_is_alone())
		child_cannot("this libc does not say whether there are other threads");
	collect_locks();
	cache_fork_prepare();
	CHILD_CHECK(pthread_create(&other, NULL, threads_wait, &stop) == 0);
	CHILD_CHECK(!os_is_alone());
	cache_fork_prepare(); /* by a handler */
	cache_fork_parent();
	cache_fork_parent();
	for (unsigned int i = 0; i < nr_locks; i++)
		CHILD_CHECK(!load_relaxed(&locks[i]->word));
	CHILD_CHECK(!lock_is_inside());
	store_relaxed(&stop, true);
	pthread_join(other, NULL);
}

/* The work of other threads goes on in the parent, and the child starts with whole structures. */
static void *churn(void *arg)
{
	struct cache *c = arg;
	void *p[90];

	while (!load_relaxed(&stop)) {
		for (unsigned int i = 0; i < 90; i++)
			CHILD_CHECK((p[i] = get(c)));
		for (unsigned int i = 0; i < 90; i++)
			cache_free(c, p[i]);
		if (c->front.id % 3 == 0)
			cache_shrink(c);
	}
	return NULL;
}

static _Noreturn void be_the_child(struct cache **c)
{
	for (unsigned int i = 0; i < 3; i++) {
		void *p[200];

		CHILD_CHECK(c[i]->front.closed == 0);
		for (unsigned int j = 0; j < 200; j++) {
			CHILD_CHECK((p[j] = get(c[i])));
			memset(p[j], 0x77, 64);
		}
		for (unsigned int j = 0; j < 200; j++)
			cache_free(c[i], p[j]);
		cache_shrink(c[i]);
	}
	cache_destroy(
		made(&(struct cache_spec){ .name = "n", .size = 64, .no_merge = true })->handle,
		NULL);
	_exit(0);
}

static void fork_among_threads(void)
{
	static const char *const fronts[] = { "none", "array", "cpuslab" };
	pthread_t thread[3];
	struct cache *c[3];

	ready();
	for (unsigned int i = 0; i < 3; i++) {
		c[i] = make_front("c", 64, fronts[i]);
		pthread_create(&thread[i], NULL, churn, c[i]);
	}
	for (unsigned int round = 0; round < (bare_process() ? 40 : 4); round++) {
		pid_t pid = fork();
		int status;

		if (pid == 0)
			be_the_child(c);
		CHILD_CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	}
	store_relaxed(&stop, true);
	for (unsigned int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	cache_check_all();
}

IN_CHILD(test_fork_among_threads)
{
	fork_among_threads();
}

/* Without sequences each CPU has a lock more, which is taken under cpuslab's. */
IN_CHILD(test_fork_among_threads_made_up)
{
	CHILD_CHECK(os_topology_set(2, 1) == 0);
	fork_among_threads();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hooks),
		cmocka_unit_test(test_hooks_alone),
		cmocka_unit_test(test_a_thread_started_between_the_hooks),
		cmocka_unit_test(test_fork_among_threads_made_up),
		cmocka_unit_test(test_fork_among_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
