/* SPDX-License-Identifier: MIT */
/*
 * unit/front/array_idle_test.c - arrays and depots go back when use falls, or when nobody uses them
 */
#include "array_fixture.h"
#include "front/array_sheaf.h"
#include "os/time/clock.h"
#include "threads.h"

#define OBJECTS 400u

static void *object[OBJECTS];

static void take_all(unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		CHILD_CHECK((object[i] = get()));
}

static void put_all(unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		put(object[i]);
}

/* As page/purge.c says it, for so many milliseconds. */
static void fall(unsigned int ms)
{
	store_relaxed(&buddy_zones[os_current_node()].falls_until,
		      (uint32_t)((os_clock_ms() + ms) >> 4) + 1);
}

static unsigned long held(void)
{
	return front.ops->held(&front);
}

/* No more than one array stays, and each one is flushed once. */
BOTH_MODES(test_fall)
{
	here();
	make(CAP);
	take_all(OBJECTS);
	put_all(OBJECTS);
	CHILD_CHECK(held() > 2 * CAP); /* two arrays, and the depot */
	balance(0);
	take_all(OBJECTS);
	fall(1000000);
	fake.flushes = 0;
	put_all(OBJECTS);
	CHILD_CHECK(held() <= CAP && depot_count(&front.depot[os_current_node()], DEPOT_FULL) == 0);
	CHILD_CHECK(fake.flushes <= OBJECTS / CAP);
	balance(0);
}

/* A fall ends. */
BOTH_MODES(test_fall_is_over)
{
	here();
	make(CAP);
	take_all(OBJECTS);
	buddy_zones[os_current_node()].falls_until = (uint32_t)(os_clock_ms() >> 4) - 1;
	put_all(OBJECTS);
	CHILD_CHECK(held() > 2 * CAP);
	balance(0);
}

/* What a large depot holds goes in steps. */
BOTH_MODES(test_fall_in_steps)
{
	struct depot *d;
	uint32_t before;

	here();
	make(CAP);
	d = &front.depot[os_current_node()];
	take_all(OBJECTS);
	put_all(OBJECTS);
	before = depot_count(d, DEPOT_FULL);
	CHILD_CHECK(before > 8);
	fall(1000000);
	array_give_up(&front);
	CHILD_CHECK(depot_count(d, DEPOT_FULL) == before - 4);
	balance(0);
}

static void reap(void)
{
	for (unsigned int cpu = 0; cpu < os_topology.nr_cpu_ids; cpu++)
		front.ops->reap(&front, cpu);
}

/* The second reap that finds all as it was takes all; one that finds it changed takes nothing. */
BOTH_MODES(test_idle)
{
	unsigned long before;

	here();
	make(CAP);
	take_all(100);
	put_all(100);
	before = held();
	CHILD_CHECK(before > 2 * CAP);
	reap();
	CHILD_CHECK(held() == before);
	put(get());
	object[0] = get();
	reap();
	CHILD_CHECK(held() == before - 1);
	put(object[0]);
	reap();
	CHILD_CHECK(held() == before);
	reap();
	CHILD_CHECK(held() == 0);
	balance(0);
	fake.flushes = 0;
	reap();
	CHILD_CHECK(fake.flushes == 0);
	/* and on it goes */
	take_all(100);
	put_all(100);
	CHILD_CHECK(held() == before);
	balance(0);
}

/* Use falls and rises again, and what seems idle is taken, beside threads that go on. */
static void *fall_and_reap(void *arg)
{
	for (unsigned int i = 0; !load_relaxed(&shared.stop); i++) {
		fall(i % 2 ? 1000 : 0);
		if (i % 8 == 0)
			reap();
		sched_yield();
	}
	return arg;
}

BOTH_MODES(test_threads)
{
	make(CAP);
	make_shared();
	threads_run_beside(4, burst_together, fall_and_reap, &shared.stop);
	balance(0);
	front.ops->drain(&front);
	CHILD_CHECK(fake.nr_out == 0);
	front.ops->destroy(&front);
}

static unsigned long reaped;

static unsigned long count_reap(struct engine *e, unsigned int node)
{
	(void)e;
	reaped |= 1ul << node;
	return 0;
}

/* The engine has its turn in each round, once for each node, whatever CPUs hold. */
IN_CHILD(test_engine)
{
	struct engine_ops ops = fake_ops;

	floors_init(6, 3);
	make(CAP);
	ops.reap = count_reap;
	fake.e.ops = &ops;
	put(get());
	reap();
	CHILD_CHECK(reaped == 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fall),	      cmocka_unit_test(test_fall_is_over),
		cmocka_unit_test(test_fall_in_steps), cmocka_unit_test(test_idle),
		cmocka_unit_test(test_threads),	      cmocka_unit_test(test_engine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
