/* SPDX-License-Identifier: MIT */
/*
 * unit/front/array_capacity_test.c - how many objects an array holds, and changes of that
 */
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

#include "array_fixture.h"
#include "base/atomic.h"
#include "front/depot.h"
#include "page/realtime.h"
#include "threads.h"

BOTH_MODES(test_capacity)
{
	static const struct {
		unsigned int size;
		unsigned int capacity;
		unsigned int packed;
	} expected[] = { { 8, 31, 31 },	  { 264, 31, 31 }, { 272, 31, 30 },   { 512, 31, 16 },
			 { 528, 31, 15 }, { 536, 30, 15 }, { 1024, 16, 8 },   { 4096, 4, 4 },
			 { 32768, 4, 4 }, { 32769, 2, 2 }, { 4u << 20, 2, 2 } };

	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		CHILD_CHECK(array_capacity(expected[i].size, false) == expected[i].capacity);
		CHILD_CHECK(array_capacity(expected[i].size, true) == expected[i].packed);
	}
}

static int set(unsigned int objects)
{
	return front.ops->set_capacity(&front, objects);
}

/* Takes n objects, gives them all back. */
static void burst(unsigned int n)
{
	static void *p[FAKE_OBJECTS];

	for (unsigned int i = 0; i < n; i++) {
		p[i] = get();
		CHILD_CHECK(p[i]);
	}
	while (n)
		put(p[--n]);
}

/* From each capacity to each other one: nothing is lost, and misses move as many as that. */
BOTH_MODES(test_any_to_any)
{
	size_t used;
	void *obj;

	here();
	make(CAP);
	used = used_but_lanes(&front);
	for (unsigned int from = 1; from <= USLAB_SHEAF_CAPACITY; from += 3)
		for (unsigned int to = 1; to <= USLAB_SHEAF_CAPACITY; to++) {
			CHILD_CHECK(set(from) == 0 && front.capacity == from);
			burst(200);
			balance(0);
			CHILD_CHECK(set(to) == 0 && front.capacity == to && !front.closed);
			CHILD_CHECK(from == to || fake.nr_out == 0);
			CHILD_CHECK(from == to || used_but_lanes(&front) == used);
			obj = get();
			CHILD_CHECK(from == to || fake.last_want == to);
			put(obj);
			burst(200);
			balance(0);
		}
	front.ops->drain(&front);
	CHILD_CHECK(fake.nr_out == 0 && used_but_lanes(&front) == used);
}

/* What is allocated stays so, and is freed into arrays of another capacity. */
BOTH_MODES(test_live_objects)
{
	void *p[100];

	here();
	make(31);
	for (unsigned int i = 0; i < 100; i++)
		p[i] = get();
	for (unsigned int i = 0; i < 100; i++) {
		CHILD_CHECK(set(1 + i % 31) == 0);
		balance(100 - i);
		put(p[i]);
	}
	balance(0);
}

BOTH_MODES(test_refused)
{
	here();
	make(CAP);
	burst(50);
	CHILD_CHECK(set(USLAB_SHEAF_CAPACITY + 1) == -EINVAL);
	CHILD_CHECK(set(FRONT_CAPACITY_NONE - 1) == -EINVAL);
	CHILD_CHECK(front.capacity == CAP && front.ops->held(&front) > 0);
	CHILD_CHECK(set(CAP) == 0 && front.ops->held(&front) > 0); /* as it is: nothing to do */
	balance(0);
}

/* 0: as the size gives. A depot holds as many bytes as one that began with that capacity. */
BOTH_MODES(test_by_size)
{
	struct depot *depot;
	unsigned int full;

	here();
	fake_init(&fake, 1024);
	CHILD_CHECK(front_make(&front, &front_array_ops, &fake, ID, 0) == 0);
	depot = &front.depot[os_current_node()];
	full = depot->max[DEPOT_FULL];
	CHILD_CHECK(front.capacity == 16 && depot->capacity == 16);
	CHILD_CHECK(set(4) == 0 && depot->capacity == 4 && depot->max[DEPOT_FULL] == 4 * full);
	CHILD_CHECK(set(0) == 0 && front.capacity == 16 && depot->max[DEPOT_FULL] == full);
}

/* Without arrays each call goes to the engine, until there are some again. */
BOTH_MODES(test_none)
{
	void *p[3 * CAP];
	size_t used;
	int cpu = here();

	make(CAP);
	used = used_but_lanes(&front);
	burst(50);
	CHILD_CHECK(set(FRONT_CAPACITY_NONE) == 0 && front.capacity == 0);
	CHILD_CHECK(fake.nr_out == 0 && used_but_lanes(&front) == used);
	for (unsigned int i = 0; i < 3; i++) {
		p[i] = get();
		CHILD_CHECK(p[i] && fake.last_want == 1);
		CHILD_CHECK(!array_pop(ID, cpu) && !array_push(ID, cpu, p[i]));
	}
	while (fake.nr_out)
		put(p[fake.nr_out - 1]);
	CHILD_CHECK(front.ops->alloc_bulk(&front, GFP_KERNEL, 3 * CAP, p) == 3 * CAP);
	front.ops->free_bulk(&front, 3 * CAP, p);
	CHILD_CHECK(fake.nr_out == 0 && used_but_lanes(&front) == used);
	/* drained, closed and opened meanwhile: it still has none */
	front.ops->drain(&front);
	front_close(&front);
	front_open(&front);
	burst(50);
	CHILD_CHECK(fake.nr_out == 0);
	CHILD_CHECK(set(CAP) == 0 && front.closed == 0);
	burst(50);
	CHILD_CHECK(front.ops->held(&front) > 0);
	balance(0);
}

/* A closed front stays closed, and opens with the capacity that it was given meanwhile. */
BOTH_MODES(test_while_closed)
{
	void *obj;

	here();
	make(CAP);
	burst(50);
	front_close(&front);
	CHILD_CHECK(set(3) == 0 && front.closed == FRONT_CLOSED);
	burst(50);
	CHILD_CHECK(fake.nr_out == 0);
	front_open(&front);
	obj = get();
	CHILD_CHECK(fake.last_want == 3);
	put(obj);
	balance(0);
	front_close(&front);
	CHILD_CHECK(set(FRONT_CAPACITY_NONE) == 0);
	front_open(&front);
	CHILD_CHECK(front.closed == FRONT_NO_ARRAYS);
}

/* A depot that has grown is as at first, and can grow again by what the new capacity counts. */
BOTH_MODES(test_grown_depot)
{
	struct depot *depot;
	unsigned int full;

	here();
	fake_init(&fake, 1024);
	CHILD_CHECK(front_make(&front, &front_array_ops, &fake, ID, CAP) == 0);
	depot = &front.depot[os_current_node()];
	full = depot->max[DEPOT_FULL];
	for (unsigned int i = 0; i < 20; i++)
		burst(FAKE_OBJECTS / 2);
	CHILD_CHECK(depot->max[DEPOT_FULL] > full && depot->growth);
	CHILD_CHECK(set(CAP / 2) == 0 && depot->max[DEPOT_FULL] == 2 * full && !depot->growth);
	for (unsigned int i = 0; i < 20; i++)
		burst(FAKE_OBJECTS / 2);
	CHILD_CHECK(depot->growth);
	balance(0);
	front.ops->drain(&front);
	front.ops->destroy(&front);
}

/* ---- a change while a miss is under way: here while the engine fills or empties a sheaf ---- */

static unsigned int next_capacity; /* once; 0: none */

static void change_meanwhile(void)
{
	unsigned int capacity = next_capacity;

	next_capacity = 0;
	if (capacity)
		CHILD_CHECK(set(capacity) == 0);
}

static unsigned int changing_refill(struct engine *e, void **objs, unsigned int want, gfp_t gfp,
				    int node)
{
	change_meanwhile();
	return fake_refill(e, objs, want, gfp, node);
}

static void changing_flush(struct engine *e, void **objs, unsigned int n)
{
	change_meanwhile();
	fake_flush(e, objs, n);
}

static const struct engine_ops changing = {
	.name = "changing",
	.refill = changing_refill,
	.flush = changing_flush,
};

static const unsigned int others[] = { 1, 3, 30, 31, FRONT_CAPACITY_NONE, CAP };

/* The rest of the sheaf of the old capacity goes back, and the sheaf with it. */
BOTH_MODES(test_alloc_meanwhile)
{
	void *p[40];
	size_t used;

	here();
	make(CAP);
	used = used_but_lanes(&front);
	fake.e.ops = &changing;
	for (unsigned int i = 0; i < ARRAY_SIZE(others); i++) {
		CHILD_CHECK(set(CAP) == 0);
		next_capacity = others[i];
		p[0] = get();
		CHILD_CHECK(p[0] && !next_capacity);
		balance(1);
		CHILD_CHECK(others[i] == CAP || used_but_lanes(&front) == used);
		put(p[0]);
		front.ops->drain(&front);

		CHILD_CHECK(set(CAP) == 0);
		next_capacity = others[i];
		CHILD_CHECK(front.ops->alloc_bulk(&front, GFP_KERNEL, 40, p) == 40);
		balance(40);
		front.ops->free_bulk(&front, 40, p);
		balance(0);
		front.ops->drain(&front);
		CHILD_CHECK(fake.nr_out == 0 && used_but_lanes(&front) == used);
	}
}

/* p[] of n objects, allocated, with the depot and the CPU's arrays as full as can be. */
static unsigned int fill_front(void **p, unsigned int n)
{
	static void *more[FAKE_OBJECTS];
	unsigned int held = FAKE_OBJECTS / 2;

	for (unsigned int i = 0; i < n; i++)
		p[i] = get();
	for (unsigned int i = 0; i < held; i++)
		more[i] = get();
	for (unsigned int i = 0; i < held; i++)
		put(more[i]);
	return n;
}

BOTH_MODES(test_free_meanwhile)
{
	void *p[100];
	size_t used;

	here();
	make(CAP);
	used = used_but_lanes(&front);
	for (unsigned int i = 0; i < ARRAY_SIZE(others); i++) {
		fake.e.ops = &changing;
		CHILD_CHECK(set(CAP) == 0);
		fill_front(p, 100);
		next_capacity = others[i];
		for (unsigned int k = 0; k < 100; k++) {
			put(p[k]);
			balance(99 - k);
		}
		CHILD_CHECK(!next_capacity);

		CHILD_CHECK(set(CAP) == 0);
		fill_front(p, 100);
		next_capacity = others[i];
		front.ops->free_bulk(&front, 100, p);
		CHILD_CHECK(!next_capacity);
		balance(0);
		/* and forgets that its depot had grown */
		CHILD_CHECK(set(CAP) == 0 && set(CAP + 1) == 0);
		CHILD_CHECK(fake.nr_out == 0 && used_but_lanes(&front) == used);
	}
}

/* ---- CPUs that cannot be fenced ---- */

/* By the thread going there; if it may not either, all is as before. */
IN_CHILD(test_no_fence)
{
	cpu_set_t allowed;

	floors_init(0, 0);
	make(CAP);
	burst(100);
	child_deny(SYS_membarrier, EINVAL);
	sched_getaffinity(0, sizeof(allowed), &allowed);
	if ((unsigned int)CPU_COUNT(&allowed) < os_topology.nr_cpu_ids || !percpu_rseq)
		return;
	CHILD_CHECK(set(3) == 0 && front.capacity == 3 && fake.nr_out == 0);
	burst(100);
	child_deny(SYS_sched_setaffinity, EPERM);
	CHILD_CHECK(set(5) == -EBUSY && front.capacity == 3 && !front.closed);
	CHILD_CHECK(front.depot[0].capacity == 3);
	CHILD_CHECK(set(FRONT_CAPACITY_NONE) == -EBUSY && !front.closed);
	burst(100);
	balance(0);
}

/* ---- realtime ---- */

IN_CHILD(test_realtime)
{
	floors_init(0, 0);
	CHILD_CHECK(realtime_start(32ul << 20, SIZE_MAX) == 0);
	make(0);
	CHILD_CHECK(front.capacity == 8);
	CHILD_CHECK(set(31) == 0 && front.capacity == 31); /* by request it may be more */
	burst(100);
	CHILD_CHECK(set(0) == 0 && front.capacity == 8);
	burst(100);
	balance(0);
}

/* ---- threads ---- */

/* One object is never with two threads. */
static void *churn(void *arg)
{
	unsigned int me = (unsigned int)(uintptr_t)arg;
	void *p[90];

	for (unsigned int round = 0; round < 400; round++) {
		unsigned int n = 1 + (round * 7 + me) % 90;
		unsigned int got = 0;

		if (os_topology.made_up)
			os_act_as_cpu((round + me) % 4);
		if (round % 3 == 0)
			got = front.ops->alloc_bulk(&front, GFP_KERNEL, n, p);
		while (got < n)
			p[got++] = get_in_time();
		for (unsigned int i = 0; i < n; i++)
			CHILD_CHECK(cmpxchg(&shared.owner[number(p[i])], 0u, me));
		for (unsigned int i = 0; i < n; i++)
			CHILD_CHECK(cmpxchg(&shared.owner[number(p[i])], me, 0u));
		if (round % 5 == 0)
			front.ops->free_bulk(&front, n, p);
		else
			while (n)
				put(p[--n]);
	}
	return NULL;
}

static unsigned int changes;

static void *changer(void *arg)
{
	static const unsigned int capacities[] = { 1, 31, FRONT_CAPACITY_NONE, 4, 30, 0, 2 };

	(void)arg;
	do { /* once at least, however late this thread begins */
		CHILD_CHECK(set(capacities[changes++ % ARRAY_SIZE(capacities)]) == 0);
		if (changes % 4 == 0)
			front.ops->drain(&front);
		if (changes % 8 == 0) {
			front_close(&front);
			front_open(&front);
		}
		usleep(100);
	} while (!load_relaxed(&shared.stop));
	return NULL;
}

BOTH_MODES(test_threads)
{
	make(CAP);
	make_shared();
	threads_run_beside(4, churn, changer, &shared.stop);
	CHILD_CHECK(changes > 0);
	balance(0);
	CHILD_CHECK(set(CAP) == 0 && set(CAP - 1) == 0);
	CHILD_CHECK(fake.nr_out == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_capacity),	cmocka_unit_test(test_any_to_any),
		cmocka_unit_test(test_live_objects),	cmocka_unit_test(test_refused),
		cmocka_unit_test(test_by_size),		cmocka_unit_test(test_none),
		cmocka_unit_test(test_while_closed),	cmocka_unit_test(test_grown_depot),
		cmocka_unit_test(test_alloc_meanwhile), cmocka_unit_test(test_free_meanwhile),
		cmocka_unit_test(test_no_fence),	cmocka_unit_test(test_realtime),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
