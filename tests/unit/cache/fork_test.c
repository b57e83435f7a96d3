/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/fork_test.c - hooks, and forks while other threads work
 */
#include <pthread.h>
#include <sys/wait.h>

#include "base/atomic.h"
#include "cache/internal.h"
#include "cache_fixture.h"
#include "engine/slub/slub.h"

/* All locks of the floors are held between the hooks; afterwards all are free. */
IN_CHILD(test_hooks)
{
	static const char *const fronts[] = { "array", "none", "cpuslab" };

	CHILD_CHECK(os_topology_set(4, 2) == 0);
	ready();
	for (unsigned int i = 0; i < 3; i++)
		get(make_front("c", 64, fronts[i]));
	for (unsigned int round = 0; round < 2; round++) {
		struct list_head *pos;

		cache_fork_prepare();
		CHILD_CHECK(!lock_try(&cache_lock));
		for (int cpu = 0; cpu < 4;
		     cpu++) /* the CPU's lock lies where cache 0's state would */
			CHILD_CHECK(!lock_try((struct lock *)percpu_state(USLAB_ID_NONE, cpu)));
		list_for_each(pos, &cache_list) {
			struct cache *c = list_entry(pos, struct cache, list);

			for (unsigned int node = 0; node < 2; node++)
				CHILD_CHECK(!lock_try(&slub_of(&c->engine)->node[node]->list_lock));
		}
		if (round)
			cache_fork_child();
		else
			cache_fork_parent();
		cache_check_all();
		cache_shrink_all();
		CHILD_CHECK(get(make_front("more", 64, "array")));
	}
}

/* The work of other threads goes on in the parent, and the child starts with whole structures. */
static bool stop;

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
		cmocka_unit_test(test_fork_among_threads_made_up),
		cmocka_unit_test(test_fork_among_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
