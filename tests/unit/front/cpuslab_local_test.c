/* SPDX-License-Identifier: MIT */
/*
 * unit/front/cpuslab_local_test.c - objects that a CPU holds, and no others; also while other
 * threads free into its slabs, take from them and drain them
 */
#include <pthread.h>

#include "bare.h"
#include "engine/slub/slab.h"
#include "exchange.h"

#define ID 600u
#define STEPS 20000

static int cpu; /* that this thread stays on */

static void make(unsigned int size)
{
	struct engine_params params = { .name = "test", .object_size = size, .align = 8, .id = ID };

	cpu = here();
	CHILD_CHECK(slub_ops.init(&engine, &params) == 0);
	front = (struct front){ .ops = &front_cpuslab_ops, .engine = &engine, .id = ID };
	CHILD_CHECK(front.ops->init(&front, 0) == 0);
}

static void get_many(void **objs, unsigned int n)
{
	CHILD_CHECK(front.ops->alloc_bulk(&front, GFP_KERNEL, n, objs) == n);
}

static void put(void *obj)
{
	front.ops->free(&front, obj);
}

static unsigned long nr_slabs(void)
{
	struct engine_stats stats;

	engine.ops->stats(&engine, &stats);
	return stats.nr_slabs;
}

static void end(void)
{
	front.ops->drain(&front);
	CHILD_CHECK(front.ops->held(&front) == 0);
	balance(0);
	front.ops->destroy(&front);
	CHILD_CHECK(slub_ops.destroy(&engine) == 0);
	buddy_check();
}

/* Spec 13.2, LOCAL: slabs of the CPU's partial list, head first, then the free list of its slab. */
BOTH_MODES(test_take_local)
{
	struct kmem_cache_cpu *c;
	void *objs[4 * 64];
	void *got[100];
	struct page *slab[3];

	make(64);
	c = percpu_state(ID, cpu);
	CHILD_CHECK(front.ops->take_local(&front, 100, got) ==
		    0); /* it has nothing, and gets nothing */
	CHILD_CHECK(nr_slabs() == 0);
	get_many(objs, 3 * 64 + 60); /* four are left on the CPU's free list */
	for (unsigned int i = 0; i < 3; i++)
		slab[i] = page_head_unchecked(objs[64 * i]);
	for (unsigned int i = 0; i < 3; i++) /* three of each: the partial list is 2, 1, 0 */
		for (unsigned int j = 0; j < 3; j++)
			put(objs[64 * i + j]);
	CHILD_CHECK(c->partial == slab[2] && c->partial->slabs == 3);

	CHILD_CHECK(front.ops->take_local(&front, 4, got) == 4);
	CHILD_CHECK(got[0] == objs[130] && got[1] == objs[129] && got[2] == objs[128]);
	CHILD_CHECK(got[3] == objs[66]);
	CHILD_CHECK(c->partial == slab[1] && c->partial->slabs == 2); /* with what is left of it */
	CHILD_CHECK(!engine_counters(slab[2]).frozen && engine_counters(slab[2]).inuse == 64);
	balance(3 * 64 + 60 - 9 + 4);
	CHILD_CHECK(front.ops->take_local(&front, 2, got + 4) == 2); /* exactly that */
	CHILD_CHECK(c->partial == slab[0] && !engine_counters(slab[1]).frozen);
	CHILD_CHECK(front.ops->take_local(&front, 94, got + 6) == 3 + 4);
	CHILD_CHECK(!c->partial && !c->freelist && nr_slabs() == 4);
	balance(4 * 64);
	/* full slabs, on no list: also for who frees past the front */
	for (unsigned int i = 0; i < 3; i++)
		CHILD_CHECK(!slab[i]->lru.next && !slab[i]->lru.prev);
	engine.ops->flush(&engine, got, 9);
	balance(4 * 64 - 9);
	for (unsigned int i = 9; i < 13; i++)
		put(got[i]);
	for (unsigned int i = 0; i < 3 * 64 + 60; i++)
		if (i >= 3 * 64 || i % 64 > 2)
			put(objs[i]);
	end();
}

/* ---- threads that move about, and free what others allocated ---- */

static unsigned int working;

static void *churn(void *arg)
{
	unsigned int seed = *(unsigned int *)arg;

	for (unsigned int step = 0; step < STEPS; step++) {
		void *objs[40];
		unsigned int n;

		if (step % 3)
			n = front.ops->take_local(&front, 1 + step % 40, objs);
		else
			n = front.ops->alloc_bulk(&front, GFP_KERNEL, 10, objs);
		for (unsigned int i = 0; i < n; i++) {
			void *obj = exchange_object(objs[i], EXCHANGE_SLOTS, &seed);

			if (obj)
				put(obj);
		}
		if (step % 64 == 0)
			move_somewhere(&seed);
	}
	fetch_sub(&working, 1);
	return NULL;
}

BOTH_MODES(test_threads)
{
	enum { THREADS = 4 };
	unsigned int seeds[THREADS] = { 1, 2, 3, 4 };
	pthread_t threads[THREADS];

	if (THREAD_SANITIZED) /* as in pairs_test.c: it takes the look at a link for a race */
		return;
	make(64);
	working = THREADS;
	for (unsigned int i = 0; i < THREADS; i++)
		CHILD_CHECK(pthread_create(&threads[i], NULL, churn, &seeds[i]) == 0);
	while (load_relaxed(&working)) {
		front.ops->drain(&front);
		usleep(300);
	}
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	exchange_end();
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_take_local),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
