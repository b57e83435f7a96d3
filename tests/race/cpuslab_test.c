/* SPDX-License-Identifier: MIT */
/*
 * race/cpuslab_test.c - the cpuslab front with delays and moves between all of its steps
 *
 * The front is compiled into this file with its per-CPU steps wrapped: before a step the thread may
 * yield, so that others of its CPU get in between, or be moved to another CPU, so that the step
 * fails. In rseq mode and, on a made-up topology, without.
 */
#include "unit/front/fake_engine.h"

#include <pthread.h>
#include <stdio.h>

#include "bare.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "engine/slub/slab.h"
#include "os/time/clock.h"

static int late_cmp2_store(int cpu, uintptr_t *word, uintptr_t expect, const uintptr_t *word2,
			   uintptr_t expect2, uintptr_t new_value);
static int late_xchg(int cpu, uintptr_t *word, uintptr_t new_value, uintptr_t *old);

#define percpu_cmp2_store late_cmp2_store
#define percpu_xchg late_xchg
#define front_cpuslab_ops late_cpuslab_ops
extern const struct front_ops late_cpuslab_ops;
#include "front/cpuslab.c"
#undef percpu_cmp2_store
#undef percpu_xchg
#undef front_cpuslab_ops

#define ID 700u
#define THREADS 6
#define SLOTS 128
#define ROUNDS 60000

static struct engine engine;
static struct front front;
static void *slots[SLOTS]; /* objects that nobody is working on */
static __thread unsigned int seed;
static unsigned long moves;
static bool stopped;

static void move_somewhere(void)
{
	unsigned int target = (unsigned int)rand_r(&seed) % os_topology.nr_cpu_ids;
	cpu_set_t set;

	fetch_add(&moves, 1);
	if (os_topology.made_up) {
		os_act_as_cpu(target);
		return;
	}
	CPU_ZERO(&set);
	CPU_SET(target, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Before a step: one time in 16 others come first, one time in 32 elsewhere. */
static void inject(void)
{
	unsigned int dice = (unsigned int)rand_r(&seed) % 64;

	if (dice < 4)
		sched_yield();
	else if (dice < 6)
		move_somewhere();
}

static int late_cmp2_store(int cpu, uintptr_t *word, uintptr_t expect, const uintptr_t *word2,
			   uintptr_t expect2, uintptr_t new_value)
{
	inject();
	return percpu_cmp2_store(cpu, word, expect, word2, expect2, new_value);
}

static int late_xchg(int cpu, uintptr_t *word, uintptr_t new_value, uintptr_t *old)
{
	inject();
	return percpu_xchg(cpu, word, new_value, old);
}

static void *work(void *arg)
{
	seed = *(unsigned int *)arg;
	for (unsigned int round = 0; round < ROUNDS; round++) {
		int node = round % 31 ? NUMA_NO_NODE : (int)(round % os_topology.nr_nodes);
		unsigned long *obj = front.ops->alloc(&front, 0, node);

		CHILD_CHECK(obj != NULL);
		obj[0] = (unsigned long)obj;
		obj[15] = ~(unsigned long)obj;
		obj = xchg(&slots[(unsigned int)rand_r(&seed) % SLOTS], (void *)obj);
		if (!obj)
			continue;
		/* An object that somebody else got as well holds something else by now. */
		CHILD_CHECK(obj[0] == (unsigned long)obj && obj[15] == ~obj[0]);
		obj[0] = 0;
		front.ops->free(&front, obj);
	}
	return NULL;
}

static void *drain_often(__attribute__((unused)) void *arg)
{
	seed = 4711;
	while (!load_relaxed(&stopped)) {
		front.ops->drain(&front);
		slub_shrink(&engine);
		usleep(100);
	}
	return NULL;
}

/* All objects are in use, held by CPUs or free in slabs, each once. */
static void balance(unsigned long in_use)
{
	struct engine_stats stats;

	front.ops->check(&front);
	slub_check(&engine);
	slub_ops.stats(&engine, &stats);
	CHILD_CHECK(stats.total_objects - stats.free_objects - front.ops->held(&front) == in_use);
}

static void make(bool hardened)
{
	struct engine_params params = {
		.name = "race", .object_size = 128, .align = 8, .id = ID, .hardened = hardened
	};

	CHILD_CHECK(slub_ops.init(&engine, &params) == 0);
	slub_of(&engine)->min_partial = 1;
	front = (struct front){ .ops = &late_cpuslab_ops, .engine = &engine, .id = ID };
	CHILD_CHECK(front.ops->init(&front, 0) == 0);
}

static void end(void)
{
	front.ops->drain(&front);
	balance(0);
	CHILD_CHECK(slub_ops.destroy(&engine) == 0);
}

static void run(bool hardened, bool drained)
{
	unsigned int seeds[THREADS] = { 1, 2, 3, 4, 5, 6 };
	pthread_t threads[THREADS];
	unsigned long in_use = 0;
	pthread_t drainer;

	make(hardened);
	if (drained)
		CHILD_CHECK(pthread_create(&drainer, NULL, drain_often, NULL) == 0);
	for (unsigned int i = 0; i < THREADS; i++)
		CHILD_CHECK(pthread_create(&threads[i], NULL, work, &seeds[i]) == 0);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	store_relaxed(&stopped, true);
	if (drained)
		pthread_join(drainer, NULL);

	CHILD_CHECK(load_relaxed(&moves) > 1000);
	for (unsigned int i = 0; i < SLOTS; i++)
		in_use += slots[i] != NULL;
	balance(in_use);
	for (unsigned int i = 0; i < SLOTS; i++)
		if (slots[i])
			front.ops->free(&front, slots[i]);
	end();
}

BOTH_MODES(test_threads)
{
	run(false, false);
}

BOTH_MODES(test_threads_and_drain)
{
	run(false, true);
}

BOTH_MODES(test_hardened_threads_and_drain)
{
	run(true, true);
}

/* Writes all over each object, so that what was its link leads nowhere. */
static void *scribble(__attribute__((unused)) void *arg)
{
	void *objs[40];

	while (!load_relaxed(&stopped)) {
		for (unsigned int i = 0; i < ARRAY_SIZE(objs); i++) {
			objs[i] = front.ops->alloc(&front, 0, NUMA_NO_NODE);
			memset(objs[i], 0x5a, 128);
		}
		for (unsigned int i = 0; i < ARRAY_SIZE(objs); i++)
			front.ops->free(&front, objs[i]);
	}
	return NULL;
}

/* Statistics are asked for at any time, mallinfo2() among them. */
BOTH_MODES(test_held_meanwhile)
{
	pthread_t thread;

	if (THREAD_SANITIZED)
		return; /* what is read there may be the program's at that very moment, by design */
	make(false);
	CHILD_CHECK(pthread_create(&thread, NULL, scribble, NULL) == 0);
	for (uint64_t end_ms = os_clock_ms() + 400; os_clock_ms() < end_ms;)
		CHILD_CHECK(front.ops->held(&front) <= 1000000);
	store_relaxed(&stopped, true);
	pthread_join(thread, NULL);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_threads_and_drain),
		cmocka_unit_test(test_hardened_threads_and_drain),
		cmocka_unit_test(test_held_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
