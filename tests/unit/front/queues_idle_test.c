/* SPDX-License-Identifier: MIT */
/*
 * unit/front/queues_idle_test.c - drain, reap and tune: spec 3.5 (last point), 3.9
 *
 * Most tests run with sequences where this process has them, and on a made-up topology without.
 */
#include "queues_fixture.h"

static void reap(void)
{
	front.ops->reap(&front, (unsigned int)cpu);
}

static unsigned int local(void)
{
	return os_cpu_to_node((unsigned int)cpu);
}

static bool is_out(const void *obj)
{
	return fake.out[fake_number(&fake, obj)];
}

BOTH_MODES(test_count)
{
	CHILD_CHECK(queues_reap_count(120, 120) == 24);
	CHILD_CHECK(queues_reap_count(120, 24) == 24);
	CHILD_CHECK(queues_reap_count(120, 23) == 12);
	CHILD_CHECK(queues_reap_count(54, 54) == 11);
	CHILD_CHECK(queues_reap_count(1, 1) == 1);
	CHILD_CHECK(queues_reap_count(8, 1) == 1);
	CHILD_CHECK(queues_reap_count(8, 0) == 0);
}

/* Who allocated is spared once; then a fifth of the limit goes each time, the oldest first. */
BOTH_MODES(test_grace)
{
	void *f[100];

	CHILD_CHECK(make_fake(64, 0) == 0);
	reap(); /* nothing there, no array either */
	take_out(f, 100);
	for (unsigned int i = 0; i < 100; i++)
		put(f[i]);
	CHILD_CHECK(percpu_state(ID, cpu)->touched == 0); /* frees are no touch */
	CHILD_CHECK(get() == f[99]);
	put(f[99]);
	CHILD_CHECK(percpu_state(ID, cpu)->touched == 1);
	reap();
	CHILD_CHECK(in_array(cpu) == 100 && fake.flushes == 0);
	CHILD_CHECK(percpu_state(ID, cpu)->touched == 0);
	reap();
	CHILD_CHECK(in_array(cpu) == 76 && fake.flushes == 1 && fake.last_flush == 24);
	CHILD_CHECK(!is_out(f[0]) && !is_out(f[23]) && is_out(f[24]) && entry(0) == f[24]);
	reap();
	reap();
	CHILD_CHECK(in_array(cpu) == 28);
	reap();
	CHILD_CHECK(in_array(cpu) == 4);
	reap(); /* 24 of 4: half of them */
	CHILD_CHECK(in_array(cpu) == 2);
	CHILD_CHECK(entry(0) == f[98] && entry(1) == f[99]);
	reap();
	reap();
	CHILD_CHECK(in_array(cpu) == 0);
	reap();
	CHILD_CHECK(shared_array()->limit == 0);
	end_fake();
}

/* Every four seconds, the first time after another zero to four. */
BOTH_MODES(test_shared_and_engine)
{
	void *f[121];

	CHILD_CHECK(make_fake(64, 0) == 0);
	take_out(f, 121);
	for (unsigned int i = 0; i < 121; i++)
		put(f[i]);
	percpu_state(ID, cpu)->touched = 1;
	now_ms += 3999;
	reap();
	CHILD_CHECK(reaps[local()] == 0);
	now_ms += 4001;
	percpu_state(ID, cpu)->touched = 1;
	reap();
	CHILD_CHECK(reaps[local()] == 1 && fake.last_flush == 30); /* 96 of 60: half */
	CHILD_CHECK(shared_array()->avail == 30);
	CHILD_CHECK(!is_out(f[0]) && !is_out(f[29]) && is_out(f[30]));
	CHILD_CHECK(shared_array()->entry[0] == f[30]);
	percpu_state(ID, cpu)->touched = 1;
	now_ms += 3999;
	reap();
	CHILD_CHECK(reaps[local()] == 1 && shared_array()->avail == 30);
	now_ms += 1;
	shared_array()->touched = 1;
	reap();
	CHILD_CHECK(reaps[local()] == 2 && shared_array()->avail == 30); /* spared once */
	now_ms += 4000;
	reap();
	CHILD_CHECK(reaps[local()] == 3 && shared_array()->avail == 15);
	end_fake();
}

/* One other node at a time. */
IN_CHILD(test_aliens)
{
	void *objs[2][5];

	floors_init(6, 3);
	make_real(&slub_ops, 64, 0);
	for (int node = 1; node < 3; node++) {
		CHILD_CHECK(engine.ops->refill(&engine, objs[node - 1], 5, __GFP_THISNODE, node) ==
			    5);
		for (unsigned int i = 0; i < 5; i++)
			put(objs[node - 1][i]);
	}
	CHILD_CHECK(queues_held_alien(&front) == 10);
	lock_acquire(&queues()->node[0].alien[1].lock);
	reap(); /* node 1, where somebody is at work: passed over */
	lock_release(&queues()->node[0].alien[1].lock);
	CHILD_CHECK(queues_held_alien(&front) == 10);
	reap(); /* node 2 */
	CHILD_CHECK(queues_held_alien(&front) == 5 && queues()->node[0].alien[2].avail == 0);
	CHILD_CHECK(queues()->node[2].shared.avail == 5);
	reap(); /* its own, where there is nothing */
	CHILD_CHECK(queues_held_alien(&front) == 5);
	reap();
	CHILD_CHECK(queues_held_alien(&front) == 0 && queues()->node[1].shared.avail == 5);
	end_real();
}

/* Any CPU's, from here. */
BOTH_MODES(test_reap_elsewhere)
{
	int other = (cpu = here()) ? 0 : 1;
	struct kmem_cache_cpu *c = percpu_state(ID, other);
	cpu_set_t set;
	void *obj;

	if (os_topology.nr_cpu_ids < 2)
		return;
	CHILD_CHECK(make_fake(64, 0) == 0);
	if (os_topology.made_up) {
		os_act_as_cpu((unsigned int)other);
	} else {
		CPU_ZERO(&set);
		CPU_SET(other, &set);
		if (sched_setaffinity(0, sizeof(set), &set))
			return;
	}
	obj = get();
	put(obj);
	CHILD_CHECK(c->touched && in_array(other) == 16);
	if (os_topology.made_up) {
		os_act_as_cpu((unsigned int)cpu);
	} else {
		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		sched_setaffinity(0, sizeof(set), &set);
	}
	front.ops->reap(&front, (unsigned int)other);
	CHILD_CHECK(!c->touched && in_array(other) == 16);
	front.ops->reap(&front, (unsigned int)other);
	CHILD_CHECK(in_array(other) == 8);
	front.ops->drain(&front);
	CHILD_CHECK(in_array(other) == 0 && fake.nr_out == 0);
	end_fake();
}

BOTH_MODES(test_drain)
{
	void *f[200];

	CHILD_CHECK(make_fake(64, 0) == 0);
	front.ops->drain(&front);
	take_out(f, 200);
	for (unsigned int i = 0; i < 200; i++)
		put(f[i]);
	CHILD_CHECK(front.ops->held(&front) == 200);
	front.ops->drain(&front);
	CHILD_CHECK(front.ops->held(&front) == 0 && fake.nr_out == 0);
	CHILD_CHECK(shared_array()->limit == 0);
	get();
	CHILD_CHECK(in_array(cpu) == 15);
}

/* More than one step can move. */
BOTH_MODES(test_drain_large)
{
	void *f[600];

	CHILD_CHECK(make_fake(64, 0) == 0);
	CHILD_CHECK(front.ops->tune(&front, 1000, 1000, 0) == 0);
	take_out(f, 600);
	for (unsigned int i = 0; i < 600; i++)
		put(f[i]);
	CHILD_CHECK(in_array(cpu) == 600);
	front.ops->drain(&front);
	CHILD_CHECK(in_array(cpu) == 0 && fake.nr_out == 0);
	get();
	get();
	CHILD_CHECK(in_array(cpu) == 14);
	for (unsigned int i = 0; i < 14; i++)
		get();
	get(); /* QUEUES_BATCH at once */
	CHILD_CHECK(fake.last_want == 256 && in_array(cpu) == 255);
	CHILD_CHECK(front.ops->tune(&front, 5, 5, 0) == 0);
	CHILD_CHECK(front.ops->held(&front) == 0);
}

BOTH_MODES(test_tune)
{
	struct queues *q;
	void *f[200];

	CHILD_CHECK(make_fake(64, 0) == 0);
	q = queues();
	CHILD_CHECK(front.ops->tune(&front, 0, 1, 1) == -EINVAL);
	CHILD_CHECK(front.ops->tune(&front, 1, 0, 1) == -EINVAL);
	CHILD_CHECK(front.ops->tune(&front, 10, 11, 1) == -EINVAL);
	CHILD_CHECK(front.ops->tune(&front, QUEUES_MAX_LIMIT + 1, 1, 1) == -EINVAL);
	CHILD_CHECK(front.ops->tune(&front, 100, 50, ~0u) == -EINVAL);
	CHILD_CHECK(front.ops->tune(&front, 1, 1, QUEUES_MAX_SHARED + 1) == -EINVAL);
	CHILD_CHECK(front.ops->tune(&front, 100, 50, QUEUES_MAX_SHARED / 50 + 1) == -EINVAL);
	CHILD_CHECK(q->limit == 120 && q->batchcount == 60 && q->shared == 8);

	take_out(f, 200);
	for (unsigned int i = 0; i < 200; i++)
		put(f[i]);
	CHILD_CHECK(front.ops->tune(&front, 20, 10, 2) == 0);
	CHILD_CHECK(q->limit == 20 && q->batchcount == 10 && q->shared == 2 && last_tune == 10);
	CHILD_CHECK(front.ops->tune(&front, 1, 1, QUEUES_MAX_SHARED) ==
		    0); /* the most that there may be */
	CHILD_CHECK(front.ops->tune(&front, 20, 10, 2) == 0);
	CHILD_CHECK(front.ops->held(&front) == 0 && fake.nr_out == 0);
	front.ops->check(&front);

	take_out(f, 100);
	for (unsigned int i = 0; i < 20; i++)
		put(f[i]);
	CHILD_CHECK(in_array(cpu) == 20 && shared_array()->avail == 0);
	for (unsigned int i = 20; i < 100; i++)
		put(f[i]);
	CHILD_CHECK(in_array(cpu) <= 20 && shared_array()->avail == 20);
	CHILD_CHECK(front.ops->tune(&front, 1, 1, 0) == 0);
	put(get());
	CHILD_CHECK(fake.last_want == 1 && in_array(cpu) == 1);
	CHILD_CHECK(shared_array()->limit == 0);
	end_fake();
}

/* Arrays that were replaced are kept for the next CPU: tuning to and fro takes no more memory. */
BOTH_MODES(test_tune_reuses_arrays)
{
	unsigned long used = 0;

	CHILD_CHECK(make_fake(64, 0) == 0);
	for (unsigned int round = 0; round < 100; round++) {
		CHILD_CHECK(front.ops->tune(&front, round % 2 ? 100 : 40, 10, 8) == 0);
		put(get());
		if (round == 3)
			used = meta_counters.used;
	}
	CHILD_CHECK(meta_counters.used == used);
	end_fake();
}

static void tune_now(unsigned int turn)
{
	static const unsigned int limits[] = { 120, 3, 40, 1, 16, 600 };
	unsigned int limit = limits[turn % ARRAY_SIZE(limits)];

	CHILD_CHECK(front.ops->tune(&front, limit, (limit + 1) / 2, turn % 3) == 0);
}

BOTH_MODES(test_tune_while_threads_work)
{
	make_real(&slub_ops, 64, 0);
	churn_with(tune_now);
}

static void reap_now(__attribute__((unused)) unsigned int turn)
{
	now_ms += 1000;
	for (unsigned int i = 0; i < os_topology.nr_cpu_ids; i++)
		front.ops->reap(&front, i);
}

BOTH_MODES(test_reap_while_threads_work)
{
	make_real(&slab_ops, 64, 0);
	churn_with(reap_now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_grace),
		cmocka_unit_test(test_shared_and_engine),
		cmocka_unit_test(test_aliens),
		cmocka_unit_test(test_reap_elsewhere),
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_drain_large),
		cmocka_unit_test(test_tune),
		cmocka_unit_test(test_tune_reuses_arrays),
		cmocka_unit_test(test_tune_while_threads_work),
		cmocka_unit_test(test_reap_while_threads_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
