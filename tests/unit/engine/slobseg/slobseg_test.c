/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slobseg/slobseg_test.c - the engine of caches with lists of their own, by its table
 */
#include <sys/wait.h>

#include "fixture.h"
#include "manual_rcu.h"

static void init_fills_in_the_engine(UNUSED_STATE)
{
	struct engine_params params = {
		.name = "numbers",
		.object_size = 100,
		.align = 64,
		.flags = SLAB_RECLAIM_ACCOUNT | SLAB_HWCACHE_ALIGN,
		.id = 200,
		.page_class = 9,
		.pack = true,
	};
	struct engine e;

	make_with(&e, &slobseg_ops, params);
	assert_ptr_equal(e.ops, &slobseg_ops);
	assert_has_params(&e, &params);
	assert_int_equal(e.size, 128);
	assert_true(e.pack);
	assert_int_equal(e.layout->stride, 128);
	assert_int_equal(e.layout->object_size, 100);
	assert_int_equal(e.layout->inuse, 104);
	assert_int_equal(e.layout->offset, 0);
	assert_int_equal(e.layout->order, 0);
	assert_int_equal(e.layout->objects, 32);
	END_ENGINE(&e);
}

/* ALIGN(ALIGN(size, word), align), at least a pointer; order 0 below a page. */
static void strides(UNUSED_STATE)
{
	static const unsigned int cases[][5] = {
		/* size, align, stride, order, objects */
		{ 1, 8, 8, 0, 512 },	 { 8, 8, 8, 0, 512 },	     { 9, 8, 16, 0, 256 },
		{ 20, 32, 32, 0, 128 },	 { 96, 8, 96, 0, 42 },	     { 192, 8, 192, 0, 21 },
		{ 100, 8, 104, 0, 39 },	 { 1000, 64, 1024, 0, 4 },   { 700, 8, 704, 0, 5 },
		{ 2048, 8, 2048, 0, 2 }, { 2049, 8, 2056, 0, 1 },    { 64, 4096, 4096, 0, 1 },
		{ 4090, 8, 4096, 0, 1 }, { 8192, 4096, 8192, 1, 1 }, { 9000, 8, 9000, 2, 1 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct engine_params params = plain_params(cases[i][0]);
		struct engine e;

		params.align = cases[i][1];
		make_with(&e, &slobseg_ops, params);
		assert_int_equal(e.size, cases[i][2]);
		assert_int_equal(e.layout->stride, cases[i][2]);
		assert_int_equal(e.layout->order, cases[i][3]);
		assert_int_equal(e.layout->objects, cases[i][4]);
		END_ENGINE(&e);
	}
}

static void too_large(UNUSED_STATE)
{
	struct engine_params params = plain_params((4u << 20) + 1);
	struct engine e;

	assert_int_equal(slobseg_ops.init(&e, &params), -E2BIG);
	assert_int_equal(slobseg_pow2_ops.init(&e, &params), -E2BIG);
}

/* Every object is aligned, and can be written from its first byte to its last (vector 17). */
static void objects_are_apart(UNUSED_STATE)
{
	static const unsigned int sizes[][2] = { { 1, 8 },	 { 8, 8 },     { 24, 8 },
						 { 96, 32 },	 { 100, 64 },  { 700, 8 },
						 { 4096, 4096 }, { 9000, 16 }, { 70000, 8 } };
	size_t i;

	for (i = 0; i < 2 * ARRAY_SIZE(sizes); i++) {
		const struct engine_ops *ops = i % 2 ? &slobseg_pow2_ops : &slobseg_ops;
		unsigned int size = sizes[i / 2][0];
		struct engine_params params = plain_params(size);
		unsigned char *objs[90];
		struct engine e;
		unsigned int k;

		params.align = sizes[i / 2][1];
		make_with(&e, ops, params);
		for (k = 0; k < 90; k += 9)
			assert_int_equal(ops->refill(&e, (void **)objs + k, 9, 0, -1), 9);
		assert_apart(objs, 90, &params);
		ops->flush(&e, (void **)objs, 90);
		END_ENGINE(&e);
	}
}

static unsigned int constructed;

static void ctor(void *obj)
{
	constructed++;
	memset(obj, 0x77, 8);
}

static void constructor_per_allocation(UNUSED_STATE)
{
	static const unsigned int sizes[] = { 64, 10000 };
	unsigned int i;

	for (i = 0; i < 4; i++) {
		struct engine_params params = plain_params(sizes[i / 2]);
		unsigned int k;
		struct engine e;
		void *objs[3];

		params.ctor = ctor;
		make_with(&e, i % 2 ? &slobseg_pow2_ops : &slobseg_ops, params);
		constructed = 0;
		assert_int_equal(e.ops->refill(&e, objs, 3, 0, -1), 3);
		assert_int_equal(constructed, 3);
		memset(objs[1], 0, 8);
		free_one(&e, objs[1]);
		objs[1] = take(&e);
		assert_int_equal(constructed, 4);
		for (k = 0; k < 3; k++)
			assert_memory_equal(objs[k], "\x77\x77\x77\x77\x77\x77\x77\x77", 8);
		e.ops->flush(&e, objs, 3);
		assert_int_equal(constructed, 4);
		END_ENGINE(&e);
	}
}

/*
 * spec 11.4d: what a free object of such a cache holds stays, also when its grace period is over,
 * and 24 bytes are for a footer.
 */
static void rcu_caches_keep_content(UNUSED_STATE)
{
	struct engine_params params = plain_params(60);
	unsigned int i;

	params.flags = SLAB_TYPESAFE_BY_RCU;
	rcu_bind_at_once();
	for (i = 0; i < 2; i++) {
		unsigned char expected[60];
		struct engine e;
		void *keep;
		void *obj;

		make_with(&e, i ? &slobseg_pow2_ops : &slobseg_ops, params);
		assert_int_equal(e.size, i ? 128 : 88);
		assert_int_equal(e.layout->inuse, 64);
		keep = take(&e);
		obj = take(&e);
		memset(expected, 0xa7, 60);
		memset(obj, 0xa7, 60);
		free_one(&e, obj);
		assert_memory_equal(obj, expected, 60);
		os_rcu_submit();
		assert_memory_equal(obj, expected, 60);
		assert_ptr_equal(take(&e), obj);
		assert_memory_equal(obj, expected, 60);
		/* its pages are of one type, whatever the engine */
		assert_int_equal(page_head_of(obj)->type, PAGE_SLAB);
		e.ops->flush(&e, (void *[]){ obj, keep }, 2);
		os_rcu_submit();
		END_ENGINE(&e);
	}
}

static void stats_add_up(UNUSED_STATE)
{
	struct engine_stats stats;
	struct engine e;
	void *objs[40];

	make(&e, &slobseg_ops, 300); /* stride 304, 13 to the page */
	assert_int_equal(e.ops->refill(&e, objs, 40, 0, -1), 40);
	stats = stats_of(&e);
	assert_int_equal(stats.nr_slabs, 4);
	assert_int_equal(stats.nr_partial, 1);
	assert_int_equal(stats.total_objects, 52);
	assert_int_equal(stats.free_objects, 12);
	assert_int_equal(stats.slab_bytes, 4 * PAGE_SIZE);
	free_one(&e, objs[0]);
	stats = stats_of(&e);
	assert_int_equal(stats.nr_partial, 2);
	assert_int_equal(stats.free_objects, 13);
	e.ops->flush(&e, objs + 1, 39);
	stats = stats_of(&e);
	assert_int_equal(stats.nr_slabs + stats.nr_partial + stats.total_objects +
				 stats.free_objects + stats.slab_bytes,
			 0);
	END_ENGINE(&e);
}

static void live_objects_keep_the_cache(UNUSED_STATE)
{
	unsigned long before = arena_pages_out();
	struct engine e;
	void *objs[100];

	make(&e, &slobseg_ops, 192);
	assert_int_equal(e.ops->shrink(&e), 0);
	assert_int_equal(e.ops->refill(&e, objs, 100, 0, -1), 100);
	assert_int_equal(e.ops->shrink(&e), 1);
	assert_int_equal(e.ops->destroy(&e), 100);
	e.ops->flush(&e, objs + 1, 99);
	assert_int_equal(e.ops->destroy(&e), 1);
	objs[1] = take(&e); /* it goes on working */
	e.ops->flush(&e, objs, 2);
	assert_int_equal(e.ops->shrink(&e), 0);
	END_ENGINE(&e);
	assert_int_equal(arena_pages_out(), before);
}

/* A child that was forked while the lock was held can use it. */
static void fork_leaves_usable_locks(UNUSED_STATE)
{
	struct engine e;
	void *objs[100];

	make(&e, &slobseg_ops, 64);
	assert_int_equal(e.ops->refill(&e, objs, 100, 0, -1), 100);
	assert_survives_fork(&e, &slobseg_of(&e)->lock, objs, 100);
	END_ENGINE(&e);
}

static void the_table(UNUSED_STATE)
{
	assert_string_equal(slobseg_ops.name, "slobseg");
	assert_string_equal(slobseg_ops.front, "none");
	assert_null(slobseg_ops.heap);
	assert_int_equal(slobseg_ops.kmalloc_min, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(init_fills_in_the_engine),
		cmocka_unit_test(strides),
		cmocka_unit_test(too_large),
		cmocka_unit_test(objects_are_apart),
		cmocka_unit_test(constructor_per_allocation),
		cmocka_unit_test(rcu_caches_keep_content),
		cmocka_unit_test(stats_add_up),
		cmocka_unit_test(live_objects_keep_the_cache),
		cmocka_unit_test(fork_leaves_usable_locks),
		cmocka_unit_test(the_table),
	};

	return cmocka_run_group_tests(tests, slobseg_group_setup, NULL);
}
