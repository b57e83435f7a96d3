/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/idle_test.c - misses give back what CPUs hold of caches that nobody uses there
 */
#include "cache_fixture.h"

#include "base/atomic.h"
#include "cache/internal.h"
#include "front/array.h"
#include "front/array_sheaf.h"
#include "page/realtime.h"

#define CACHES 20u

static uint64_t now = 1000000;
static struct cache *caches[CACHES];
static struct cache *busy; /* the newest: it is on the list before all others */

static uint64_t clock_of_test(void)
{
	return now;
}

static bool has_arrays(const struct cache *c, int cpu)
{
	unsigned int id = c->front.id;

	return array_is_sheaf(*percpu_word(id, cpu)) || array_is_sheaf(*percpu_spare(id, cpu));
}

/* How often a CPU has arrays of a cache. */
static unsigned int nr_arrays(void)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < CACHES; i++)
		for (int cpu = 0; cpu < 4; cpu++)
			nr += has_arrays(caches[i], cpu);
	return nr;
}

/* A thread has used some caches on four CPUs, and now works on the last one of these. */
static void work_on_four(void)
{
	CHILD_CHECK(os_topology_set(4, 1) == 0);
	depot_clock = clock_of_test;
	ready();
	for (unsigned int i = 0; i < CACHES; i++)
		caches[i] = make_front("c", 64, "array");
	busy = make_front("busy", 1024, "array");
	for (unsigned int cpu = 0; cpu < 4; cpu++) {
		os_act_as_cpu(cpu);
		for (unsigned int i = 0; i < CACHES; i++)
			cache_free(caches[i], get(caches[i]));
	}
	CHILD_CHECK(nr_arrays() == 4 * CACHES);
}

/* So many epochs, in each of which objects come from slabs. */
static void work(unsigned int epochs)
{
	while (epochs--) {
		now += DEPOT_EPOCH_MS;
		for (unsigned int i = 0; i < USLAB_SHEAF_CAPACITY; i++)
			get(busy);
	}
}

IN_CHILD(test_misses)
{
	unsigned int before, most = 0;

	work_on_four();
	work(20); /* each was looked at once; not yet for two seconds */
	CHILD_CHECK(nr_arrays() == 4 * CACHES);
	for (unsigned int i = 0; i < 200; i++) {
		before = nr_arrays();
		work(1);
		most = MAX(most, before - nr_arrays());
	}
	CHILD_CHECK(most && most <= 4);
	CHILD_CHECK(nr_arrays() == 0 && has_arrays(busy, 3));
	for (unsigned int i = 0; i < CACHES; i++)
		CHILD_CHECK(caches[i]->front.ops->held(&caches[i]->front) == 0);
	cache_check_all();
}

/* What is used now and then stays, here by the thread, of another CPU's by its turn there. */
IN_CHILD(test_in_use)
{
	work_on_four();
	for (unsigned int i = 0; i < 200; i++) {
		os_act_as_cpu(2);
		get(caches[7]);
		os_act_as_cpu(3);
		work(1);
	}
	CHILD_CHECK(nr_arrays() == 1 && has_arrays(caches[7], 2));
	cache_check_all();
}

static bool steps_do_nothing(void)
{
	for (unsigned int i = 0; i < 200; i++) {
		now += DEPOT_EPOCH_MS;
		if (array_limit_each_epoch())
			return false;
	}
	return nr_arrays() == 4 * CACHES;
}

/* Not while this thread has a lock, nor while somebody has the registry's. */
IN_CHILD(test_locked)
{
	static struct lock other = LOCK_INIT(RANK_CACHE);

	work_on_four();
	lock_acquire(&other);
	CHILD_CHECK(steps_do_nothing());
	lock_release(&other);
	lock_acquire(&cache_lock);
	CHILD_CHECK(steps_do_nothing());
	cache_unlock();
}

IN_CHILD(test_realtime)
{
	work_on_four();
	realtime_counters.bytes = 1;
	CHILD_CHECK(steps_do_nothing());
}

/* A step that had too little is followed by another one, some milliseconds later. */
IN_CHILD(test_pause)
{
	unsigned int left;

	work_on_four();
	work(40);
	left = nr_arrays();
	CHILD_CHECK(left < 4 * CACHES && left > 8);
	CHILD_CHECK(array_limit_each_epoch() && nr_arrays() == left);
	now += 4;
	CHILD_CHECK(array_limit_each_epoch() && nr_arrays() == left - 4);
	while (nr_arrays()) {
		now += 4;
		CHILD_CHECK(array_limit_each_epoch());
	}
	cache_check_all();
}

/* Caches come and go meanwhile. */
IN_CHILD(test_destroyed)
{
	work_on_four();
	work(20);
	for (unsigned int i = 0; i < CACHES; i += 2) {
		cache_destroy(caches[i]->handle, __builtin_return_address(0));
		caches[i] = make_front("d", 128, "array");
	}
	work(200);
	CHILD_CHECK(nr_arrays() == 0);
	cache_check_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_misses), cmocka_unit_test(test_in_use),
		cmocka_unit_test(test_locked), cmocka_unit_test(test_realtime),
		cmocka_unit_test(test_pause),  cmocka_unit_test(test_destroyed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
