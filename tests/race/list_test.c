/* SPDX-License-Identifier: MIT */
/*
 * race/list_test.c - delays inside the sequences of the cpuslab front's hits
 *
 * ctest: timeout=120 sanitize=no
 *
 * The front is compiled into this program with a loop at each place of arch/list_rseq.h. Threads
 * allocate, pass objects to one another and free; another thread moves them from CPU to CPU, which
 * interrupts sequences at any of their steps, and a third one drains all CPUs. An object that is
 * handed out twice carries two stamps; one that is lost is missing in the books at the end. With
 * sequences that are not restarted after an interruption the same must fail.
 */
#define PLACES 22
#include "delay.h"

/* clang-format off */
#define INJECT_1 ""
#define INJECT_2 ""
#define INJECT_3 ""
#define INJECT_4 ""
#define INJECT_5 ""
#define INJECT_6 ""
#define INJECT_22 ""
#define INJECT_23 ""
#define INJECT_24 ""
#define INJECT_25 ""
#define INJECT_26 ""
#define INJECT_27 ""
#define INJECT_40 ""
#define INJECT_41 ""
#define INJECT_42 ""
#define INJECT_43 ""
#define INJECT_44 ""
#define INJECT_45 ""
#define INJECT_16 NOT_RESTARTED DELAY(16)
#define INJECT_17 DELAY(17)
#define INJECT_18 DELAY(18)
#define INJECT_19 NOT_RESTARTED DELAY(19)
#define INJECT_20 DELAY(20)
#define INJECT_21 DELAY(21)
/* clang-format on */

#include "unit/front/fake_engine.h"

#if !USLAB_HAVE_RSEQ
int main(void)
{
	return 77; /* no sequences in this build */
}
#else

RACE_TABLES

#include <stdio.h>

#include "engine/slub/slab.h"
#include "os/cpu/rseq.h"

#define front_cpuslab_ops delayed_cpuslab_ops
extern const struct front_ops delayed_cpuslab_ops;
#include "front/cpuslab.c"
#undef front_cpuslab_ops

#include "unit/front/exchange.h"

#define ID 700u
#define FIRST_PLACE 16
#define THREADS 5
#define SLOTS 64
#define ROUNDS 60000

static int tids[THREADS];
static bool stopped;

/* One call in eight is slow somewhere; the loop ends sooner or later, however often it restarts. */
static void delay_somewhere(unsigned int *seed)
{
	unsigned int dice = (unsigned int)rand_r(seed);

	if (dice % 8 == 0)
		race_delay[FIRST_PLACE + dice / 8 % (PLACES - FIRST_PLACE)] =
			(int)(dice / 64 % 400);
}

static void *work(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;
	void *obj;

	store_relaxed(&tids[seed - 1], gettid());
	for (unsigned int round = 0; round < ROUNDS; round++) {
		delay_somewhere(&seed);
		obj = front.ops->alloc(&front, 0, NUMA_NO_NODE);
		obj = exchange_object(obj, SLOTS, &seed);
		if (!obj)
			continue;
		delay_somewhere(&seed);
		front.ops->free(&front, obj);
	}
	return NULL;
}

/* Interrupts a thread in whatever it does, and lets it go on elsewhere. */
static void *move_often(__attribute__((unused)) void *arg)
{
	unsigned int seed = 99;

	while (!load_relaxed(&stopped)) {
		int tid = load_relaxed(&tids[(unsigned int)rand_r(&seed) % THREADS]);
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET((unsigned int)rand_r(&seed) % os_topology.nr_cpu_ids, &set);
		if (tid)
			sched_setaffinity(tid, sizeof(set), &set);
	}
	return NULL;
}

static void *drain_often(__attribute__((unused)) void *arg)
{
	while (!load_relaxed(&stopped)) {
		front.ops->drain(&front);
		slub_shrink(&engine);
		usleep(200);
	}
	return NULL;
}

static void storm(void *arg)
{
	struct engine_params params = { .name = "race", .object_size = 128, .align = 8, .id = ID };
	pthread_t mover;

	race_broken = *(int *)arg;
	floors_init(0, 0);
	CHILD_CHECK(slub_ops.init(&engine, &params) == 0);
	front = (struct front){ .ops = &delayed_cpuslab_ops, .engine = &engine, .id = ID };
	CHILD_CHECK(front.ops->init(&front, 0) == 0);
	CHILD_CHECK(pthread_create(&mover, NULL, move_often, NULL) == 0);
	threads_run_beside(THREADS, work, drain_often, &stopped);
	pthread_join(mover, NULL);
	exchange_end();
	front.ops->drain(&front);
	balance(0);
	CHILD_CHECK(slub_ops.destroy(&engine) == 0);
}

static void delays_do_no_harm(__attribute__((unused)) void **state)
{
	int broken = 0;
	struct child c = child_run(storm, &broken);

	if (!child_passed(&c))
		fail_msg("%s", c.text);
}

static void without_restart_it_fails(__attribute__((unused)) void **state)
{
	int broken = 1;
	struct child c;

	for (int attempt = 0; attempt < 5; attempt++) {
		c = child_run_broken(storm, &broken);
		if (!child_passed(&c))
			return;
	}
	fail_msg("sequences that are not restarted went unnoticed");
}

int main(void)
{
	os_cpu_init();
	os_rseq_init();
	if (!os_rseq_on || os_topology.nr_cpus < 2)
		return 77; /* no sequences in this process, or nowhere to move to */

	const struct CMUnitTest tests[] = {
		cmocka_unit_test(delays_do_no_harm),
		cmocka_unit_test(without_restart_it_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
