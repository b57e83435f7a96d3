/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slub/slub_test.c - the engine through its table: birth, numbers, end, threads, fork
 */
#include <pthread.h>
#include <sys/wait.h>

#include "fixture.h"

static void init_fills_in_the_engine(__attribute__((unused)) void **state)
{
	struct engine_params params = {
		.name = "numbers",
		.object_size = 1000,
		.align = 64,
		.flags = SLAB_RECLAIM_ACCOUNT | SLAB_HWCACHE_ALIGN | SLAB_CACHE_DMA,
		.id = 200,
		.page_class = 9,
	};
	struct engine e = make_engine(params);
	struct slub *s = slub_of(&e);

	assert_ptr_equal(e.ops, &slub_ops);
	assert_ptr_equal(e.layout, &s->layout);
	assert_has_params(&e, &params);
	assert_int_equal(e.size, 1024);
	assert_int_equal(e.allocflags, __GFP_COMP | __GFP_RECLAIMABLE | __GFP_DMA);
	assert_int_equal(s->min_partial, 5);
	assert_int_equal(s->cpu_partial, 24);
	assert_int_equal(s->cpu_partial_slabs, 3);
	assert_int_equal(s->remote_node_defrag_ratio, 1000);
	END_ENGINE(&e);
}

static void debug_caches_have_no_cpu_partial(__attribute__((unused)) void **state)
{
	struct engine_params params = plain_params(64);
	struct engine e;

	params.flags = SLAB_CONSISTENCY_CHECKS;
	e = make_engine(params);
	assert_int_equal(slub_of(&e)->cpu_partial, 0);
	assert_int_equal(slub_of(&e)->cpu_partial_slabs, 0);
	END_ENGINE(&e);
}

/* spec 4.17, last line: on 8 CPUs. */
IN_CHILD(cpu_partial_slabs)
{
	static const unsigned int slabs[][2] = {
		{ 8, 1 },   { 64, 4 },	 { 96, 6 },   { 192, 12 }, { 256, 4 },
		{ 512, 4 }, { 1024, 2 }, { 2048, 3 }, { 4096, 2 }, { 8192, 3 },
	};
	size_t i;

	slub_machine(8, 1);
	for (i = 0; i < ARRAY_SIZE(slabs); i++) {
		struct engine e = make_plain(slabs[i][0]);

		CHILD_CHECK(slub_of(&e)->cpu_partial_slabs == slabs[i][1]);
	}
}

static void too_large(__attribute__((unused)) void **state)
{
	struct engine_params params = plain_params((4u << 20) + 1);
	struct engine e;

	assert_int_equal(slub_ops.init(&e, &params), -E2BIG);
	params.pack = true;
	assert_int_equal(slub_ops.init(&e, &params), -E2BIG);
}

static void stats_add_up(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(1024); /* 16 in 16 KiB */
	struct engine_stats stats;
	void *objs[40];

	assert_int_equal(slub_refill(&e, objs, 40, 0, -1), 40);
	slub_ops.stats(&e, &stats);
	assert_int_equal(stats.nr_slabs, 3);
	assert_int_equal(stats.nr_partial, 1);
	assert_int_equal(stats.total_objects, 48);
	assert_int_equal(stats.free_objects, 8);
	assert_int_equal(stats.slab_bytes, 3 * 16384);
	slub_flush(&e, objs, 40);
	END_ENGINE(&e);
}

/* Spec 14 vector 16: after the end the page allocator has everything back. */
static void destroy_gives_all_pages_back(__attribute__((unused)) void **state)
{
	unsigned long pages = arena_pages_out();
	static void *objs[1000];
	struct engine e;

	e = make_plain(192);
	assert_int_equal(slub_refill(&e, objs, 1000, 0, -1), 1000);
	assert_int_equal(slub_ops.destroy(&e), 1000);
	slub_check(&e);
	slub_flush(&e, objs, 999);
	assert_int_equal(slub_ops.destroy(&e), 1); /* and it goes on working */
	assert_int_equal(slub_refill(&e, objs, 1, 0, -1), 1);
	slub_flush(&e, objs, 1);
	free_one(&e, objs[999]);
	END_ENGINE(&e);
	assert_int_equal(arena_pages_out(), pages);
}

/* Every object is aligned, lies in its slab alone, and can be written to its last byte. */
static void objects_are_apart(__attribute__((unused)) void **state)
{
	static const unsigned int sizes[][2] = { { 1, 8 },	 { 8, 8 },     { 24, 8 },
						 { 96, 32 },	 { 100, 64 },  { 700, 8 },
						 { 4096, 4096 }, { 9000, 16 }, { 70000, 8 } };
	unsigned int mode;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (mode = 0; mode < 8; mode++) {
			struct engine_params params = plain_params(sizes[i][0]);
			unsigned char *objs[90];
			struct engine e;
			unsigned int n = 0;

			params.align = sizes[i][1];
			params.pack = mode & 1;
			params.hardened = mode & 2;
			params.randomised = mode & 4;
			e = make_engine(params);
			while (n < 90)
				n += slub_refill(&e, (void **)objs + n, MIN(90 - n, 7u), 0, -1);
			assert_apart(objs, 90, &params);
			slub_flush(&e, (void **)objs, 90);
			END_ENGINE(&e);
		}
	}
}

/* ---- threads ---- */

#define SLOTS 256
#define ROUNDS 4000

static struct engine shared;
static void *slots[SLOTS]; /* an object or NULL; taken and put by atomic exchange */
static unsigned int cpu_partial_rounds;

/* Frees objects that others allocated, in chunks, or one by one into frozen slabs. */
static void free_some(void **objs, unsigned int n, unsigned int round)
{
	unsigned int i;

	if (round % 8) {
		slub_flush(&shared, objs, n);
		return;
	}
	for (i = 0; i < n; i++) {
		struct page *slab = page_head_of(objs[i]);

		if (slub_free_chain(&shared, slab, objs[i], objs[i], 1, true)) {
			slab->next = NULL;
			slub_cpu_unfreeze_partials(&shared, slab);
			__atomic_fetch_add(&cpu_partial_rounds, 1, __ATOMIC_RELAXED);
		}
	}
}

/* Takes a CPU slab now and then, uses some of it, and gives it back. */
static unsigned int own_a_slab(void **objs, unsigned int want)
{
	struct page *partials = NULL;
	void *freelist;
	struct page *slab = slub_cpu_get_partial(&shared, -1, 0, &freelist, &partials);
	unsigned int n = 0;

	if (!slab)
		return 0;
	while (n < want && freelist) {
		objs[n++] = freelist;
		freelist = freeptr_get(slub_of(&shared), slab->layout, freelist);
	}
	slub_cpu_deactivate(&shared, slab, freelist);
	slub_cpu_unfreeze_partials(&shared, partials);
	return n;
}

static void *work(void *arg)
{
	unsigned int seed = *(unsigned int *)arg;
	unsigned int round;

	for (round = 0; round < ROUNDS; round++) {
		void *objs[32];
		unsigned int want = 1 + rand_r(&seed) % 31;
		unsigned int n = 0;
		unsigned int i;

		if (round % 5 == 0)
			n = own_a_slab(objs, want);
		while (n < want)
			n += slub_refill(&shared, objs + n, want - n, 0, -1);
		for (i = 0; i < n; i++) {
			*(unsigned long *)objs[i] = (unsigned long)objs[i];
			objs[i] = __atomic_exchange_n(&slots[rand_r(&seed) % SLOTS], objs[i],
						      __ATOMIC_ACQ_REL);
		}
		for (i = 0, want = 0; i < n; i++) {
			if (!objs[i])
				continue;
			if (*(unsigned long *)objs[i] != (unsigned long)objs[i])
				abort(); /* somebody else has it too */
			*(unsigned long *)objs[i] = 0;
			objs[want++] = objs[i];
		}
		free_some(objs, want, round);
		if (round % 64 == 0)
			slub_shrink(&shared);
	}
	return NULL;
}

static void stress(struct engine_params params)
{
	unsigned int seeds[4] = { 1, 2, 3, 4 };
	pthread_t threads[4];
	unsigned int i;

	params.object_size = 256;
	shared = make_engine(params);
	slub_of(&shared)->min_partial = 1; /* slabs come and go */
	for (i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, &seeds[i]), 0);
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	slub_check(&shared);
	for (i = 0; i < SLOTS; i++) {
		if (slots[i])
			free_one(&shared, slots[i]);
		slots[i] = NULL;
	}
	assert_int_equal(events[ALLOC_SLAB] - events[FREE_SLAB], nr_slabs(&shared));
	assert_true(events[FREE_SLAB] > 0);
	END_ENGINE(&shared);
}

static void threads_plain(__attribute__((unused)) void **state)
{
	stress(plain_params(256));
	assert_true(cpu_partial_rounds > 0);
}

static void threads_pack(__attribute__((unused)) void **state)
{
	struct engine_params params = plain_params(256);

	params.pack = true;
	stress(params);
}

static void threads_hardened(__attribute__((unused)) void **state)
{
	struct engine_params params = plain_params(256);

	params.hardened = true;
	params.randomised = true;
	stress(params);
}

/* A child that was forked while the locks were held can use them. */
static void fork_leaves_usable_locks(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	void *objs[100];

	assert_int_equal(slub_refill(&e, objs, 100, 0, -1), 100);
	assert_survives_fork(&e, &slub_of(&e)->node[0]->list_lock, objs, 100);
	END_ENGINE(&e);
}

int main(void)
{
	const struct CMUnitTest before_there_is_an_arena[] = {
		cmocka_unit_test(cpu_partial_slabs),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(init_fills_in_the_engine),
		cmocka_unit_test(debug_caches_have_no_cpu_partial),
		cmocka_unit_test(too_large),
		cmocka_unit_test(stats_add_up),
		cmocka_unit_test(destroy_gives_all_pages_back),
		cmocka_unit_test(objects_are_apart),
		cmocka_unit_test(threads_plain),
		cmocka_unit_test(threads_pack),
		cmocka_unit_test(threads_hardened),
		cmocka_unit_test(fork_leaves_usable_locks),
	};
	int failed = cmocka_run_group_tests(before_there_is_an_arena, NULL, NULL);

	return failed + cmocka_run_group_tests(tests, slub_group_setup, NULL);
}
