/* SPDX-License-Identifier: MIT */
/*
 * race/mobility_test.c - slabs are emptied with delays in every step, while others free, allocate
 * and look
 *
 * ctest: timeout=300 serial
 *
 * The engine's part and the cache's are compiled in with delays: around the exchanges that freeze
 * and unfreeze a slab, before each object is looked at, moved and freed, and before a slab is put
 * back. A thread may be preempted or go on elsewhere at each of these. No object may be lost, given
 * out twice or changed, and no report be made.
 */
#include "cache/group/group.h"
#include "cache/lent.h"
#include "cache/live.h"
#include "cache/mobility/mobility.h"
#include "cache/object.h"
#include "cache/profile/profile.h"
#include "debug/report/report.h"
#include "engine/evacuation.h"
#include "engine/slub/slab.h"
#include "os/time/clock.h"
#include "conformance/store.h"

static __thread unsigned int seed;
static unsigned long delays; /* atomic */

static void move_somewhere(void)
{
	unsigned int cpu = (unsigned int)rand_r(&seed) % os_topology.nr_cpu_ids;
	cpu_set_t set;

	if (os_topology.made_up) {
		os_act_as_cpu(cpu);
		return;
	}
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* One time in 8 others come first, one time in 16 the thread goes on elsewhere. */
static void delay(void)
{
	unsigned int dice = (unsigned int)rand_r(&seed) % 64;

	if (dice < 8) {
		fetch_add(&delays, 1);
		sched_yield();
	} else if (dice < 12) {
		fetch_add(&delays, 1);
		move_somewhere();
	} else if (dice < 14) {
		fetch_add(&delays, 1);
		usleep(1);
	}
}

/* Those of the library are left out by the linker. */
#define slub_exchange(e, slab, old, new) (delay(), slub_exchange(e, slab, old, new))
#include "engine/slub/evacuate.c"
#undef slub_exchange

#define live_read(c, slab, live) (delay(), live_read(c, slab, live), delay())
#define live_next(live, i) (delay(), live_next(live, i))
#define cache_free_watched(c, obj, caller) (delay(), cache_free_watched(c, obj, caller))
static uint32_t hold(struct cache *c, const void *obj)
{
	uint32_t id;

	delay();
	id = group_hold(c, obj);
	delay();
	return id;
}
#define group_hold hold
#define group_let_go(c, obj) (delay(), group_let_go(c, obj))
#include "cache/mobility/evacuate.c"
#undef live_read
#undef live_next
#undef cache_free_watched
#undef group_hold
#undef group_let_go

static bool threads_end;
static struct uslab_group *group[3]; /* of each thread; NULL: none */
static uint32_t charged_to[MOST];    /* the number of the group of what a slot has; its lock */

static void put_charged(unsigned int i)
{
	put(i);
	charged_to[i] = group_current;
}

static void check_charged(void)
{
	for (unsigned int i = 0; i < store.nr; i++)
		CHILD_CHECK(!store.slot[i] || group_of(store.c, store.slot[i]) == charged_to[i]);
}

static void *use_store(void *arg)
{
	seed = (unsigned int)(uintptr_t)arg;
	group_enter(group[seed - 1]);
	while (!load_relaxed(&threads_end)) {
		unsigned int i = (unsigned int)rand_r(&seed) % store.nr;

		pthread_mutex_lock(&store.lock[i]);
		delay();
		if (!store.slot[i] && rand_r(&seed) % 8 == 0)
			put_charged(i);
		else if (store.slot[i] && rand_r(&seed) % 2)
			drop(i);
		else if (store.slot[i])
			check_filled(store.slot[i], i);
		pthread_mutex_unlock(&store.lock[i]);
	}
	return NULL;
}

static void race(const struct front_ops *front)
{
	struct cache *c = made(&(struct cache_spec){ .name = "store",
						     .size = 100,
						     .flags = group[0] ? SLAB_ACCOUNT : 0,
						     .ctor = store_ctor,
						     .engine = &slub_ops,
						     .front = front });
	unsigned int rounds = is_emulated() ? 20 : 150;
	pthread_t thread[3];

	store_relaxed(&threads_end, false);
	open_store(c, 1000);
	thin_out();
	for (uintptr_t i = 0; i < ARRAY_SIZE(thread); i++)
		CHILD_CHECK(!pthread_create(&thread[i], NULL, use_store, (void *)(i + 1)));
	for (unsigned int i = 0; i < rounds; i++) {
		unsigned int steps = 0;

		store.refuse = i % 3 ? 0 : 5;
		while (cache_defrag(c, NUMA_NO_NODE, 1 + i % 5 * 100) && ++steps < 20) {}
		if (i % 8 == 0)
			cache_shrink(c);
	}
	store_relaxed(&threads_end, true);
	for (unsigned int i = 0; i < ARRAY_SIZE(thread); i++)
		pthread_join(thread[i], NULL);
	CHILD_CHECK(counters().defrag_moved && load_relaxed(&delays));
	check_charged();
	empty_store();
	cache_check_all();
	CHILD_CHECK(in_use(c) == 0);
	CHILD_CHECK(cache_shrink(c) == 0);
	CHILD_CHECK(report_counters.reports == 0);
	cache_destroy(c->handle, NULL);
}

IN_CHILD(test_array)
{
	ready();
	race(&front_array_ops);
}

/* In the end nothing is charged to anybody, whoever freed what while it moved. */
IN_CHILD(test_charged)
{
	struct uslab_group_statistics stat;
	int error;

	ready();
	for (unsigned int i = 0; i < ARRAY_SIZE(group); i++)
		CHILD_CHECK((group[i] = group_create("g", 0, NULL, &error)));
	race(&front_array_ops);
	for (unsigned int i = 0; i < ARRAY_SIZE(group); i++) {
		CHILD_CHECK(group_stat(group[i], &stat) == 0);
		CHILD_CHECK(stat.peak && !stat.usage);
	}
	group_check();
}

IN_CHILD(test_cpuslab)
{
	CHILD_CHECK(os_topology_set(4, 2) == 0);
	ready();
	race(THREAD_SANITIZED ? &front_none_ops : &front_cpuslab_ops);
}

IN_CHILD(test_queues)
{
	CHILD_CHECK(os_topology_set(4, 2) == 0);
	ready();
	race(&front_queues_ops);
}

IN_CHILD(test_sheaves)
{
	ready();
	race(&front_sheaves_ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_array),	cmocka_unit_test(test_charged),
		cmocka_unit_test(test_cpuslab), cmocka_unit_test(test_queues),
		cmocka_unit_test(test_sheaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
