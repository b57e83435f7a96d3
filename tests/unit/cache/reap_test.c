/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/reap_test.c - a round of reaping over all caches and CPUs; other limits of queues
 */
#include "cache_fixture.h"

#include <pthread.h>
#include <sys/wait.h>

#include "base/atomic.h"
#include "cache/internal.h"
#include "front/depot.h"
#include "front/queues.h"

static unsigned long held(struct cache *c)
{
	return c->front.ops->held(&c->front);
}

static void fill(struct cache *c, unsigned int n)
{
	void *p[200];

	for (unsigned int i = 0; i < n; i++)
		p[i] = get(c);
	for (unsigned int i = 0; i < n; i++)
		cache_free(c, p[i]);
}

/* All caches, the CPUs that nobody runs on as well. */
IN_CHILD(test_round)
{
	struct cache *c[3];

	CHILD_CHECK(os_topology_set(4, 1) == 0);
	ready();
	for (unsigned int i = 0; i < 3; i++) {
		c[i] = make_front("c", 64, "queues");
		for (unsigned int cpu = 0; cpu < 4; cpu++) {
			os_act_as_cpu(cpu);
			fill(c[i], 10);
		}
		CHILD_CHECK(held(c[i]) == 4 * 16);
	}
	cache_reap(); /* spared once */
	for (unsigned int i = 0; i < 3; i++)
		CHILD_CHECK(held(c[i]) == 4 * 16);
	cache_reap();
	for (unsigned int i = 0; i < 3; i++)
		CHILD_CHECK(held(c[i]) == 4 * 8);
	os_act_as_cpu(2);
	fill(c[1], 1);
	cache_reap();
	CHILD_CHECK(held(c[0]) == 4 * 4 && held(c[1]) == 3 * 4 + 8);
	for (unsigned int i = 0; i < 10; i++)
		cache_reap();
	for (unsigned int i = 0; i < 3; i++)
		CHILD_CHECK(held(c[i]) == 0 && in_use(c[i]) == 0);
	cache_check_all();
}

/* Arrays and depots that are as they were go back, and slabs that were kept empty. */
IN_CHILD(test_arrays)
{
	struct cache *c;

	ready();
	stay_here();
	c = make_front("c", 64, "array");
	fill(c, 100);
	cache_reap();
	CHILD_CHECK(held(c) >= 100 && stats_of(c).nr_slabs > 0);
	cache_reap();
	CHILD_CHECK(held(c) == 0 && in_use(c) == 0 && stats_of(c).nr_slabs == 0);
	CHILD_CHECK(cache_tune(c, 10, 5, 1) == -EOPNOTSUPP);
	fill(c, 100);
	CHILD_CHECK(held(c) >= 100);
	cache_check_all();
}

/* Fronts without queues keep what they have. */
IN_CHILD(test_other_fronts)
{
	static const char *const fronts[] = { "cpuslab", "none" };

	ready();
	stay_here();
	for (unsigned int i = 0; i < 2; i++) {
		struct cache *c = make_front("c", 64, fronts[i]);
		unsigned long before;

		fill(c, 100);
		before = held(c);
		cache_reap();
		cache_reap();
		CHILD_CHECK(held(c) == before);
		CHILD_CHECK(cache_tune(c, 10, 5, 1) == -EOPNOTSUPP);
	}
}

static uint64_t now = 1000ul * DEPOT_EPOCH_MS;

static uint64_t clock_of_test(void)
{
	return now;
}

static void bursts(struct cache *c)
{
	static void *p[4000];

	for (unsigned int round = 0; round < 6; round++) {
		for (unsigned int i = 0; i < ARRAY_SIZE(p); i++)
			p[i] = get(c);
		for (unsigned int i = 0; i < ARRAY_SIZE(p); i++)
			cache_free(c, p[i]);
	}
}

/* Of depots that grew what was idle goes, although no cache misses any more. */
IN_CHILD(test_grown_depots)
{
	struct cache *c[3];
	struct depot *depot;

	depot_clock = clock_of_test;
	ready();
	stay_here();
	CHILD_CHECK(buddy_alloc(-1, BUDDY_MAX_ORDER, false, NULL)); /* in use: depots may grow */
	for (unsigned int i = 0; i < 3; i++) {
		c[i] = make_front("c", 64, "array");
		bursts(c[i]);
		CHILD_CHECK(held(c[i]) > 2000);
	}
	for (unsigned int round = 0; round < 2; round++) {
		now += DEPOT_EPOCH_MS;
		cache_reap();
	}
	for (unsigned int i = 0; i < 3; i++) {
		depot = &c[i]->front.depot[os_current_node()];
		CHILD_CHECK(depot_count(depot, DEPOT_FULL) <= depot->base[DEPOT_FULL]);
		CHILD_CHECK(held(c[i]) < 2000 && in_use(c[i]) == 0);
	}
	cache_check_all();
}

/* Old free memory goes back to the system, although nothing is freed any more. */
IN_CHILD(test_free_pages)
{
	const struct buddy_stats *stats;
	struct page *block;

	ready();
	buddy_set_purge(SIZE_MAX >> 1, 1); /* all may stay, for a millisecond */
	block = buddy_alloc(-1, 6, true, NULL);
	CHILD_CHECK(block);
	stats = &buddy_zones[block->node].stats;
	memset(page_address(block), 1, PAGE_SIZE << 6);
	buddy_free(block, 6, true);
	for (unsigned int i = 0; i < 60000 && stats->nr_purged < 64; i++) {
		usleep(1000);
		cache_reap();
	}
	CHILD_CHECK(stats->nr_purged >= 64);
}

IN_CHILD(test_tune)
{
	struct cache *c;

	ready();
	stay_here();
	c = make_front("c", 64, "queues");
	fill(c, 100);
	/* one CPU has no shared queue for the others */
	CHILD_CHECK(held(c) >= 60);
	CHILD_CHECK(cache_tune(c, 10, 11, 1) == -EINVAL);
	CHILD_CHECK(held(c) >= 60);
	CHILD_CHECK(cache_tune(c, 10, 5, 1) == 0);
	CHILD_CHECK(held(c) == 0 && queues_of(&c->front)->limit == 10);
	fill(c, 100);
	CHILD_CHECK(held(c) <= 15 && in_use(c) == 0);
	cache_check_all();
}

/* Looked at between two rounds: in one, what is held changes from one count to the next. */
static bool is_empty(struct cache *c)
{
	bool empty;

	lock_acquire(&cache_lock);
	empty = held(c) == 0 && in_use(c) == 0;
	lock_release(&cache_lock);
	return empty;
}

/* The thread does the same; a round is skipped while somebody holds the registry lock. */
IN_CHILD(test_thread)
{
	struct cache *c;
	unsigned int i;

	ready();
	stay_here();
	c = make_front("c", 64, "queues");
	fill(c, 30); /* the shared array gets nothing, which waits for seconds */
	lock_acquire(&cache_lock);
	CHILD_CHECK(cache_reap_start(1) == 0);
	usleep(20000);
	CHILD_CHECK(held(c) >= 30);
	lock_release(&cache_lock);
	for (i = 0; !is_empty(c) && i < 60000; i++)
		usleep(1000);
	CHILD_CHECK(is_empty(c));
	CHILD_CHECK(cache_reap_start(0) == -EINVAL);
}

/* fork while the thread works: the child is whole, and has no such thread if it shall have none. */
IN_CHILD(test_fork)
{
	struct cache *c;

	ready();
	cache_defaults.no_fork_thread = true;
	c = make_front("c", 64, "queues");
	CHILD_CHECK(cache_reap_start(1) == 0);
	for (unsigned int round = 0; round < 30; round++) {
		int status;
		pid_t pid;

		fill(c, 100);
		usleep(500);
		pid = fork();
		if (pid == 0) {
			unsigned long before;

			alarm(120);
			fill(c, 100);
			before = held(c);
			usleep(round ? 0 : 20000);
			CHILD_CHECK(held(c) == before);
			cache_reap();
			CHILD_CHECK(cache_shrink(c) == 0);
			cache_check_all();
			_exit(0);
		}
		CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	}
}

static bool stop;

static void *churn(void *arg)
{
	while (!load_relaxed(&stop))
		fill(arg, 150);
	return NULL;
}

IN_CHILD(test_concurrent)
{
	pthread_t thread[3];
	struct cache *c[3];

	ready();
	for (unsigned int i = 0; i < 3; i++) {
		c[i] = make_front("c", 64 << i, "queues");
		pthread_create(&thread[i], NULL, churn, c[i]);
	}
	for (unsigned int round = 0; round < 300; round++) {
		cache_reap();
		CHILD_CHECK(cache_tune(c[round % 3], 1 + round % 130, 1, round % 4) == 0);
		if (round % 10 == 0)
			cache_shrink_all();
	}
	store_relaxed(&stop, true);
	for (unsigned int i = 0; i < 3; i++) {
		pthread_join(thread[i], NULL);
		CHILD_CHECK(in_use(c[i]) == 0);
		CHILD_CHECK(cache_shrink(c[i]) == 0);
	}
	cache_check_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round),	     cmocka_unit_test(test_arrays),
		cmocka_unit_test(test_other_fronts), cmocka_unit_test(test_grown_depots),
		cmocka_unit_test(test_free_pages),   cmocka_unit_test(test_tune),
		cmocka_unit_test(test_thread),	     cmocka_unit_test(test_fork),
		cmocka_unit_test(test_concurrent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
