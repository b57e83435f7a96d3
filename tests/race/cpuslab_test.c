/* SPDX-License-Identifier: MIT */
/*
 * race/cpuslab_test.c - the cpuslab front with delays and moves between all of its steps
 *
 * ctest: timeout=60 serial
 *
 * The front is compiled into this file with its per-CPU steps wrapped: before a step the thread may
 * yield, so that others of its CPU get in between, or be moved to another CPU, so that the step
 * fails. In rseq mode and, on a made-up topology, without.
 */
#include "unit/front/fake_engine.h"

#include <stdio.h>

#include "bare.h"
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

#include "late.h"

#define ID 700u
#define THREADS 6
#define SLOTS 128
#define ROUNDS 60000

static bool stopped;

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
	seed = (unsigned int)(uintptr_t)arg;
	for (unsigned int round = 0; round < ROUNDS; round++) {
		int node = round % 31 ? NUMA_NO_NODE : (int)(round % os_topology.nr_nodes);
		void *obj = front.ops->alloc(&front, 0, node);

		obj = exchange_object(obj, SLOTS, &seed);
		if (obj)
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
	make(hardened);
	threads_run_beside(THREADS, work, drained ? drain_often : NULL, &stopped);
	CHILD_CHECK(load_relaxed(&moves) > 1000);
	exchange_end();
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
