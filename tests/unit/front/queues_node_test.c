/* SPDX-License-Identifier: MIT */
/*
 * unit/front/queues_node_test.c - objects between nodes, policies by object: spec 3.10, 0.4
 *
 * Made-up machines: 4 CPUs on 2 nodes, of which this thread acts for CPU 1; or 6 on 3.
 */
#include <sys/resource.h>

#include "os/memory/policy.h"
#include "queues_fixture.h"

#define MANY 40

static unsigned int node_of(const void *obj)
{
	return page_head_unchecked(obj)->node;
}

static struct queue *alien(unsigned int local, unsigned int node)
{
	return &queues()->node[local].alien[node];
}

static struct queue *shared_of(unsigned int node)
{
	return &queues()->node[node].shared;
}

/* n objects of node, which no array holds. */
static void remote_objects(void **objs, unsigned int n, int node)
{
	CHILD_CHECK(engine.ops->refill(&engine, objs, n, __GFP_THISNODE, node) == n);
}

static unsigned long free_in_slabs(void)
{
	struct engine_stats stats;

	engine.ops->stats(&engine, &stats);
	return stats.free_objects;
}

/* Asked for another node: past the arrays, one object each. */
IN_CHILD(test_alloc_on_a_node)
{
	void *a, *b, *c, *d;

	floors_init(4, 2);
	make_real(&slab_ops, 64, 0);
	a = get_on(1, 0);
	CHILD_CHECK(node_of(a) == 1 && front.ops->held(&front) == 0);
	CHILD_CHECK(queues()->node_allocs == 1);
	b = get_on(0, 0); /* the local one: like no node */
	CHILD_CHECK(node_of(b) == 0 && in_array(cpu) == 15);
	c = get_on(0, __GFP_THISNODE);
	CHILD_CHECK(node_of(c) == 0 && in_array(cpu) == 14);
	d = get_on(7, 0); /* no such node */
	CHILD_CHECK(node_of(d) == 0 && in_array(cpu) == 13);
	CHILD_CHECK(queues()->node_allocs == 1);
	balance(4);
	put(a);
	put(b);
	put(c);
	put(d);
	end_real();
}

/* Vector of 3.10: 12 objects wait; the 13th sends them to their node's shared array first. */
IN_CHILD(test_alien_overflow)
{
	void *objs[25];

	floors_init(4, 2);
	make_real(&slub_ops, 64, 0);
	remote_objects(objs, 25, 1);
	for (unsigned int i = 0; i < 12; i++)
		put(objs[i]);
	CHILD_CHECK(alien(0, 1)->avail == 12 && alien(0, 1)->entry[0] == objs[0]);
	CHILD_CHECK(in_array(cpu) == 0 && shared_of(1)->avail == 0);
	CHILD_CHECK(queues_held_alien(&front) == 12);
	CHILD_CHECK(queues()->node_frees == 12 && queues()->alien_overflows == 0);
	put(objs[12]);
	CHILD_CHECK(alien(0, 1)->avail == 1 && alien(0, 1)->entry[0] == objs[12]);
	CHILD_CHECK(shared_of(1)->avail == 12 && shared_of(0)->avail == 0);
	for (unsigned int i = 0; i < 12; i++)
		CHILD_CHECK(shared_of(1)->entry[i] == objs[i]);
	CHILD_CHECK(queues()->alien_overflows == 1);
	for (unsigned int i = 13; i < 25; i++)
		put(objs[i]);
	CHILD_CHECK(shared_of(1)->avail == 24 && queues()->alien_overflows == 2);
	/* a CPU of that node finds them there */
	os_act_as_cpu(2);
	CHILD_CHECK(get() == objs[23]);
	put(objs[23]);
	os_act_as_cpu(1);
	end_real();
}

/* Little room in the shared array: the newest go there, the others to their slabs. */
IN_CHILD(test_alien_overflow_of_shared)
{
	unsigned long before;
	void *objs[13];

	floors_init(4, 2);
	make_real(&slub_ops, 64, 0);
	CHILD_CHECK(front.ops->tune(&front, 10, 5, 1) == 0); /* room for 5 */
	remote_objects(objs, 13, 1);
	before = free_in_slabs();
	for (unsigned int i = 0; i < 13; i++)
		put(objs[i]);
	CHILD_CHECK(shared_of(1)->avail == 5 && alien(0, 1)->avail == 1);
	for (unsigned int i = 0; i < 5; i++)
		CHILD_CHECK(shared_of(1)->entry[i] == objs[7 + i]);
	CHILD_CHECK(free_in_slabs() == before + 7);
	end_real();
}

IN_CHILD(test_alien_limit_of_one)
{
	void *objs[3];

	floors_init(4, 2);
	make_real(&slub_ops, 64, 1);
	remote_objects(objs, 3, 1);
	for (unsigned int i = 0; i < 3; i++)
		put(objs[i]);
	CHILD_CHECK(alien(0, 1)->avail == 1 && queues()->alien_overflows == 2);
	end_real();
}

IN_CHILD(test_no_aliens)
{
	unsigned long before;
	void *objs[3];

	floors_init(4, 2);
	front_queues_noalien = true;
	make_real(&slub_ops, 64, 0);
	remote_objects(objs, 3, 1);
	before = free_in_slabs();
	for (unsigned int i = 0; i < 3; i++)
		put(objs[i]);
	CHILD_CHECK(free_in_slabs() == before + 3 && front.ops->held(&front) == 0);
	CHILD_CHECK(!queues()->node[0].alien && queues()->node_frees == 3);
	end_real();
}

/* With three nodes each pair has its own; drain empties all and check says so. */
IN_CHILD(test_three_nodes)
{
	void *objs[3][3][4];

	floors_init(6, 3);
	make_real(&slab_ops, 64, 0);
	for (int home = 0; home < 3; home++)
		for (unsigned int by = 0; by < 3; by++)
			remote_objects(objs[by][home], 4, home);
	for (unsigned int by = 0; by < 3; by++) {
		os_act_as_cpu(2 * by);
		for (unsigned int home = 0; home < 3; home++)
			for (unsigned int i = 0; i < 4; i++)
				put(objs[by][home][i]);
		for (unsigned int home = 0; home < 3; home++)
			CHILD_CHECK(alien(by, home)->avail == (by == home ? 0 : 4));
		CHILD_CHECK(in_array((int)(2 * by)) == 4);
	}
	CHILD_CHECK(queues_held_alien(&front) == 24 && front.ops->held(&front) == 36);
	end_real();
}

/* The node has no memory: its objects come from elsewhere, and never lie in its arrays. */
IN_CHILD(test_fallback)
{
	const struct rlimit none = { 0, 0 };
	struct page *page;
	void *objs[20];

	if (!bare_process())
		return;
	floors_init(4, 2);
	make_real(&slub_ops, 64, 0);
	remote_objects(objs, 1, 1); /* there is memory on node 1 */
	put(get());
	CHILD_CHECK(in_array(cpu) == 16);
	front.ops->drain(&front);
	child_limit(RLIMIT_DATA, &none);
	CHILD_CHECK(engine.ops->shrink(&engine) == 1);
	for (unsigned int order = BUDDY_MAX_ORDER + 1; order-- > 0;)
		while ((page = buddy_alloc(0, order, true, NULL)))
			page_set_block(page, PAGE_RUN, 1ul << order);
	CHILD_CHECK(get_on(0, __GFP_THISNODE) == NULL);
	for (unsigned int i = 1; i < 20; i++) {
		objs[i] = get();
		CHILD_CHECK(objs[i] && node_of(objs[i]) == 1);
	}
	CHILD_CHECK(front.ops->held(&front) == 0);
	for (unsigned int i = 0; i < 20; i++)
		put(objs[i]);
	CHILD_CHECK(in_array(cpu) == 0 && front.ops->held(&front) == 20);
	end_real();
}

/* ---- policies ---- */

static void set_policy(int mode, unsigned long mask)
{
	CHILD_CHECK(os_policy_set(mode, &mask, 64) == 0);
}

IN_CHILD(test_policies)
{
	void *objs[MANY];
	unsigned int n = 0;

	floors_init(6, 3);
	make_real(&slab_ops, 64, 0); /* CPU 1: node 0 */
	set_policy(OS_POLICY_PREFERRED, 6);
	objs[n++] = get();
	CHILD_CHECK(node_of(objs[0]) == 1 && queues()->node_allocs == 1);
	CHILD_CHECK(front.ops->held(&front) == 0);
	objs[n++] = get_on(2, 0); /* who names a node has no policy */
	CHILD_CHECK(node_of(objs[1]) == 2);

	set_policy(OS_POLICY_INTERLEAVE, 7); /* by object */
	for (unsigned int i = 0; i < 9; i++) {
		objs[n] = get();
		CHILD_CHECK(node_of(objs[n]) == i % 3);
		n++;
	}
	CHILD_CHECK(queues()->node_allocs == 8 && in_array(cpu) == 13);

	set_policy(OS_POLICY_BIND, 4);
	objs[n] = get();
	CHILD_CHECK(node_of(objs[n++]) == 2);
	set_policy(OS_POLICY_PREFERRED_MANY, 3); /* local */
	objs[n] = get();
	CHILD_CHECK(node_of(objs[n++]) == 0);
	CHILD_CHECK(queues()->node_allocs == 9);
	set_policy(OS_POLICY_LOCAL, 0);
	CHILD_CHECK(front.ops->alloc_bulk(&front, 0, 3, objs + n) == 3);
	for (unsigned int i = 0; i < 3; i++)
		CHILD_CHECK(node_of(objs[n++]) == 0);
	balance(n);
	while (n)
		put(objs[--n]);
	end_real();
}

/* SLUB's new slabs follow the policy when nobody names a node. */
IN_CHILD(test_slub_by_slab)
{
	void *objs[3 * 64];

	floors_init(6, 3);
	make_real(&slub_ops, 64, 0);
	set_policy(OS_POLICY_INTERLEAVE, 6);
	for (unsigned int i = 0; i < 3; i++)
		CHILD_CHECK(engine.ops->refill(&engine, objs + 64 * i, 64, 0, -1) == 64);
	CHILD_CHECK(node_of(objs[0]) == 1 && node_of(objs[63]) == 1);
	CHILD_CHECK(node_of(objs[64]) == 2 && node_of(objs[127]) == 2);
	CHILD_CHECK(node_of(objs[128]) == 1 && node_of(objs[191]) == 1);
	engine.ops->flush(&engine, objs, 3 * 64);
	CHILD_CHECK(engine.ops->refill(&engine, objs, 64, 0, 0) == 64); /* named: no policy */
	CHILD_CHECK(node_of(objs[0]) == 0);
	engine.ops->flush(&engine, objs, 64);
	end_real();
}

/* ---- fork, threads ---- */

static bool others_publish;

static void *remote_free(void *obj)
{
	os_act_as_cpu(1);
	others_publish = true;
	put(obj);
	return NULL;
}

/* Alien arrays are made under a lock that fork holds: none appears behind its back. */
IN_CHILD(test_fork)
{
	pthread_t thread;
	void *objs[2];

	floors_init(4, 2);
	make_real(&slub_ops, 64, 0);
	remote_objects(objs, 2, 1);
	front.ops->each_lock(&front, lock_fork_prepare);
	pthread_create(&thread, NULL, remote_free, objs[0]);
	usleep(20000);
	CHILD_CHECK(!load_acquire(&queues()->node[0].alien));
	front.ops->each_lock(&front, lock_fork_parent);
	pthread_join(thread, NULL);
	CHILD_CHECK(alien(0, 1)->avail == 1);
	front.ops->each_lock(&front, lock_fork_prepare);
	CHILD_CHECK(!lock_try(&alien(0, 1)->lock) && !lock_try(&shared_of(1)->lock));
	front.ops->each_lock(&front, lock_fork_child);
	put(objs[1]);
	end_real();
}

IN_CHILD(test_threads)
{
	floors_init(4, 2);
	make_real(&slab_ops, 128, 5);
	churn_with(NULL);
}

/* Every engine keeps its word about nodes. */
IN_CHILD(test_engines)
{
	static const struct engine_ops *const engines[] = { &slob_1991_ops,    &slob_ops,
							    &slobseg_pow2_ops, &slobseg_ops,
							    &slab_ops,	       &slub_ops };

	floors_init(4, 2);
	for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
		void *objs[300];

		make_real(engines[i], 72, 9);
		for (unsigned int n = 0; n < 300; n++) {
			os_act_as_cpu(n % 4);
			objs[n] = get();
			CHILD_CHECK(objs[n] && node_of(objs[n]) == n % 4 / 2);
			front.ops->check(&front);
		}
		for (unsigned int n = 0; n < 300; n++) {
			os_act_as_cpu(n / 3 % 4);
			put(objs[n]);
			front.ops->check(&front);
		}
		front.ops->drain(&front);
		CHILD_CHECK(front.ops->held(&front) == 0);
		engine.ops->check(&engine);
		CHILD_CHECK(engine.ops->destroy(&engine) == 0);
		front.ops->destroy(&front);
	}
}

static void drain_or_reap(unsigned int turn)
{
	now_ms += 500;
	if (turn % 2)
		front.ops->drain(&front);
	for (unsigned int i = 0; i < os_topology.nr_cpu_ids; i++)
		front.ops->reap(&front, i);
}

IN_CHILD(test_threads_and_drain)
{
	floors_init(6, 3);
	make_real(&slab_ops, 128, 0);
	churn_with(drain_or_reap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alloc_on_a_node),
		cmocka_unit_test(test_alien_overflow),
		cmocka_unit_test(test_alien_overflow_of_shared),
		cmocka_unit_test(test_alien_limit_of_one),
		cmocka_unit_test(test_no_aliens),
		cmocka_unit_test(test_three_nodes),
		cmocka_unit_test(test_fallback),
		cmocka_unit_test(test_policies),
		cmocka_unit_test(test_slub_by_slab),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_engines),
		cmocka_unit_test(test_threads_and_drain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
