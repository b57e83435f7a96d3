/* SPDX-License-Identifier: MIT */
/*
 * unit/front/array_test.c - arrays that are exchanged whole, over an engine that counts its calls
 */
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "array_fixture.h"
#include "bare.h"
#include "base/atomic.h"
#include "front/depot.h"
#include "sys_rseq.h"
#include "threads.h"

BOTH_MODES(test_init)
{
	fake_init(&fake, 1024);
	CHILD_CHECK(front_make(&front, &front_array_ops, &fake, ID, 32) == -EINVAL);
	CHILD_CHECK(front_make(&front, &front_array_ops, &fake, ID, 31) == 0);
	CHILD_CHECK(front.capacity == 31);
	front.ops->destroy(&front);
	CHILD_CHECK(front_make(&front, &front_array_ops, &fake, ID, 0) == 0);
	CHILD_CHECK(front.capacity == 16);
	for (int cpu = -2; cpu < (int)os_topology.nr_cpu_ids; cpu++) {
		CHILD_CHECK(*percpu_inline_word(ID, cpu) == front_stop_word);
		CHILD_CHECK(*percpu_word(ID, cpu) == front_stop_word);
	}
	CHILD_CHECK(fake.refills == 0); /* nothing before the first request */
	balance(0);
}

/*
 * One call of the engine for a sheaf's worth, ascending: neighbours lie side by side (spec 12.6).
 */
BOTH_MODES(test_contiguous)
{
	here();
	make(CAP);
	for (unsigned int i = 0; i < 5 * CAP; i++) {
		CHILD_CHECK(number(get()) == i);
		CHILD_CHECK(fake.refills == i / CAP + 1 && fake.last_want == CAP);
	}
	balance(5 * CAP);
}

/* Spec 12.6: after freeing 4, then 1 and 8, the next ones are 4; then 8, 1; a batch is reversed. */
BOTH_MODES(test_lifo)
{
	void *p[10];

	here();
	make(31);
	for (unsigned int i = 0; i < 10; i++)
		p[i] = get();
	put(p[4]);
	CHILD_CHECK(get() == p[4]);
	put(p[1]);
	put(p[8]);
	CHILD_CHECK(get() == p[8] && get() == p[1]);
	for (unsigned int i = 0; i < 10; i++)
		put(p[i]);
	for (unsigned int i = 10; i-- > 0;)
		CHILD_CHECK(get() == p[i]);
	CHILD_CHECK(fake.refills == 1 && fake.flushes == 0);
}

/* Around the boundary of a sheaf nothing is exchanged with the engine or the depot. */
BOTH_MODES(test_no_ping_pong)
{
	void *p[CAP + 1];

	here();
	make(CAP);
	for (unsigned int i = 0; i <= CAP; i++)
		p[i] = get();
	for (unsigned int i = 0; i <= CAP; i++)
		put(p[i]);
	fake.refills = 0;
	for (unsigned int round = 0; round < 100; round++) {
		p[0] = get();
		p[1] = get();
		put(p[0]);
		put(p[1]);
	}
	for (unsigned int round = 0; round < 100; round++) {
		for (unsigned int i = 0; i <= CAP; i++)
			p[i] = get();
		for (unsigned int i = 0; i <= CAP; i++)
			put(p[i]);
	}
	CHILD_CHECK(fake.refills == 0 && fake.flushes == 0);
	CHILD_CHECK(depot_count(&front.depot[os_current_node()], DEPOT_FULL) == 0);
	balance(0);
}

/* Where the array and the spare are empty, the array is exchanged, and the spare stays. */
BOTH_MODES(test_spare_stays)
{
	void *p[4 * CAP];
	uintptr_t *spare;
	uintptr_t empty;

	here();
	make(CAP);
	spare = percpu_spare(ID, percpu_cpu());
	for (unsigned int i = 0; i < 4 * CAP; i++)
		p[i] = get();
	for (unsigned int i = 0; i < 4 * CAP; i++)
		put(p[i]);
	CHILD_CHECK(depot_count(&front.depot[os_current_node()], DEPOT_FULL) == 2);
	fake.refills = 0;
	for (unsigned int i = 0; i < 2 * CAP; i++)
		p[i] = get();
	empty = *spare;
	CHILD_CHECK(empty && sheaf_count(empty) == 0);
	for (unsigned int i = 2 * CAP; i < 4 * CAP; i++) {
		p[i] = get();
		CHILD_CHECK(*spare == empty);
	}
	CHILD_CHECK(depot_count(&front.depot[os_current_node()], DEPOT_FULL) == 0 &&
		    fake.refills == 0);
	for (unsigned int i = 0; i < 4 * CAP; i++)
		put(p[i]);
	balance(0);
}

/* Far more frees than fit: current, spare and depot fill up, then sheaves go back whole. */
BOTH_MODES(test_overflow)
{
	unsigned int most = 500;
	struct depot *depot;
	void *p[500];

	here();
	make(CAP);
	depot = &front.depot[os_current_node()];
	for (unsigned int i = 0; i < most; i++)
		p[i] = get();
	for (unsigned int i = 0; i < most; i++) {
		put(p[i]);
		balance(most - i - 1);
	}
	CHILD_CHECK(depot_count(depot, DEPOT_FULL) == depot->max[DEPOT_FULL] &&
		    depot_count(depot, DEPOT_EMPTY) == 0);
	CHILD_CHECK(depot_objects(depot) == depot->max[DEPOT_FULL] * CAP);
	CHILD_CHECK(fake.last_flush == CAP);
	CHILD_CHECK(front.ops->held(&front) >= (depot->max[DEPOT_FULL] + 1) * CAP);
	CHILD_CHECK(front.ops->held(&front) <= (depot->max[DEPOT_FULL] + 2) * CAP);

	/* what the front has serves first */
	fake.refills = 0;
	for (unsigned int held = (unsigned int)front.ops->held(&front); held; held--)
		CHILD_CHECK(get());
	CHILD_CHECK(fake.refills == 0);
	CHILD_CHECK(get() && fake.refills == 1);
}

/* Every object is handed out once, whatever the order. */
BOTH_MODES(test_random_walk)
{
	static void *p[300];
	unsigned int n = 0;
	uint64_t seed = 88172645463325252ull;

	here();
	make(5);
	for (unsigned int step = 0; step < 20000; step++) {
		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		if (n == 0 || (n < 300 && (seed >> 20) % 100 < (step / 1000 % 2 ? 60 : 40))) {
			p[n] = get();
			for (unsigned int i = 0; i < n && step % 64 == 0; i++)
				CHILD_CHECK(p[i] != p[n]);
			CHILD_CHECK(fake.out[number(p[n])]);
			n++;
		} else {
			unsigned int i = (unsigned int)(seed >> 32) % n;

			put(p[i]);
			p[i] = p[--n];
		}
		if (step % 97 == 0)
			balance(n);
	}
	while (n)
		put(p[--n]);
	front.ops->drain(&front);
	CHILD_CHECK(fake.nr_out == 0);
}

BOTH_MODES(test_smallest_capacity)
{
	void *p[20];

	here();
	make(1);
	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < 20; i++)
			p[i] = get();
		balance(20);
		for (unsigned int i = 0; i < 20; i++)
			put(p[i]);
		balance(0);
	}
}

BOTH_MODES(test_drain)
{
	size_t used;
	void *obj;
	int cpu = here();

	make(CAP);
	used = used_but_lanes(&front);
	for (unsigned int round = 0; round < 3; round++) {
		void *p[100];

		for (unsigned int i = 0; i < 100; i++)
			p[i] = get();
		for (unsigned int i = 1; i < 100; i++)
			put(p[i]);
		front.ops->drain(&front);
		CHILD_CHECK(front.ops->held(&front) == 0 && fake.nr_out == 1);
		CHILD_CHECK(*percpu_word(ID, cpu) == front_stop_word);
		CHILD_CHECK(*percpu_spare(ID, cpu) == 0 && front.closed == 0);
		CHILD_CHECK(used_but_lanes(&front) == used); /* no sheaf is left */
		put(p[0]);
		balance(0);
		obj = get();
		CHILD_CHECK(obj == p[0]); /* and it holds again */
		put(obj);
		front.ops->drain(&front);
	}
	front.ops->drain(&front);
	CHILD_CHECK(fake.nr_out == 0);
}

/* While it is drained nothing is cached: calls go to the engine, one object each. */
BOTH_MODES(test_closed)
{
	void *a;
	int cpu = here();

	make(CAP);
	front.closed = 1;
	a = get();
	CHILD_CHECK(a && fake.last_want == 1 && front.ops->held(&front) == 0);
	put(a);
	CHILD_CHECK(fake.nr_out == 0 && fake.last_flush == 1);
	CHILD_CHECK(*percpu_word(ID, cpu) == front_stop_word);
	front.closed = 0;
	a = get();
	CHILD_CHECK(fake.last_want == CAP);
	/* what was cached before stays reachable for hits */
	front.closed = 1;
	CHILD_CHECK(array_pop(ID, cpu));
	CHILD_CHECK(array_push(ID, cpu, a));
}

/* A drain may begin at any time; here while the engine fills a sheaf, and empties one. */
static unsigned int closing_refill(struct engine *e, void **objs, unsigned int want, gfp_t gfp,
				   int node)
{
	front.closed = 1;
	return fake_refill(e, objs, want, gfp, node);
}

BOTH_MODES(test_closed_meanwhile)
{
	static const struct engine_ops closing = { .name = "closing",
						   .refill = closing_refill,
						   .flush = fake_flush };
	size_t used;
	void *a;

	here();
	make(CAP);
	fake.e.ops = &closing;
	used = used_but_lanes(&front);
	a = get();
	CHILD_CHECK(a && fake.last_want == CAP);
	/* the rest of the sheaf went straight back, and the sheaf with it */
	CHILD_CHECK(front.ops->held(&front) == 0 && fake.nr_out == 1);
	CHILD_CHECK(used_but_lanes(&front) == used);
	front.closed = 0;
	put(a);
	balance(0);
}

/* A sheaf takes as many objects as it has room for, by either hit path. */
BOTH_MODES(test_hits)
{
	int cpu = here();
	void *p[CAP + 1];

	make(CAP);
	CHILD_CHECK(!array_pop(ID, cpu) && !array_push(ID, cpu, &cpu));
	for (unsigned int i = 0; i <= CAP; i++)
		p[i] = get();
	while (array_pop(ID, cpu)) {}
	for (unsigned int i = 0; i < CAP; i++)
		CHILD_CHECK(array_push(ID, cpu, p[i]));
	CHILD_CHECK(!array_push(ID, cpu, p[CAP]));
	for (unsigned int i = CAP; i-- > 0;)
		CHILD_CHECK(array_pop(ID, cpu) == p[i]);
	CHILD_CHECK(!array_pop(ID, cpu));
}

BOTH_MODES(test_out_of_memory)
{
	size_t used;
	void *p[12];

	here();
	make(CAP);
	fake.budget = 0;
	CHILD_CHECK(!get());
	used = used_but_lanes(&front);
	for (unsigned int i = 0; i < 20; i++)
		CHILD_CHECK(!get());
	CHILD_CHECK(used_but_lanes(&front) == used); /* the empty sheaf waits in the depot */
	balance(0);

	fake.budget = 3; /* a sheaf that is filled in part */
	for (unsigned int i = 0; i < 3; i++)
		CHILD_CHECK(number(p[i] = get()) == i);
	CHILD_CHECK(!get());
	balance(3);
	CHILD_CHECK(front.ops->alloc_bulk(&front, GFP_KERNEL, 12, p + 3) == 0);
	fake.budget = 7;
	CHILD_CHECK(front.ops->alloc_bulk(&front, GFP_KERNEL, 9, p + 3) == 7);
	balance(10);
	put(p[0]);
	CHILD_CHECK(get() == p[0]);
}

/* No memory for a sheaf is not yet no memory for an object. */
BOTH_MODES(test_no_sheaf)
{
	const struct rlimit none = { 0, 0 };
	void *a;

	if (!bare_process())
		return;
	here();
	make(CAP);
	child_limit(RLIMIT_DATA, &none);
	while (meta_alloc(USLAB_SHEAF_SIZE)) {}
	a = get();
	CHILD_CHECK(a && fake.last_want == 1);
	put(a);
	CHILD_CHECK(fake.nr_out == 0 && fake.last_flush == 1);
	front.ops->drain(&front);
}

/* ---- several CPUs and nodes, made up: 0 and 1 are node 0, 2 and 3 are node 1 ---- */

IN_CHILD(test_cpus_are_apart)
{
	void *a;
	void *b;

	floors_init(4, 2);
	make(CAP);
	os_act_as_cpu(0);
	a = get();
	os_act_as_cpu(1);
	b = get();
	CHILD_CHECK(fake.refills == 2);
	put(a); /* from now on it is CPU 1's */
	os_act_as_cpu(0);
	put(b);
	os_act_as_cpu(1);
	CHILD_CHECK(get() == a);
	os_act_as_cpu(0);
	CHILD_CHECK(get() == b);
	CHILD_CHECK(front.ops->held(&front) == 2 * CAP - 2);
	os_act_as_cpu(3);
	front.ops->drain(&front); /* of every CPU, from any */
	CHILD_CHECK(fake.nr_out == 2);
}

/* Remote free is cheap: whole sheaves cross through the depot of their node, and no other. */
IN_CHILD(test_depot_is_the_nodes)
{
	void *p[FAKE_OBJECTS / 2];
	unsigned int objects; /* enough for another CPU to have some of */
	size_t used;

	floors_init(4, 2);
	make(CAP);
	objects = (front.depot[0].batch + 2) * CAP;
	CHILD_CHECK(objects <= FAKE_OBJECTS / 2);
	used = used_but_lanes(&front);
	os_act_as_cpu(0);
	for (unsigned int i = 0; i < objects; i++)
		p[i] = get();
	for (unsigned int i = 0; i < objects; i++) {
		put(p[i]);
		if (front.depot[0].lanes) /* as if it had long done nothing but free */
			front.depot[0].lanes[0].stack[DEPOT_EMPTY].made = 0;
	}
	CHILD_CHECK(depot_count(&front.depot[0], DEPOT_FULL) == front.depot[0].batch &&
		    depot_count(&front.depot[1], DEPOT_FULL) == 0);
	fake.refills = 0;
	os_act_as_cpu(1);
	objects -= 2 * CAP;
	for (unsigned int i = 0; i < objects; i++)
		CHILD_CHECK(get());
	CHILD_CHECK(fake.refills == 0 && depot_count(&front.depot[0], DEPOT_FULL) == 0);
	/* exchanged one for one: the empty ones wait for CPU 0 */
	CHILD_CHECK(depot_count(&front.depot[0], DEPOT_EMPTY) > 0);
	balance(objects);
	front.ops->drain(&front);
	CHILD_CHECK(used_but_lanes(&front) == used && fake.nr_out == objects);
	os_act_as_cpu(2);
	CHILD_CHECK(get() && fake.refills == 1);
}

/* A request for another node, or for this one and no other, is the engine's to answer. */
IN_CHILD(test_nodes)
{
	floors_init(4, 2);
	make(CAP);
	os_act_as_cpu(0);
	CHILD_CHECK(front.ops->alloc(&front, GFP_KERNEL, 1));
	CHILD_CHECK(fake.last_node == 1 && fake.last_want == 1);
	CHILD_CHECK(front.ops->alloc(&front, GFP_KERNEL, 0)); /* this node: a preference */
	CHILD_CHECK(fake.last_want == CAP);
	CHILD_CHECK(front.ops->held(&front) == CAP - 1);
	/* what is cached may be of any node, since frees are taken from all */
	CHILD_CHECK(front.ops->alloc(&front, GFP_KERNEL | __GFP_THISNODE, 0));
	CHILD_CHECK(fake.last_want == 1 && fake.last_node == 0);
	CHILD_CHECK(front.ops->alloc(&front, GFP_KERNEL | __GFP_THISNODE, 1));
	CHILD_CHECK(fake.last_want == 1 && fake.last_node == 1);
	os_act_as_cpu(2);
	CHILD_CHECK(front.ops->alloc(&front, GFP_KERNEL, 0));
	CHILD_CHECK(fake.last_want == 1 && fake.last_node == 0);
}

/* ---- threads ---- */

static void *without_registration(void *arg)
{
	void *a;
	void *p[3];

	(void)arg;
	if (!sys_rseq_unregister())
		return NULL;
	a = get();
	CHILD_CHECK(a && fake.last_want == 1);
	put(a);
	CHILD_CHECK(fake.last_flush == 1);
	CHILD_CHECK(front.ops->alloc_bulk(&front, GFP_KERNEL, 3, p) == 3);
	front.ops->free_bulk(&front, 3, p);
	CHILD_CHECK(front.ops->held(&front) == 0);
	return NULL;
}

IN_CHILD(test_without_registration)
{
	pthread_t thread;

	floors_init(0, 0);
	make(CAP);
	if (!percpu_rseq)
		return;
	pthread_create(&thread, NULL, without_registration, NULL);
	pthread_join(thread, NULL);
	CHILD_CHECK(fake.nr_out == 0);
}

/* One object is never with two threads. */
static void *churn(void *arg)
{
	unsigned int me = (unsigned int)(uintptr_t)arg;
	void *p[40];

	for (unsigned int round = 0; round < 800; round++) {
		unsigned int n = 1 + (round * 7 + me) % 40;

		if (os_topology.made_up)
			os_act_as_cpu((round + me) % 4);
		for (unsigned int i = 0; i < n; i++) {
			p[i] = get_in_time();
			CHILD_CHECK(cmpxchg(&shared.owner[number(p[i])], 0u, me));
		}
		for (unsigned int i = 0; i < n; i++) {
			CHILD_CHECK(cmpxchg(&shared.owner[number(p[i])], me, 0u));
			put(p[i]);
		}
	}
	return NULL;
}

static void *drainer(void *arg)
{
	(void)arg;
	while (!load_relaxed(&shared.stop)) {
		front.ops->drain(&front);
		usleep(200);
	}
	return NULL;
}

BOTH_MODES(test_threads)
{
	make(CAP);
	make_shared();
	threads_run_beside(4, churn, drainer, &shared.stop);
	balance(0);
	front.ops->drain(&front);
	CHILD_CHECK(fake.nr_out == 0);
}

/* ---- the end, fork, check ---- */

BOTH_MODES(test_destroy)
{
	size_t used;

	here();
	fake_init(&fake, FAKE_SIZE);
	used = meta_counters.used;
	CHILD_CHECK(front_make(&front, &front_array_ops, &fake, ID, CAP) == 0);
	put(get());
	front.ops->drain(&front);
	front.ops->destroy(&front);
	CHILD_CHECK(meta_counters.used == used && fake.nr_out == 0);
	for (int cpu = -2; cpu < (int)os_topology.nr_cpu_ids; cpu++)
		CHILD_CHECK(*percpu_inline_word(ID, cpu) == front_stop_word);
}

BOTH_MODES(test_fork_hooks)
{
	make(CAP);
	front.ops->each_lock(&front, lock_fork_prepare);
	for (unsigned int node = 0; node < os_topology.nr_nodes; node++)
		CHILD_CHECK(!lock_try(&front.depot[node].lock));
	front.ops->each_lock(&front, lock_fork_parent);
	put(get());
	front.ops->each_lock(&front, lock_fork_prepare);
	front.ops->each_lock(&front, lock_fork_child);
	for (unsigned int node = 0; node < os_topology.nr_nodes; node++) {
		CHILD_CHECK(lock_try(&front.depot[node].lock));
		lock_release(&front.depot[node].lock);
	}
	balance(0);
}

/* arg: which invariant is broken. */
static void spoil(void *arg)
{
	uintptr_t *word;
	uintptr_t top;

	floors_init(4, 2);
	os_act_as_cpu(1);
	make(CAP);
	put(get());
	front.ops->check(&front);
	word = percpu_word(ID, 1);
	top = *word;
	switch (*(int *)arg) {
	case 0: /* an object that no slab has */
		*(void **)top = &top;
		break;
	case 1: /* another engine's */
		page_head_of(*(void **)top)->engine = NULL;
		break;
	case 2: /* the bottom is gone */
		sheaf_base(top)[USLAB_SHEAF_CAPACITY - CAP] = *(void **)top;
		break;
	case 3: /* below the bottom */
		*word = (uintptr_t)&sheaf_base(top)[USLAB_SHEAF_CAPACITY - CAP - 1];
		break;
	case 4:
		front.depot[1].left[DEPOT_FULL]++;
		break;
	}
	front.ops->check(&front);
}

static void test_check_finds(void **state)
{
	(void)state;
	for (int what = 0; what <= 4; what++) {
		struct child c = child_run(spoil, &what);

		assert_true(child_aborted(&c));
		assert_non_null(strstr(c.text, "front/"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_init),
		cmocka_unit_test(test_contiguous),
		cmocka_unit_test(test_lifo),
		cmocka_unit_test(test_no_ping_pong),
		cmocka_unit_test(test_spare_stays),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_random_walk),
		cmocka_unit_test(test_smallest_capacity),
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_closed),
		cmocka_unit_test(test_closed_meanwhile),
		cmocka_unit_test(test_hits),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_no_sheaf),
		cmocka_unit_test(test_cpus_are_apart),
		cmocka_unit_test(test_depot_is_the_nodes),
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_without_registration),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_destroy),
		cmocka_unit_test(test_fork_hooks),
		cmocka_unit_test(test_check_finds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
