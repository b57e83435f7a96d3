/* SPDX-License-Identifier: MIT */
/*
 * race/sheaves_test.c - the fronts of sheaves with delays and moves around all of their locks
 *
 * The front is compiled into this file with its locks and its memory wrapped: before a lock is
 * tried, while it is held and before it is released the thread may yield, so that others find it
 * held, or be moved to another CPU, so that it goes on with what that one does not own; and now and
 * then there is no memory for a sheaf. Drains, closings, other
 * capacities and lent sheaves come from outside. In rseq
 * mode and, on a made-up topology of two nodes, without.
 *
 * With the rule broken that sheaves change under locks, that a closed front takes nothing, or that
 * no place takes a sheaf of another capacity, it must fail.
 */
#include "unit/front/fake_engine.h"

#include <pthread.h>

static bool late_try(struct lock *l);
static void late_acquire(struct lock *l);
static void late_release(struct lock *l);
static void *late_alloc(size_t size);
static int late_cpu(void);
static bool late_current(const struct sheaf *sheaf);

#define lock_try late_try
#define lock_acquire late_acquire
#define lock_release late_release
#define meta_alloc late_alloc
#define percpu_cpu late_cpu
#include "front/sheaves.h"
#define sheaf_is_current late_current
#include "front/sheaves.c"
#include "front/sheaves_all.c"
#include "front/sheaves_barn.c"
#include "front/sheaves_bulk.c"
#include "front/sheaves_capacity.c"
#include "front/sheaves_lent.c"
#include "front/sheaves_rcu.c"
#include "front/sheaves_swap.c"
#undef lock_try
#undef lock_acquire
#undef lock_release
#undef meta_alloc
#undef percpu_cpu
#undef sheaf_is_current

#include "late.h"

#define ID 701u
#define THREADS 6
#define SLOTS 128
#define ROUNDS 2000
#define MAX_ROUNDS (100 * ROUNDS)
#define MOVES 1000
#define STALE 20   /* sheaves that are to be refused for their capacity */
#define CLOSES 100 /* after each of which the front is looked at */
#define BULK 24

static bool stopped;
static bool changes;	    /* capacities */
static unsigned int closes; /* atomic */

enum {
	UNLOCKED = 1,	   /* nobody takes a lock */
	CLOSED_UNSEEN = 2, /* a front is drained and not closed */
	NOT_COMPARED = 4,  /* a place takes a sheaf of any capacity */
};

static int broken;
static unsigned long refused;	 /* sheaves for which there was no memory. Atomic */
static unsigned long stale;	 /* sheaves of another capacity. Atomic */
static unsigned long found_held; /* locks that somebody had. Atomic */

static bool late_try(struct lock *l)
{
	inject();
	if (broken & UNLOCKED) {
		inject();
		return true;
	}
	if (!lock_try(l)) {
		fetch_add(&found_held, 1);
		return false;
	}
	inject(); /* with the CPU's sheaves, perhaps on another CPU */
	return true;
}

static void late_acquire(struct lock *l)
{
	inject();
	if (broken & UNLOCKED)
		return;
	lock_acquire(l);
	if (!os_topology.made_up)
		sched_yield();
}

static void late_release(struct lock *l)
{
	inject();
	if (!(broken & UNLOCKED))
		lock_release(l);
}

static void *late_alloc(size_t size)
{
	if (!steady && rand_r(&seed) % 8 == 0) {
		fetch_add(&refused, 1);
		return NULL;
	}
	return meta_alloc(size);
}

/* The last CPU that the thread knew of is not this one. */
static int late_cpu(void)
{
	inject();
	return percpu_cpu();
}

static bool late_current(const struct sheaf *sheaf)
{
	bool is_current = sheaf_is_current(sheaf);

	if (broken & NOT_COMPARED)
		return true;
	fetch_add(&stale, !is_current);
	inject();
	return is_current;
}

/* ---- threads --------------------------------------------------------------------------------- */

static void lend_some(void)
{
	struct sheaf *sheaf = sheaves_lend(&front, 0, 1 + (unsigned int)rand_r(&seed) % 8);

	if (!sheaf)
		return;
	for (unsigned int i = 0; i < 3 && sheaf->nr; i++) {
		void *obj = exchange_object(sheaf_pop(sheaf), SLOTS, &seed);

		if (obj)
			front.ops->free(&front, obj);
	}
	sheaves_take_back(&front, sheaf);
}

static void take_many(void)
{
	void *p[BULK];
	unsigned int n = front.ops->alloc_bulk(&front, 0, BULK, p);

	CHILD_CHECK(n == BULK);
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int j = 0; j < i; j++)
			CHILD_CHECK(p[i] != p[j]);
	front.ops->free_bulk(&front, n, p);
}

/* Without locks nothing is. */
static bool has_found_held(void)
{
	return broken & UNLOCKED || load_relaxed(&found_held) > 0;
}

/* Has what is to happen not happened yet, though it may? */
static bool is_early(unsigned int round)
{
	if (round >= MAX_ROUNDS)
		return false;
	if (broken & UNLOCKED || (broken & CLOSED_UNSEEN && load_relaxed(&closes) < CLOSES))
		return true;
	return load_relaxed(&moves) <= MOVES || !load_relaxed(&refused) || !has_found_held() ||
	       (changes && load_relaxed(&stale) < STALE);
}

static void *work(void *arg)
{
	seed = (unsigned int)(uintptr_t)arg;
	for (unsigned int round = 0; round < ROUNDS || is_early(round); round++) {
		int node = round % 31 ? NUMA_NO_NODE : (int)(round % os_topology.nr_nodes);
		gfp_t gfp = node < 0 ? 0 : __GFP_THISNODE;
		void *obj = front.ops->alloc(&front, gfp, node);

		CHILD_CHECK(obj && (node < 0 || page_head_unchecked(obj)->node == node));
		obj = exchange_object(obj, SLOTS, &seed);
		if (obj)
			front.ops->free(&front, obj);
		if (round % 64 == 0)
			take_many();
		if (round % 64 == 32)
			lend_some();
	}
	return NULL;
}

static void close_and_look(void)
{
	if (broken & CLOSED_UNSEEN)
		front.ops->drain(&front);
	else
		front_close(&front);
	for (unsigned int i = 0; i < 20; i++) {
		CHILD_CHECK(sheaves_held_cpus(&front) + sheaves_held_barns(&front) == 0);
		usleep(50);
	}
	fetch_add(&closes, 1);
	front_open(&front);
}

static void look_at(const struct sheaf *sheaf)
{
	CHILD_CHECK(!sheaf || sheaf_is_current(sheaf));
}

/* Once the change is done no place has a sheaf of before, nor gets one. */
static void look_at_capacities(void)
{
	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++) {
		struct kmem_cache_cpu *c = percpu_state(ID, cpu);

		lock_acquire(&c->sheaf_lock);
		look_at(c->main);
		look_at(c->spare);
		look_at(c->rcu_free);
		lock_release(&c->sheaf_lock);
	}
	for (unsigned int node = 0; node < sheaves_of(&front)->nr_nodes; node++) {
		struct barn *barn = sheaves_barn(&front, node);

		lock_acquire(&barn->lock);
		for (const struct sheaf *sheaf = barn->full; sheaf; sheaf = sheaf->next)
			look_at(sheaf);
		for (const struct sheaf *sheaf = barn->empty; sheaf; sheaf = sheaf->next)
			look_at(sheaf);
		lock_release(&barn->lock);
	}
}

static void change_and_look(void)
{
	unsigned int capacity = 1 + (unsigned int)rand_r(&seed) % 24;

	CHILD_CHECK(front.ops->set_capacity(&front, capacity) == 0);
	for (unsigned int i = 0; i < 5; i++) {
		look_at_capacities();
		usleep(20);
	}
}

static void *disturb(__attribute__((unused)) void *arg)
{
	seed = 4711;
	for (unsigned int turn = 0; !load_relaxed(&stopped); turn++) {
		if (changes && turn % 8 && turn % 8 < 7)
			change_and_look();
		else if (turn % 4)
			front.ops->drain(&front);
		else
			close_and_look();
		usleep(50);
	}
	return NULL;
}

static void run(const struct front_ops *ops, unsigned int capacity)
{
	struct engine_params params = { .name = "race", .object_size = 128, .align = 8, .id = ID };

	steady = true;
	CHILD_CHECK(slub_ops.init(&engine, &params) == 0);
	engine.ops = &slub_ops;
	front = (struct front){ .ops = ops, .engine = &engine, .id = ID };
	CHILD_CHECK(front.ops->init(&front, capacity) == 0);
	if (ops == &front_sheaves_ops)
		sheaves_of(&front)->capacity = capacity; /* smaller than the table has it */
	steady = false;
	threads_run_beside(THREADS, work, disturb, &stopped);
	CHILD_CHECK(load_relaxed(&moves) > MOVES);
	CHILD_CHECK(load_relaxed(&refused) > 0 && has_found_held());
	steady = true;
	exchange_end();
	front.ops->drain(&front);
	balance(0);
	CHILD_CHECK(slub_ops.destroy(&engine) == 0);
	front.ops->destroy(&front);
	meta_check();
}

BOTH_MODES(test_threads)
{
	run(&front_sheaves_ops, 12);
}

BOTH_MODES(test_small_sheaves)
{
	run(&front_sheaves_ops, 2);
}

BOTH_MODES(test_threads_over_cpu_slabs)
{
	run(&front_sheaves_618_ops, 8);
}

static void run_changes(const struct front_ops *ops)
{
	changes = true;
	run(ops, 12);
	CHILD_CHECK(load_relaxed(&stale) > 0);
}

BOTH_MODES(test_changes)
{
	run_changes(&front_sheaves_ops);
}

BOTH_MODES(test_changes_over_cpu_slabs)
{
	run_changes(&front_sheaves_618_ops);
}

/* ---- does it see what is wrong? -------------------------------------------------------------- */

static void break_it(void *how)
{
	broken = *(int *)how;
	floors_init(4, 2);
	changes = broken & NOT_COMPARED;
	run(&front_sheaves_ops, 4);
}

static void test_broken_rules_are_seen(__attribute__((unused)) void **state)
{
	static int rules[] = { UNLOCKED, CLOSED_UNSEEN, NOT_COMPARED };

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		struct child c = child_run_broken(break_it, &rules[i]);

		assert_int_not_equal(c.status, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_small_sheaves),
		cmocka_unit_test(test_threads_over_cpu_slabs),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_changes_over_cpu_slabs),
		cmocka_unit_test(test_broken_rules_are_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
