/* SPDX-License-Identifier: MIT */
/*
 * unit/front/cpuslab_test.c - CPU slabs over the SLUB engine: spec 14 vectors 1 to 3, and races
 *
 * Every test runs with sequences where this process has them, and on a made-up topology without.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/atomic.h"
#include "engine/slub/slab.h"
#include "exchange.h"
#include "limit.h"
#include "sys_rseq.h"

#define ID 600u

static int cpu; /* that this thread stays on */

static void make_with(struct engine_params params)
{
	percpu_set_stats(true);
	cpu = here();
	CHILD_CHECK(slub_ops.init(&engine, &params) == 0);
	front = (struct front){ .ops = &front_cpuslab_ops, .engine = &engine, .id = ID };
	CHILD_CHECK(front.ops->init(&front, 0) == 0);
}

static struct engine_params params_of(unsigned int size)
{
	return (struct engine_params){ .name = "test", .object_size = size, .align = 8, .id = ID };
}

static void make(unsigned int size)
{
	make_with(params_of(size));
}

static void *get(void)
{
	return front.ops->alloc(&front, GFP_KERNEL, NUMA_NO_NODE);
}

static void get_many(void **objs, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		CHILD_CHECK((objs[i] = get()) != NULL);
}

static void put(void *obj)
{
	front.ops->free(&front, obj);
}

static unsigned int stat(unsigned int item)
{
	unsigned int sum = 0;

	for (int i = 0; i < (int)os_topology.nr_cpu_ids; i++)
		sum += percpu_state(ID, i)->stat[item];
	return sum;
}

/* Exactly these events since the cache was made, and no others. */
#define STATS(...)                                                                     \
	do {                                                                           \
		static const unsigned int expected[NR_ENGINE_STATS] = { __VA_ARGS__ }; \
                                                                                       \
		check_stats(__LINE__, expected);                                       \
	} while (0)

static void check_stats(int line, const unsigned int *expected)
{
	for (unsigned int item = 0; item < NR_ENGINE_STATS; item++) {
		if (stat(item) == expected[item])
			continue;
		os_say("line %d: stat %u is %u, not %u", line, item, stat(item), expected[item]);
		CHILD_CHECK(0);
	}
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

static struct page *partial_at(unsigned int node, unsigned int i)
{
	struct list_head *pos;

	list_for_each(pos, &slub_of(&engine)->node[node]->partial)
		if (i-- == 0)
			return list_entry(pos, struct page, lru);
	return NULL;
}

BOTH_MODES(test_vectors_1_and_2)
{
	char *objs[130];

	make(64);
	get_many((void **)objs, 64);
	for (unsigned int i = 0; i < 64; i++)
		CHILD_CHECK(objs[i] == objs[0] + 64 * i);
	STATS([ALLOC_SLOWPATH] = 1, [ALLOC_FASTPATH] = 63, [ALLOC_SLAB] = 1);
	objs[64] = get();
	STATS([ALLOC_SLOWPATH] = 2, [ALLOC_FASTPATH] = 63, [ALLOC_SLAB] = 2, [DEACTIVATE_BYPASS] = 1);
	balance(65);

	put(objs[10]);
	STATS([ALLOC_SLOWPATH] = 2, [ALLOC_FASTPATH] = 63, [ALLOC_SLAB] = 2,
	      [DEACTIVATE_BYPASS] = 1, [FREE_SLOWPATH] = 1, [CPU_PARTIAL_FREE] = 1);
	put(objs[11]);
	put(objs[12]);
	put(objs[64]); /* of the CPU slab */
	STATS([ALLOC_SLOWPATH] = 2, [ALLOC_FASTPATH] = 63, [ALLOC_SLAB] = 2, [DEACTIVATE_BYPASS] = 1,
	      [FREE_SLOWPATH] = 3, [CPU_PARTIAL_FREE] = 1, [FREE_FROZEN] = 2, [FREE_FASTPATH] = 1);
	balance(61);

	get_many((void **)objs + 64, 64); /* exhausts slab 2 */
	objs[12] = get();
	STATS([ALLOC_SLOWPATH] = 3, [ALLOC_FASTPATH] = 63 + 64, [ALLOC_SLAB] = 2,
	      [DEACTIVATE_BYPASS] = 2, [FREE_SLOWPATH] = 3, [CPU_PARTIAL_FREE] = 1,
	      [FREE_FROZEN] = 2, [FREE_FASTPATH] = 1, [CPU_PARTIAL_ALLOC] = 1, [ALLOC_REFILL] = 1);
	CHILD_CHECK(objs[12] == objs[0] + 12 * 64); /* the last that was freed */
	CHILD_CHECK(get() == objs[0] + 11 * 64);
	CHILD_CHECK(get() == objs[0] + 10 * 64);
	balance(128);
	for (unsigned int i = 0; i < 128; i++)
		put(i == 12 ? objs[0] + 12 * 64 : objs[i]);
	CHILD_CHECK(stat(ALLOC_FASTPATH) + stat(ALLOC_SLOWPATH) == 132);
	CHILD_CHECK(stat(FREE_FASTPATH) + stat(FREE_SLOWPATH) == 132);
	end();
	CHILD_CHECK(stat(ALLOC_SLAB) == stat(FREE_SLAB));
}

BOTH_MODES(test_vector_3)
{
	struct kmem_cache_cpu *c;
	char *objs[5 * 64 + 1];
	struct page *slab[5];
	unsigned int node;

	make(64);
	c = percpu_state(ID, cpu);
	CHILD_CHECK(slub_of(&engine)->cpu_partial_slabs == 4);
	get_many((void **)objs, 5 * 64 + 1);
	for (unsigned int i = 0; i < 5; i++)
		slab[i] = page_head_unchecked(objs[64 * i]);
	node = slab[0]->node;
	for (unsigned int i = 0; i < 4; i++)
		put(objs[64 * i]);
	CHILD_CHECK(c->partial == slab[3] && c->partial->slabs == 4);
	CHILD_CHECK(stat(CPU_PARTIAL_DRAIN) == 0);
	put(objs[64 * 4]);
	CHILD_CHECK(c->partial == slab[4] && c->partial->slabs == 1 && !c->partial->next);
	CHILD_CHECK(partial_at(node, 0) == slab[3]);
	CHILD_CHECK(partial_at(node, 1) == slab[2]);
	CHILD_CHECK(partial_at(node, 2) == slab[1]);
	CHILD_CHECK(partial_at(node, 3) == slab[0]);
	STATS([ALLOC_SLOWPATH] = 6, [ALLOC_FASTPATH] = 5 * 63, [ALLOC_SLAB] = 6,
	      [DEACTIVATE_BYPASS] = 5, [FREE_SLOWPATH] = 5, [CPU_PARTIAL_FREE] = 5,
	      [CPU_PARTIAL_DRAIN] = 1, [FREE_ADD_PARTIAL] = 4);
	balance(5 * 63 + 1);

	for (unsigned int i = 0; i < 5 * 64 + 1; i++)
		if (i % 64 || i == 5 * 64)
			put(objs[i]);
	balance(0);
	end();
}

/* spec 12.6: last in, first out, on the CPU's own slab. */
BOTH_MODES(test_last_in_first_out)
{
	void *objs[10];

	make(64);
	get_many(objs, 10);
	put(objs[4]);
	put(objs[1]);
	put(objs[8]);
	CHILD_CHECK(get() == objs[8]);
	CHILD_CHECK(get() == objs[1]);
	CHILD_CHECK(get() == objs[4]);
	CHILD_CHECK(stat(FREE_FASTPATH) == 3 && stat(ALLOC_FASTPATH) == 9 + 3);
	for (unsigned int i = 0; i < 10; i++)
		put(objs[i]);
	end();
}

/* From the node's list: the head for the CPU, some more for its partial list. */
BOTH_MODES(test_node_partials)
{
	struct kmem_cache_cpu *c;
	void *objs[6 * 64];
	unsigned int drained;

	make(64);
	c = percpu_state(ID, cpu);
	get_many(objs, 6 * 64);
	for (unsigned int i = 0; i < 6; i++)
		put(objs[64 * i]);
	front.ops->drain(&front);
	drained = stat(FREE_ADD_PARTIAL) + stat(DEACTIVATE_TO_HEAD) + stat(DEACTIVATE_TO_TAIL);
	CHILD_CHECK(drained >= 6);
	CHILD_CHECK(!c->partial && !c->slab && !c->freelist);
	balance(6 * 63);

	objs[0] = get();
	CHILD_CHECK(stat(ALLOC_FROM_PARTIAL) == 1 && stat(CPU_PARTIAL_NODE) == 3);
	CHILD_CHECK(c->partial->slabs == 3);
	balance(6 * 63 + 1);
	for (unsigned int i = 1; i < 6; i++)
		objs[64 * i] = get();
	CHILD_CHECK(stat(CPU_PARTIAL_ALLOC) == 4 && stat(ALLOC_FROM_PARTIAL) == 2);
	CHILD_CHECK(stat(ALLOC_SLAB) == 6);
	for (unsigned int i = 0; i < 6 * 64; i++)
		put(objs[i]);
	end();
}

static void *get_on(int node, gfp_t gfp)
{
	void *obj = front.ops->alloc(&front, gfp, node);

	CHILD_CHECK(obj != NULL);
	return obj;
}

/* On two nodes: another node's object costs the CPU its slab (spec 4.8b). */
IN_CHILD(test_nodes)
{
	void *a, *b, *c, *d;

	floors_init(4, 2);
	make(64);
	CHILD_CHECK(cpu == 1);
	a = get();
	CHILD_CHECK(page_head_unchecked(a)->node == 0);
	b = get_on(1, __GFP_THISNODE);
	CHILD_CHECK(page_head_unchecked(b)->node == 1);
	STATS([ALLOC_SLOWPATH] = 2, [ALLOC_SLAB] = 2, [ALLOC_NODE_MISMATCH] = 1,
	      [DEACTIVATE_TO_HEAD] = 1);
	c = get(); /* no node asked: what the CPU has, wherever it is */
	CHILD_CHECK(page_head_unchecked(c)->node == 1);
	CHILD_CHECK(stat(ALLOC_FASTPATH) == 1);
	d = get_on(0, 0); /* back to the partial slab of node 0 */
	CHILD_CHECK(page_head_unchecked(d) == page_head_unchecked(a));
	CHILD_CHECK(stat(ALLOC_NODE_MISMATCH) == 2 && stat(ALLOC_FROM_PARTIAL) == 1);
	put(get_on(99, 0)); /* no such node: any */
	CHILD_CHECK(stat(ALLOC_NODE_MISMATCH) == 2);
	balance(4);

	/* Freed by a CPU of another node: onto that CPU's partial list when the slab was full. */
	put(a);
	put(b);
	put(c);
	put(d);
	end();
}

/* A partial slab of the CPU that is of another node than asked is given back, too. */
IN_CHILD(test_partial_of_another_node)
{
	void *objs[65];
	void *other;

	floors_init(4, 2);
	make(64);
	get_many(objs, 65);
	put(objs[0]); /* slab 1 onto the partial list */
	other = get_on(1, 0);
	CHILD_CHECK(page_head_unchecked(other)->node == 1);
	CHILD_CHECK(stat(ALLOC_NODE_MISMATCH) == 2 && stat(CPU_PARTIAL_ALLOC) == 1);
	CHILD_CHECK(!percpu_state(ID, cpu)->partial);
	balance(65);
	for (unsigned int i = 1; i < 65; i++)
		put(objs[i]);
	put(other);
	end();
}

/* Spec 5.8, measured on a 6.1 kernel: a slab's last object in the array is reused first. */
BOTH_MODES(test_bulk_last_is_first)
{
	void *objs[6];
	void *freed[6];

	make(64);
	CHILD_CHECK(front.ops->alloc_bulk(&front, GFP_KERNEL, 6, objs) == 6);
	memcpy(freed, objs, sizeof(freed)); /* free_bulk may permute its array */
	front.ops->free_bulk(&front, 6, freed);
	for (unsigned int i = 6; i-- > 0;)
		CHILD_CHECK(front.ops->alloc(&front, GFP_KERNEL, NUMA_NO_NODE) == objs[i]);
	front.ops->free_bulk(&front, 6, objs);
	end();
}

BOTH_MODES(test_bulk)
{
	void *objs[200];
	unsigned int frees;

	make(64);
	CHILD_CHECK(front.ops->alloc_bulk(&front, GFP_KERNEL, 200, objs) == 200);
	/* pops are not counted */
	STATS([ALLOC_SLOWPATH] = 4, [ALLOC_SLAB] = 4, [DEACTIVATE_BYPASS] = 3);
	balance(200);
	/* From the end of the array, an operation for each slab: 8 objects of the CPU's, 3 full. */
	front.ops->free_bulk(&front, 200, objs);
	frees = stat(FREE_FASTPATH) + stat(FREE_SLOWPATH);
	CHILD_CHECK(stat(FREE_FASTPATH) == 1 && frees == 4);
	balance(0);

	/* Two slabs in turn: a lookahead of 3 finds three objects at a time. */
	CHILD_CHECK(front.ops->alloc_bulk(&front, GFP_KERNEL, 128, objs) == 128);
	for (unsigned int i = 0; i < 64; i += 2) {
		void *swapped = objs[i];

		objs[i] = objs[64 + i];
		objs[64 + i] = swapped;
	}
	front.ops->free_bulk(&front, 128, objs);
	CHILD_CHECK(stat(FREE_FASTPATH) + stat(FREE_SLOWPATH) - frees < 48);
	balance(0);
	CHILD_CHECK(front.ops->alloc_bulk(&front, GFP_KERNEL, 0, objs) == 0);
	end();
}

BOTH_MODES(test_hardened_random)
{
	struct engine_params params = params_of(96);
	void *objs[500];

	params.hardened = true;
	params.randomised = true;
	make_with(params);
	for (unsigned int round = 0; round < 3; round++) {
		get_many(objs, 500);
		balance(500);
		for (unsigned int i = 0; i < 500; i++)
			memset(objs[i], 0xff, 96);
		for (unsigned int i = 0; i < 500; i++)
			put(objs[i * 7 % 500]);
		balance(0);
	}
	end();
}

/* An object of the slab that the CPU gave up while it was stopped by drain. */
BOTH_MODES(test_drain_with_objects_out)
{
	void *objs[100];

	make(64);
	get_many(objs, 100);
	put(objs[80]);
	front.ops->drain(&front);
	CHILD_CHECK(stat(CPUSLAB_FLUSH) == 1);
	CHILD_CHECK(stat(DEACTIVATE_TO_HEAD) == 1);
	CHILD_CHECK(front.ops->held(&front) == 0);
	balance(99);
	front.ops->drain(&front); /* nothing to do */
	CHILD_CHECK(stat(CPUSLAB_FLUSH) == 1);
	CHILD_CHECK(get() == objs[80]);
	for (unsigned int i = 0; i < 100; i++)
		put(objs[i]);
	end();
}

/* Memory that is exhausted: NULL, and what is there still goes round. */
IN_CHILD(test_out_of_memory)
{
	struct page *page;
	void *objs[64];

	limit_address_space(160ul << 20);
	floors_init(0, 0);
	make(64);
	get_many(objs, 64);
	for (unsigned int order = BUDDY_MAX_ORDER + 1; order-- > 0;)
		while ((page = buddy_alloc(-1, order, false, NULL)))
			page_set_block(page, PAGE_RUN, 1ul << order);
	CHILD_CHECK(front.ops->alloc(&front, GFP_KERNEL | __GFP_NOWARN, NUMA_NO_NODE) == NULL);
	put(objs[5]);
	CHILD_CHECK(get() == objs[5]);
	balance(64);
	for (unsigned int i = 0; i < 64; i++)
		put(objs[i]);
	end();
}

IN_CHILD(test_other_engines_are_refused)
{
	struct fake fake;

	floors_init(2, 1);
	fake_init(&fake, FAKE_SIZE);
	CHILD_CHECK(front_make(&front, &front_cpuslab_ops, &fake, ID, 0) == -EINVAL);
}

static void double_free(__attribute__((unused)) void *arg)
{
	void *obj;

	floors_init(0, 0);
	make(64);
	obj = get();
	put(obj);
	put(obj);
}

static void test_double_free(__attribute__((unused)) void **state)
{
	struct child c = child_run(double_free, NULL);

	assert_true(child_aborted(&c));
	assert_non_null(strstr(c.text, "slub: double free of 0x"));
}

/* The link of a free object leads out of its slab: whoever takes that one has nowhere to go on. */
static void overwritten_link(bool hardened, uintptr_t link, int node)
{
	struct engine_params params = params_of(64);
	void *objs[2];

	params.hardened = hardened;
	make_with(params);
	get_many(objs, 2);
	put(objs[1]);
	put(objs[0]);
	*freeptr_slot(engine.layout, objs[0]) = link;
	alarm(120);
	for (;;)
		CHILD_CHECK(front.ops->alloc(&front, GFP_KERNEL, node) == objs[0]);
}

static void overwritten_plain(__attribute__((unused)) void *arg)
{
	floors_init(0, 0);
	overwritten_link(false, 0x4141414141414141, NUMA_NO_NODE);
}

/* Into the arena, but not into a slab: where a node is asked for, somebody looks. */
static void overwritten_node(__attribute__((unused)) void *arg)
{
	struct page *page;

	floors_init(0, 0);
	page = buddy_alloc(-1, 0, false, NULL);
	page_set_block(page, PAGE_RUN, 1);
	overwritten_link(false, (uintptr_t)page_address(page), 0);
}

static void overwritten_hardened(__attribute__((unused)) void *arg)
{
	floors_init(0, 0);
	overwritten_link(true, 0x4141414141414141, NUMA_NO_NODE);
}

static void overwritten_without_sequences(__attribute__((unused)) void *arg)
{
	floors_init(4, 1);
	overwritten_link(false, 0x4141414141414141, NUMA_NO_NODE);
}

static void test_overwritten_link(__attribute__((unused)) void **state)
{
	void (*const all[])(void *) = { overwritten_plain, overwritten_node, overwritten_hardened,
					overwritten_without_sequences };

	for (unsigned int i = 0; i < ARRAY_SIZE(all); i++) {
		struct child c = child_run(all[i], NULL);

		assert_true(child_aborted(&c));
		assert_non_null(strstr(c.text, "slub: corrupt free list at 0x"));
	}
}

/* A thread that the kernel has no area of: it has no CPU, and the engine serves it. */
static void *without_cpu(__attribute__((unused)) void *arg)
{
	void *objs[70];

	if (!sys_rseq_unregister())
		return NULL;
	get_many(objs, 70);
	for (unsigned int i = 0; i < 70; i++)
		put(objs[i]);
	return NULL;
}

IN_CHILD(test_thread_without_cpu)
{
	void *objs[65];
	pthread_t thread;

	floors_init(0, 0);
	make(64);
	get_many(objs, 65);
	CHILD_CHECK(pthread_create(&thread, NULL, without_cpu, NULL) == 0);
	pthread_join(thread, NULL);
	balance(65);
	for (unsigned int i = 0; i < 65; i++)
		put(objs[i]);
	end();
}

BOTH_MODES(test_fork)
{
	void *objs[100];
	int status;
	pid_t pid;

	make(64);
	get_many(objs, 100);
	front.ops->each_lock(&front, lock_fork_prepare);
	slub_ops.each_lock(&engine, lock_fork_prepare);
	CHILD_CHECK(!lock_try(&percpu_state(ID, cpu)->lock));
	pid = fork();
	if (pid == 0) {
		alarm(120);
		slub_ops.each_lock(&engine, lock_fork_child);
		front.ops->each_lock(&front, lock_fork_child);
		for (unsigned int i = 0; i < 100; i++)
			put(objs[i]);
		balance(0);
		_exit(0);
	}
	slub_ops.each_lock(&engine, lock_fork_parent);
	front.ops->each_lock(&front, lock_fork_parent);
	CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	for (unsigned int i = 0; i < 100; i++)
		put(objs[i]);
	end();
}

/* ---- threads: everybody frees what others allocated, moves about, and is drained ---- */

#define THREADS 4
#define SLOTS 512

static unsigned int rounds; /* of each thread */
static unsigned long nr_allocs;
static bool stopped;

static void *work(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;

	for (unsigned int round = 0; round < rounds; round++) {
		int node = round % 97 ? NUMA_NO_NODE : (int)(seed % os_topology.nr_nodes);
		void *obj = exchange_object(get_on(node, 0), SLOTS, &seed);

		fetch_add(&nr_allocs, 1);
		if (obj)
			put(obj);
		if (round % 32 == 0)
			move_somewhere(&seed);
	}
	return NULL;
}

static void *drain_often(__attribute__((unused)) void *arg)
{
	unsigned int seed = 99;

	while (!load_relaxed(&stopped)) {
		front.ops->drain(&front);
		slub_shrink(&engine);
		move_somewhere(&seed);
		usleep(200);
	}
	return NULL;
}

static void stress(struct engine_params params)
{
	/* valgrind runs one thread at a time */
	rounds = getenv("USLAB_TEST_VALGRIND") ? 10000 : 100000;
	make_with(params);
	slub_of(&engine)->min_partial = 1;
	threads_run_beside(THREADS, work, drain_often, &stopped);
	CHILD_CHECK(nr_allocs == (unsigned long)THREADS * rounds);
	exchange_end();
	end();
}

BOTH_MODES(test_threads)
{
	stress(params_of(64));
}

BOTH_MODES(test_threads_hardened)
{
	struct engine_params params = params_of(64);

	params.hardened = true;
	params.randomised = true;
	stress(params);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors_1_and_2),
		cmocka_unit_test(test_vector_3),
		cmocka_unit_test(test_last_in_first_out),
		cmocka_unit_test(test_node_partials),
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_partial_of_another_node),
		cmocka_unit_test(test_bulk),
		cmocka_unit_test(test_bulk_last_is_first),
		cmocka_unit_test(test_hardened_random),
		cmocka_unit_test(test_drain_with_objects_out),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_other_engines_are_refused),
		cmocka_unit_test(test_double_free),
		cmocka_unit_test(test_overwritten_link),
		cmocka_unit_test(test_thread_without_cpu),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_threads_hardened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
