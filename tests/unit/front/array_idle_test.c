/* SPDX-License-Identifier: MIT */
/*
 * unit/front/array_idle_test.c - arrays and depots go back when use falls, or when nobody uses them
 */
#include <sys/syscall.h>

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

/* ---- left on a CPU ---- */

static uint64_t now = 1000000; /* ms; atomic */

static uint64_t clock_of_test(void)
{
	return load_relaxed(&now);
}

static void pass(unsigned int ms)
{
	store_relaxed(&now, load_relaxed(&now) + ms);
}

/* Returns how often the arrays of a CPU went back. */
static unsigned int give_idle(unsigned int most)
{
	struct array_budget budget = { .looks = 1000, .arrays = most };

	array_give_idle(&front, &budget);
	return most - budget.arrays;
}

static bool has_arrays(int cpu)
{
	return array_is_sheaf(*percpu_word(ID, cpu)) || array_is_sheaf(*percpu_spare(ID, cpu));
}

/* A machine of so many CPUs, and a thread that leaves arrays on each from the first one on. */
static void work_on(unsigned int first, unsigned int nr_cpus)
{
	floors_init(nr_cpus, 1);
	depot_clock = clock_of_test;
	make(CAP);
	for (unsigned int cpu = first; cpu < nr_cpus; cpu++) {
		os_act_as_cpu(cpu);
		take_all(3 * CAP);
		put_all(3 * CAP);
		CHILD_CHECK(has_arrays((int)cpu));
	}
}

/* What is as it was two seconds ago goes back, that of the CPU where the thread works does not. */
IN_CHILD(test_left)
{
	const struct depot *d;
	uint32_t sheaves;

	work_on(0, 4);
	d = &front.depot[0];
	CHILD_CHECK(give_idle(10) == 0); /* it looks for the first time */
	pass(1000);
	CHILD_CHECK(give_idle(10) == 0); /* too soon */
	pass(1000 + DEPOT_EPOCH_MS);
	object[0] = get();
	sheaves = depot_count(d, DEPOT_FULL);
	CHILD_CHECK(sheaves);
	CHILD_CHECK(give_idle(10) == 3);
	CHILD_CHECK(!has_arrays(0) && !has_arrays(1) && !has_arrays(2) && has_arrays(3));
	CHILD_CHECK(depot_count(d, DEPOT_FULL) == sheaves);
	balance(1);
	/* and on it goes there */
	os_act_as_cpu(1);
	put(object[0]);
	CHILD_CHECK(has_arrays(1));
	balance(0);
}

/* Where no CPU has any for the second time, the depots' go in parts. */
IN_CHILD(test_left_depots)
{
	const struct depot *d;
	uint32_t before;

	work_on(0, 4);
	d = &front.depot[0];
	take_all(20 * CAP);
	put_all(20 * CAP);
	for (int cpu = 0; cpu < 4; cpu++)
		array_drain_cpu(&front, cpu);
	before = depot_count(d, DEPOT_FULL);
	CHILD_CHECK(before > 8);
	CHILD_CHECK(give_idle(4) == 0 && depot_count(d, DEPOT_FULL) == before);
	pass(3000);
	CHILD_CHECK(give_idle(4) == 4 && depot_count(d, DEPOT_FULL) == before - 4);
	for (unsigned int i = 0; i < 100 && (held() || depot_count(d, DEPOT_EMPTY)); i++) {
		pass(3000);
		give_idle(4);
	}
	CHILD_CHECK(held() == 0 && fake.nr_out == 0 && depot_count(d, DEPOT_EMPTY) == 0);
	balance(0);
}

/* No more at a time than is allowed; the next call goes on, whatever time has passed. */
IN_CHILD(test_left_budget)
{
	struct array_budget budget = { .looks = 3, .arrays = 10 };

	work_on(0, 4);
	CHILD_CHECK(!array_give_idle(&front, &budget));
	CHILD_CHECK(budget.looks == 0 && budget.arrays == 10);
	budget.looks = 3;
	CHILD_CHECK(array_give_idle(&front, &budget) && budget.looks == 2);
	pass(3000);
	CHILD_CHECK(give_idle(3) == 3 && has_arrays(3));
	CHILD_CHECK(give_idle(1) == 1 && !has_arrays(3));
	balance(0);
}

/* CPUs that only hit, as often to allocate as to free, seem idle, and take no other one's turn. */
IN_CHILD(test_left_in_turn)
{
	work_on(58, 70);
	for (unsigned int i = 0; i < 20; i++) {
		for (unsigned int cpu = 58; cpu < 66; cpu++) {
			os_act_as_cpu(cpu);
			put(get());
		}
		pass(3000);
		give_idle(4);
	}
	for (int cpu = 66; cpu < 70; cpu++)
		CHILD_CHECK(!has_arrays(cpu));
	balance(0);
}

/* Of a CPU with a spare alone that goes, and a front that is closed stays so. */
IN_CHILD(test_left_spare)
{
	work_on(0, 4);
	sheaf_delete(sheaf_flush(&front, sheaf_withdraw(&front))); /* CPU 3 */
	CHILD_CHECK(!array_is_sheaf(*percpu_word(ID, 3)) && has_arrays(3));
	give_idle(10);
	pass(3000);
	sheaf_stash(&front, sheaf_get_empty(&front)); /* used since: another spare */
	CHILD_CHECK(give_idle(10) == 3 && has_arrays(3));
	pass(3000);
	CHILD_CHECK(give_idle(1) == 1 && !has_arrays(3));
	front_close(&front);
	array_drain_cpu(&front, 3);
	CHILD_CHECK(front.closed == FRONT_CLOSED);
	front_open(&front);
	balance(0);
}

/* The n-th CPU that the process may run on; -1: there are not so many. */
static int stay_on(int n)
{
	cpu_set_t set;

	sched_getaffinity(0, sizeof(set), &set);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set) && n-- == 0) {
			CPU_ZERO(&set);
			CPU_SET(cpu, &set);
			CHILD_CHECK(!sched_setaffinity(0, sizeof(set), &set));
			return cpu;
		}
	return -1;
}

/*
 * Under a filter of system calls no CPU is fenced, nor a thread moved to it: what another one has
 * stays there, and what the thread's own has goes.
 */
IN_CHILD(test_left_under_filter)
{
	struct array_budget budget = { .looks = 1000, .arrays = 10 };
	cpu_set_t all;
	int other, own;

	floors_init(0, 0);
	if (!percpu_rseq)
		_exit(77);
	depot_clock = clock_of_test;
	make(CAP);
	sched_getaffinity(0, sizeof(all), &all);
	other = stay_on(1);
	put(get());
	sched_setaffinity(0, sizeof(all), &all);
	own = stay_on(0);
	put(get());
	child_deny(SYS_membarrier, EPERM);
	child_deny(SYS_sched_setaffinity, EPERM);
	array_give_idle(&front, &budget);
	pass(3000);
	array_give_idle(&front, &budget);
	CHILD_CHECK(budget.arrays == 9 && !has_arrays(own));
	if (other >= 0)
		CHILD_CHECK(budget.fences == FENCES_FAIL && has_arrays(other));
	balance(0);
}

/* Beside threads that go on, also on a CPU whose arrays go back at this moment. */
static void *give_idle_always(void *arg)
{
	while (!load_relaxed(&shared.stop)) {
		for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++)
			array_drain_cpu(&front, cpu);
		pass(3000);
		give_idle(10);
	}
	return arg;
}

BOTH_MODES(test_left_threads)
{
	depot_clock = clock_of_test;
	make(CAP);
	make_shared();
	threads_run_beside(4, burst_together, give_idle_always, &shared.stop);
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
		cmocka_unit_test(test_fall),
		cmocka_unit_test(test_fall_is_over),
		cmocka_unit_test(test_fall_in_steps),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_left),
		cmocka_unit_test(test_left_depots),
		cmocka_unit_test(test_left_budget),
		cmocka_unit_test(test_left_in_turn),
		cmocka_unit_test(test_left_spare),
		cmocka_unit_test(test_left_under_filter),
		cmocka_unit_test(test_left_threads),
		cmocka_unit_test(test_engine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
