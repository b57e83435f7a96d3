/* SPDX-License-Identifier: MIT */
/*
 * unit/front/array_remote_test.c - objects freed on another node go home by the sheaf
 */
#include "array_fixture.h"

#include "front/array_sheaf.h"
#include "page/numa.h"

#define NODES 4u
#define MANY 400u

static struct engine engine;
static void *objs[MANY];

static void begin(unsigned int capacity)
{
	struct engine_params params = { .name = "test", .object_size = 64, .align = 8, .id = ID };

	floors_init(2 * NODES, NODES);
	CHILD_CHECK(slub_ops.init(&engine, &params) == 0);
	front = (struct front){ .ops = &front_array_ops, .engine = &engine, .id = ID };
	CHILD_CHECK(front.ops->init(&front, capacity) == 0);
}

static void take_on(unsigned int node, unsigned int n)
{
	os_act_as_cpu(2 * node);
	for (unsigned int i = 0; i < n; i++) {
		objs[i] = front.ops->alloc(&front, GFP_KERNEL | __GFP_THISNODE, (int)node);
		CHILD_CHECK(objs[i] && page_head_of(objs[i])->node == node);
	}
}

/* Three of the node's own, so that other nodes' objects of each sheaf are five. */
static void give_own_on(unsigned int node)
{
	void *own[3];

	os_act_as_cpu(2 * node);
	for (unsigned int i = 0; i < 3; i++)
		own[i] = front.ops->alloc(&front, GFP_KERNEL | __GFP_THISNODE, (int)node);
	for (unsigned int i = 0; i < 3; i++)
		put(own[i]);
}

static void give_on(unsigned int node, unsigned int n)
{
	os_act_as_cpu(2 * node);
	for (unsigned int i = 0; i < n; i++)
		put(objs[i]);
	front.ops->check(&front);
}

static unsigned long waiting(unsigned int local)
{
	return array_remote_held(&front.depot[local]);
}

static void end(void)
{
	front.ops->drain(&front);
	front.ops->check(&front);
	CHILD_CHECK(front.ops->held(&front) == 0);
	CHILD_CHECK(engine.ops->destroy(&engine) == 0);
	front.ops->destroy(&front);
	meta_check();
	buddy_check();
}

/* All but what the CPU's two arrays hold, and less than a sheaf that waits. */
IN_CHILD(test_whole_sheaves)
{
	begin(CAP);
	take_on(1, MANY);
	give_on(3, MANY);
	CHILD_CHECK(numa_counters[1].remote_frees % CAP == 0);
	CHILD_CHECK(numa_counters[1].remote_frees + 3 * CAP >= MANY);
	CHILD_CHECK(waiting(3) < CAP && waiting(1) == 0);
	CHILD_CHECK(depot_objects(&front.depot[1]) && !depot_objects(&front.depot[3]));
	/* they are there for the CPUs of node 1, without a slab of the engine */
	os_act_as_cpu(3);
	for (unsigned int i = 0; i < CAP; i++)
		CHILD_CHECK(page_head_of((objs[i] = get()))->node == 1);
	CHILD_CHECK(depot_objects(&front.depot[1]));
	for (unsigned int i = 0; i < CAP; i++)
		put(objs[i]);
	end();
}

/* Of all nodes, mixed with the own: each goes where it belongs. */
IN_CHILD(test_mixed)
{
	begin(CAP);
	for (unsigned int i = 0; i < MANY; i++) {
		void *obj;

		os_act_as_cpu(2 * (i % NODES));
		obj = front.ops->alloc(&front, GFP_KERNEL | __GFP_THISNODE, (int)(i % NODES));
		CHILD_CHECK(obj);
		objs[i] = obj;
	}
	give_on(2, MANY);
	for (unsigned int node = 0; node < NODES; node++)
		CHILD_CHECK(!numa_counters[node].remote_frees == (node == 2));
	CHILD_CHECK(waiting(2) < (NODES - 1) * CAP);
	end();
}

/* In bulk it is the same. */
IN_CHILD(test_bulk)
{
	begin(CAP);
	take_on(0, MANY);
	os_act_as_cpu(2);
	front.ops->free_bulk(&front, MANY, objs);
	front.ops->check(&front);
	CHILD_CHECK(numa_counters[0].remote_frees + 4 * CAP >= MANY);
	end();
}

/* What has waited since the last reap goes home, for the CPUs there. */
IN_CHILD(test_reap)
{
	unsigned long before;

	begin(CAP);
	take_on(0, 3 * CAP + 3);
	give_own_on(1);
	give_on(1, 3 * CAP + 3);
	before = waiting(1);
	CHILD_CHECK(before);
	for (unsigned int round = 0; round < 2; round++) {
		CHILD_CHECK(waiting(1) == before); /* some came since the last time */
		for (unsigned int cpu = 0; cpu < 2 * NODES; cpu++)
			front.ops->reap(&front, cpu);
	}
	CHILD_CHECK(waiting(1) == 0);
	front.ops->check(&front);
	end();
}

/* With another capacity, or none, nothing stays in sheaves of before. */
IN_CHILD(test_capacity)
{
	begin(CAP);
	take_on(0, 100);
	give_own_on(1);
	give_on(1, 30);
	CHILD_CHECK(waiting(1));
	CHILD_CHECK(front.ops->set_capacity(&front, 3) == 0);
	CHILD_CHECK(waiting(1) == 0);
	for (unsigned int i = 30; i < 80; i++)
		put(objs[i]);
	front.ops->check(&front);
	CHILD_CHECK(front.ops->set_capacity(&front, FRONT_CAPACITY_NONE) == 0);
	CHILD_CHECK(front.ops->held(&front) == 0);
	for (unsigned int i = 80; i < 100; i++)
		put(objs[i]);
	CHILD_CHECK(front.ops->held(&front) == 0);
	end();
}

/* While others are drained, capacities change, and threads come to other nodes. */
static unsigned int stop;

static void *churn(void *arg)
{
	unsigned int seed = *(unsigned int *)arg;
	void *mine[60];

	while (!load_relaxed(&stop)) {
		for (unsigned int i = 0; i < 60; i++) {
			os_act_as_cpu((unsigned int)rand_r(&seed) % (2 * NODES));
			mine[i] = get();
			CHILD_CHECK(mine[i]);
			*(unsigned long *)mine[i] = (unsigned long)&seed + i;
		}
		for (unsigned int i = 0; i < 60; i++) {
			CHILD_CHECK(*(unsigned long *)mine[i] == (unsigned long)&seed + i);
			os_act_as_cpu((unsigned int)rand_r(&seed) % (2 * NODES));
			put(mine[i]);
		}
	}
	return NULL;
}

IN_CHILD(test_threads)
{
	unsigned int seeds[3] = { 1, 2, 3 };
	pthread_t threads[3];

	begin(CAP);
	for (unsigned int i = 0; i < 3; i++)
		CHILD_CHECK(!pthread_create(&threads[i], NULL, churn, &seeds[i]));
	for (unsigned int i = 0; i < 300; i++) {
		if (i % 3 == 0)
			front.ops->drain(&front);
		else if (i % 3 == 1)
			front.ops->set_capacity(&front, 1 + i % 31);
		for (unsigned int cpu = 0; cpu < 2 * NODES; cpu++)
			front.ops->reap(&front, cpu);
		front.ops->held(&front);
	}
	store_relaxed(&stop, 1);
	for (unsigned int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_sheaves), cmocka_unit_test(test_mixed),
		cmocka_unit_test(test_bulk),	      cmocka_unit_test(test_reap),
		cmocka_unit_test(test_capacity),      cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
