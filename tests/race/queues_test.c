/* SPDX-License-Identifier: MIT */
/*
 * race/queues_test.c - the queues front with delays and moves between all of its steps
 *
 * ctest: serial
 *
 * The front is compiled into this file with its per-CPU steps and its locks wrapped: before a step
 * the thread may yield, so that others of its CPU get in between, or be moved to another CPU, so
 * that the step fails, or a claim goes on on another CPU. In rseq mode and, on a made-up
 * topology of two nodes, without. Drains, reaps and other limits come from outside meanwhile.
 *
 * With the rule broken that a hit compares the entry, or the array's end, it must fail. The second
 * is so rare that it is made to happen.
 */
#include "unit/front/fake_engine.h"

#include <stdio.h>

static int late_cmp2_store(int cpu, uintptr_t *word, uintptr_t expect, const uintptr_t *word2,
			   uintptr_t expect2, uintptr_t new_value);
static int late_cmp2_push(int cpu, uintptr_t *word, uintptr_t expect, const uintptr_t *word2,
			  uintptr_t expect2, uintptr_t *slot, uintptr_t value);
static int late_xchg(int cpu, uintptr_t *word, uintptr_t new_value, uintptr_t *old);
static void late_release(struct lock *l);
static int late_cpu(void);

#define percpu_cpu late_cpu
#define percpu_cmp2_store late_cmp2_store
#define percpu_cmp2_push late_cmp2_push
#define percpu_xchg late_xchg
#define lock_release late_release
#include "front/queues.c"
#include "front/queues_claim.c"
#undef percpu_cpu
#undef percpu_cmp2_store
#undef percpu_cmp2_push
#undef percpu_xchg
#undef lock_release

#include "late.h"

#define ID 700u
#define THREADS 6
#define SLOTS 128
#define ROUNDS 30000

static bool stopped;

enum {
	ENTRY_UNSEEN = 1, /* a hit alloc compares top only */
	END_UNSEEN = 2,	  /* a hit free compares top only */
};

static int broken;
static void (*before_push)(void); /* once */

static int late_cmp2_store(int cpu, uintptr_t *word, uintptr_t expect, const uintptr_t *word2,
			   uintptr_t expect2, uintptr_t new_value)
{
	inject();
	if (broken & ENTRY_UNSEEN)
		return percpu_cmp2_store(cpu, word, expect, word, expect, new_value);
	return percpu_cmp2_store(cpu, word, expect, word2, expect2, new_value);
}

static int late_cmp2_push(int cpu, uintptr_t *word, uintptr_t expect, const uintptr_t *word2,
			  uintptr_t expect2, uintptr_t *slot, uintptr_t value)
{
	void (*before)(void) = steady ? before_push : NULL;

	if (before) {
		before_push = NULL;
		before();
	}
	inject();
	if (broken & END_UNSEEN)
		return percpu_cmp2_push(cpu, word, expect, word, expect, slot, value);
	return percpu_cmp2_push(cpu, word, expect, word2, expect2, slot, value);
}

static int late_xchg(int cpu, uintptr_t *word, uintptr_t new_value, uintptr_t *old)
{
	int ret;

	inject();
	ret = percpu_xchg(cpu, word, new_value, old);
	inject(); /* with the array claimed */
	return ret;
}

/* The last CPU that the thread knew of is not this one. */
static int late_cpu(void)
{
	inject();
	return percpu_cpu();
}

/* The array is back: others may take it before the lock is free. */
static void late_release(struct lock *l)
{
	inject();
	lock_release(l);
}

static void *work(void *arg)
{
	seed = (unsigned int)(uintptr_t)arg;
	for (unsigned int round = 0; round < ROUNDS; round++) {
		int node = round % 31 ? NUMA_NO_NODE : (int)(round % os_topology.nr_nodes);
		gfp_t gfp = node < 0 ? 0 : __GFP_THISNODE;
		void *obj = front.ops->alloc(&front, gfp, node);

		CHILD_CHECK(obj && (node < 0 || page_head_unchecked(obj)->node == node));
		obj = exchange_object(obj, SLOTS, &seed);
		if (obj)
			front.ops->free(&front, obj);
	}
	return NULL;
}

static void *disturb(__attribute__((unused)) void *arg)
{
	seed = 4711;
	for (unsigned int turn = 0; !load_relaxed(&stopped); turn++) {
		unsigned int limit = 1 + (unsigned int)rand_r(&seed) % 12;

		if (turn % 4 == 0)
			front.ops->drain(&front);
		else if (turn % 4 == 1)
			front.ops->reap(&front, turn / 4 % os_topology.nr_cpu_ids);
		else
			front.ops->tune(&front, limit, (limit + 1) / 2, turn % 3);
		usleep(50);
	}
	return NULL;
}

static void run(unsigned int capacity, bool disturbed)
{
	struct engine_params params = { .name = "race", .object_size = 128, .align = 8, .id = ID };

	CHILD_CHECK(slub_ops.init(&engine, &params) == 0);
	engine.ops = &slub_ops;
	front = (struct front){ .ops = &front_queues_ops, .engine = &engine, .id = ID };
	CHILD_CHECK(front.ops->init(&front, capacity) == 0);
	threads_run_beside(THREADS, work, disturbed ? disturb : NULL, &stopped);
	CHILD_CHECK(load_relaxed(&moves) > 1000);
	exchange_end();
	front.ops->drain(&front);
	balance(0);
	CHILD_CHECK(slub_ops.destroy(&engine) == 0);
	front.ops->destroy(&front);
}

BOTH_MODES(test_threads)
{
	run(0, false);
}

BOTH_MODES(test_small_arrays)
{
	run(2, false);
}

BOTH_MODES(test_threads_and_others)
{
	run(7, true);
}

static void entry_unseen(__attribute__((unused)) void *arg)
{
	broken = ENTRY_UNSEEN;
	floors_init(4, 1);
	run(4, true);
}

static void test_entry_unseen_is_seen(void **state)
{
	struct child c = child_run_broken(entry_unseen, state);

	assert_int_not_equal(c.status, 0);
}

/*
 * Between a hit free's look at the array and its step the array is replaced by one in the same
 * place that is as full and has no room: top is what it was, and only the end is another.
 */
static void *objs[32];

static void replace_array(void)
{
	uintptr_t top = percpu_state(ID, 1)->top;

	CHILD_CHECK(front.ops->tune(&front, 8, 8, 0) == 0);
	for (unsigned int i = 8; i < 16; i++)
		front.ops->free(&front, objs[i]);
	CHILD_CHECK(percpu_state(ID, 1)->top == top && percpu_state(ID, 1)->end == top);
}

static void same_place(void *arg)
{
	struct fake fake;

	broken = *(int *)arg;
	steady = true;
	floors_init(2, 1);
	fake_init(&fake, FAKE_SIZE);
	os_act_as_cpu(1);
	CHILD_CHECK(front_make(&front, &front_queues_ops, &fake, ID, 10) == 0);
	CHILD_CHECK(fake_refill(&fake.e, objs, 17, 0, 0) == 17);
	for (unsigned int i = 0; i < 8; i++)
		front.ops->free(&front, objs[i]);
	before_push = replace_array;
	front.ops->free(&front, objs[16]);
	front.ops->check(&front);
	CHILD_CHECK(fake.nr_out == front.ops->held(&front));
}

static void test_same_place(void **state)
{
	int nothing = 0;
	struct child c = child_run(same_place, &nothing);

	(void)state;
	assert_true(child_passed(&c));
}

static void test_end_unseen_is_seen(void **state)
{
	int what = END_UNSEEN;
	struct child c = child_run_broken(same_place, &what);

	(void)state;
	assert_true(child_aborted(&c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_small_arrays),
		cmocka_unit_test(test_threads_and_others),
		cmocka_unit_test(test_entry_unseen_is_seen),
		cmocka_unit_test(test_same_place),
		cmocka_unit_test(test_end_unseen_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
