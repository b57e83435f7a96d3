/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slab/slab_test.c - the engine through its table: birth, numbers, end, threads, fork
 */
#include <pthread.h>
#include <sys/wait.h>

#include "fixture.h"
#include "manual_rcu.h"
#include "threads.h"

static int setup(__attribute__((unused)) void **state)
{
	slab_machine(4, 2);
	return 0;
}

static void the_table_says_what_slab_is(__attribute__((unused)) void **state)
{
	assert_string_equal(slab_ops.name, "slab");
	assert_string_equal(slab_ops.front, "queues");
	assert_int_equal(slab_ops.kmalloc_min, 32);
	assert_int_equal(slab_ops.kmalloc_flags, SLAB_HWCACHE_ALIGN);
	assert_null(slab_ops.heap);
}

static void init_fills_in_the_engine(__attribute__((unused)) void **state)
{
	struct engine_params params = {
		.name = "numbers",
		.object_size = 1000,
		.align = 128,
		.flags = SLAB_RECLAIM_ACCOUNT | SLAB_HWCACHE_ALIGN | SLAB_CACHE_DMA,
		.id = 200,
		.page_class = 9,
		.hardened = true,
		.randomised = true,
	};
	struct engine e = make_engine(params);

	assert_ptr_equal(e.ops, &slab_ops);
	assert_ptr_equal(e.layout, &slab_cache_of(&e)->layout);
	assert_has_params(&e, &params);
	assert_int_equal(e.size, 1024);
	assert_int_equal(e.allocflags, __GFP_COMP | __GFP_RECLAIMABLE | __GFP_DMA);
	assert_int_equal(e.layout->stride, 1024);
	assert_int_equal(e.layout->object_size, 1000);
	assert_int_equal(e.layout->inuse, 1000);
	assert_int_equal(e.layout->order, 0);
	assert_int_equal(e.layout->objects, 4);
	assert_int_equal(e.layout->min_order, 0);
	assert_int_equal(e.layout->min_objects, 4);
	assert_int_equal(e.layout->red_left_pad, 0);
	assert_int_equal(e.layout->colour_off, 0); /* nothing left over: one colour */
	END_ENGINE(&e);
}

static void too_large(__attribute__((unused)) void **state)
{
	struct engine_params params = plain_params((4u << 20) + 1);
	unsigned long before = meta_counters.used;
	struct engine e;

	assert_int_equal(slab_ops.init(&e, &params), -E2BIG);
	assert_int_equal(meta_counters.used, before);
}

/* By the table of spec 3.5 until a queue says what it moves at once. */
IN_CHILD(limits_follow_the_cpus)
{
	struct engine e;

	slab_machine(5, 2);  /* 3 on node 0, 2 on node 1 */
	e = make_plain(320); /* 12 in a slab, batches of 27 */
	CHILD_CHECK(node_of(&e, 0)->free_limit == (1 + 3) * 27 + 12);
	CHILD_CHECK(node_of(&e, 1)->free_limit == (1 + 2) * 27 + 12);
	slab_ops.tune(&e, 8);
	CHILD_CHECK(node_of(&e, 0)->free_limit == (1 + 3) * 8 + 12);
	CHILD_CHECK(node_of(&e, 1)->free_limit == (1 + 2) * 8 + 12);
	os_topology.nr_cpus = 2; /* the other numbers are of CPUs that may come */
	slab_ops.tune(&e, 8);
	CHILD_CHECK(node_of(&e, 0)->free_limit == (1 + 2) * 8 + 12);
}

static void stats_add_up(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(1088); /* 7 in 8 KiB */
	struct engine_stats stats;
	void *objs[21];

	fill_slab(&e, objs);
	fill_slab(&e, objs + 7);
	fill_slab(&e, objs + 14);
	slab_flush(&e, objs + 5, 10); /* 2 of the first, all of the second, 1 of the third */
	stats = stats_of(&e);
	assert_int_equal(stats.nr_slabs, 3);
	assert_int_equal(stats.nr_partial, 2);
	assert_int_equal(stats.total_objects, 21);
	assert_int_equal(stats.free_objects, 10);
	assert_int_equal(stats.slab_bytes, 3 * 8192);
	slab_flush(&e, objs, 5);
	slab_flush(&e, objs + 15, 6);
	END_ENGINE(&e);
}

/* Spec 14 vector 16: after the end the page allocator has everything back, and so has meta.c. */
static void destroy_gives_everything_back(__attribute__((unused)) void **state)
{
	static const unsigned int sizes[] = { 24, 64, 128, 192, 1088, 5000 };
	unsigned long used = meta_counters.used;
	unsigned long pages = arena_pages_out();
	static void *objs[1000];
	size_t i;

	rcu_bind_at_once();
	for (i = 0; i < 2 * ARRAY_SIZE(sizes); i++) {
		struct engine_params params = plain_params(sizes[i / 2]);
		unsigned int n = 0;
		struct engine e;

		params.flags = i % 2 ? SLAB_TYPESAFE_BY_RCU : 0;
		e = make_engine(params);
		while (n < 1000)
			n += slab_refill(&e, objs + n, 1000 - n, 0, -1);
		assert_int_equal(arena_pages_out() - pages, stats_of(&e).slab_bytes / PAGE_SIZE);
		slab_flush(&e, objs, 1000);
		END_ENGINE(&e);
		os_rcu_submit();
	}
	assert_int_equal(arena_pages_out(), pages);
	assert_int_equal(meta_counters.used, used);
}

static void live_objects_keep_it_alive(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(192); /* 21 in a slab */
	void *objs[30];

	fill_slab(&e, objs);
	assert_int_equal(slab_refill(&e, objs + 21, 9, 0, -1), 9);
	assert_int_equal(slab_ops.destroy(&e), 30);
	slab_check(&e);
	slab_flush(&e, objs, 29);
	assert_int_equal(slab_ops.destroy(&e), 1); /* and it goes on working */
	assert_int_equal(slab_refill(&e, objs, 1, 0, -1), 1);
	slab_flush(&e, objs, 1);
	free_one(&e, objs[29]);
	END_ENGINE(&e);
	assert_null(e.state);
	assert_null(e.layout);
}

static void nothing(__attribute__((unused)) void *obj)
{
}

/* Spec 14 vector 17: aligned, apart, and to be written to the last byte. */
static void objects_are_aligned_and_apart(__attribute__((unused)) void **state)
{
	static const unsigned int sizes[][2] = {
		{ 1, 8 },	{ 16, 16 },	{ 24, 8 },    { 32, 32 },
		{ 64, 64 },	{ 96, 64 },	{ 100, 64 },  { 128, 128 },
		{ 700, 8 },	{ 1088, 256 },	{ 512, 512 }, { 2048, 2048 },
		{ 4096, 4096 }, { 8192, 8192 }, { 9000, 16 }, { 70000, 8 },
	};
	unsigned int with_ctor;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (with_ctor = 0; with_ctor < 2; with_ctor++) {
			struct engine_params params = plain_params(sizes[i][0]);
			unsigned char *objs[90];
			struct engine e;
			unsigned int n = 0;

			params.align = sizes[i][1];
			params.ctor = with_ctor ? nothing : NULL;
			e = make_engine(params);
			while (n < 90)
				n += slab_refill(&e, (void **)objs + n, MIN(90 - n, 7u), 0, -1);
			assert_apart(objs, 90, &params);
			slab_check(&e);
			slab_flush(&e, (void **)objs, 90);
			END_ENGINE(&e);
		}
	}
}

/* ---- threads ---- */

#define SLOTS 256
#define ROUNDS 3000

static struct engine shared;
static void *slots[SLOTS]; /* an object or NULL; taken and put by atomic exchange */

/* Puts objects into slots; what was there, of whichever thread, goes back. Reaps now and then. */
static void *work(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;
	unsigned int round;

	for (round = 0; round < ROUNDS; round++) {
		void *objs[16];
		unsigned int got = slab_refill(&shared, objs, 1 + (unsigned)rand_r(&seed) % 16, 0,
					       -1 + (rand_r(&seed) >> 4) % 3);
		unsigned int n = 0;
		unsigned int i;

		for (i = 0; i < got; i++) {
			unsigned int slot = ((unsigned int)rand_r(&seed) >> 4) % SLOTS;

			memset(objs[i], (int)seed, shared.object_size);
			objs[n] = xchg(&slots[slot], objs[i]);
			n += objs[n] != NULL;
		}
		slab_flush(&shared, objs, n);
		if (round % 64 == 0)
			slab_reap(&shared, round / 64 % 2);
		if (round % 500 == 0)
			slab_shrink(&shared);
	}
	return NULL;
}

static void threads_share_an_engine(__attribute__((unused)) void **state)
{
	shared = make_plain(320);
	threads_run(3, work);
	slab_check(&shared);
	for (unsigned int i = 0; i < SLOTS; i++)
		if (slots[i])
			free_one(&shared, slots[i]);
	END_ENGINE(&shared);
}

/* Both sides of a fork go on with the engine. */
static void fork_keeps_the_locks_usable(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	void *obj = take_one(&e);

	assert_survives_fork(&e, &node_of(&e, 0)->list_lock, &obj, 1);
	END_ENGINE(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_says_what_slab_is),
		cmocka_unit_test(init_fills_in_the_engine),
		cmocka_unit_test(too_large),
		cmocka_unit_test(limits_follow_the_cpus),
		cmocka_unit_test(stats_add_up),
		cmocka_unit_test(destroy_gives_everything_back),
		cmocka_unit_test(live_objects_keep_it_alive),
		cmocka_unit_test(objects_are_aligned_and_apart),
		cmocka_unit_test(threads_share_an_engine),
		cmocka_unit_test(fork_keeps_the_locks_usable),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
