/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slub/order_test.c - orders, min_partial, cpu_partial: the tables of spec 4.17
 */
#include "fixture.h"

static const unsigned int table_cpus[] = { 1, 2, 4, 8, 16, 64 };

static const struct {
	unsigned int size;
	struct {
		unsigned int order;
		unsigned int objects;
	} by_cpus[ARRAY_SIZE(table_cpus)];
	unsigned int cpu_partial;
	unsigned long min_partial;
} table[] = {
	{ 8, { { 0, 512 }, { 0, 512 }, { 0, 512 }, { 0, 512 }, { 0, 512 }, { 0, 512 } }, 120, 5 },
	{ 64, { { 0, 64 }, { 0, 64 }, { 0, 64 }, { 0, 64 }, { 0, 64 }, { 0, 64 } }, 120, 5 },
	{ 96, { { 0, 42 }, { 0, 42 }, { 0, 42 }, { 0, 42 }, { 0, 42 }, { 0, 42 } }, 120, 5 },
	{ 192, { { 0, 21 }, { 0, 21 }, { 0, 21 }, { 0, 21 }, { 1, 42 }, { 1, 42 } }, 120, 5 },
	{ 256, { { 0, 16 }, { 0, 16 }, { 0, 16 }, { 1, 32 }, { 1, 32 }, { 1, 32 } }, 52, 5 },
	{ 320, { { 0, 12 }, { 0, 12 }, { 1, 25 }, { 1, 25 }, { 1, 25 }, { 2, 51 } }, 52, 5 },
	{ 384, { { 0, 10 }, { 1, 21 }, { 1, 21 }, { 1, 21 }, { 2, 42 }, { 2, 42 } }, 52, 5 },
	{ 512, { { 0, 8 }, { 1, 16 }, { 1, 16 }, { 2, 32 }, { 2, 32 }, { 2, 32 } }, 52, 5 },
	{ 640, { { 1, 12 }, { 1, 12 }, { 2, 25 }, { 2, 25 }, { 2, 25 }, { 3, 51 } }, 52, 5 },
	{ 704, { { 1, 11 }, { 2, 23 }, { 2, 23 }, { 2, 23 }, { 3, 46 }, { 3, 46 } }, 52, 5 },
	{ 832, { { 2, 19 }, { 2, 19 }, { 2, 19 }, { 3, 39 }, { 3, 39 }, { 3, 39 } }, 52, 5 },
	{ 1024, { { 1, 8 }, { 2, 16 }, { 2, 16 }, { 3, 32 }, { 3, 32 }, { 3, 32 } }, 24, 5 },
	{ 1088, { { 2, 15 }, { 2, 15 }, { 3, 30 }, { 3, 30 }, { 3, 30 }, { 3, 30 } }, 24, 5 },
	{ 1760, { { 2, 9 }, { 3, 18 }, { 3, 18 }, { 3, 18 }, { 3, 18 }, { 3, 18 } }, 24, 5 },
	{ 2048, { { 2, 8 }, { 3, 16 }, { 3, 16 }, { 3, 16 }, { 3, 16 }, { 3, 16 } }, 24, 5 },
	{ 2112, { { 3, 15 }, { 3, 15 }, { 3, 15 }, { 3, 15 }, { 3, 15 }, { 3, 15 } }, 24, 5 },
	{ 4096, { { 3, 8 }, { 3, 8 }, { 3, 8 }, { 3, 8 }, { 3, 8 }, { 3, 8 } }, 6, 6 },
	{ 8192, { { 3, 4 }, { 3, 4 }, { 3, 4 }, { 3, 4 }, { 3, 4 }, { 3, 4 } }, 6, 6 },
	{ 16384, { { 3, 2 }, { 3, 2 }, { 3, 2 }, { 3, 2 }, { 3, 2 }, { 3, 2 } }, 6, 7 },
	{ 40000, { { 4, 1 }, { 4, 1 }, { 4, 1 }, { 4, 1 }, { 4, 1 }, { 4, 1 } }, 6, 7 },
};

static void orders_are_the_kernels(__attribute__((unused)) void **state)
{
	unsigned int c;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		for (c = 0; c < ARRAY_SIZE(table_cpus); c++) {
			int order = slub_calculate_order(table[i].size, table_cpus[c], 0, 3, 0);

			assert_int_equal(order, table[i].by_cpus[c].order);
			assert_int_equal((PAGE_SIZE << order) / table[i].size,
					 table[i].by_cpus[c].objects);
		}
		assert_int_equal(slub_cpu_partial(table[i].size), table[i].cpu_partial);
		assert_int_equal(slub_min_partial(table[i].size), table[i].min_partial);
	}
}

/* What a running 2-CPU kernel shows (spec 4.17, live values). */
static void orders_are_those_of_a_live_kernel(__attribute__((unused)) void **state)
{
	static const unsigned int live[][3] = {
		{ 312, 0, 13 },	 { 344, 1, 23 },  { 624, 1, 13 }, { 632, 2, 25 }, { 688, 2, 23 },
		{ 1016, 2, 16 }, { 1472, 3, 22 }, { 4232, 3, 7 }, { 5888, 3, 5 }, { 51472, 4, 1 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(live); i++) {
		int order = slub_calculate_order(live[i][0], 2, 0, 3, 0);

		assert_int_equal(order, live[i][1]);
		assert_int_equal((PAGE_SIZE << order) / live[i][0], live[i][2]);
	}
}

static void min_partial_grows_with_the_object(__attribute__((unused)) void **state)
{
	assert_int_equal(slub_min_partial(4095), 5);
	assert_int_equal(slub_min_partial(4096), 6);
	assert_int_equal(slub_min_partial(16383), 6);
	assert_int_equal(slub_min_partial(16384), 7);
	assert_int_equal(slub_min_partial(65536), 8);
	assert_int_equal(slub_min_partial(4u << 20), 10);
}

static void cpu_partial_has_four_steps(__attribute__((unused)) void **state)
{
	static const unsigned int steps[][2] = { { 255, 120 }, { 256, 52 },  { 1023, 52 },
						 { 1024, 24 }, { 4095, 24 }, { 4096, 6 } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(steps); i++)
		assert_int_equal(slub_cpu_partial(steps[i][0]), steps[i][1]);
}

static void extremes(__attribute__((unused)) void **state)
{
	/* One object of the largest slab, and one that no slab holds. */
	assert_int_equal(slub_calculate_order(4u << 20, 2, 0, 3, 0), 10);
	assert_int_equal(slub_calculate_order((4u << 20) + 1, 2, 0, 3, 0), -E2BIG);
	/* At most 32767 objects, whatever minimum order the knobs ask for. */
	assert_int_equal(slub_calculate_order(8, 2, 8, 9, 0), get_order(8ul * 32767) - 1);
	/* slab_min_objects replaces the formula by CPUs. */
	assert_int_equal(slub_calculate_order(256, 64, 0, 3, 8), 0);
	assert_int_equal(slub_calculate_order(256, 1, 0, 3, 64), 2);
	/* slab_min_order holds for the small, slab_max_order for all. */
	assert_int_equal(slub_calculate_order(64, 2, 2, 3, 0), 2);
	assert_int_equal(slub_calculate_order(2048, 64, 0, 0, 0), 0);
}

static void knobs_are_checked_and_used(__attribute__((unused)) void **state)
{
	assert_int_equal(slub_set_orders(4, 3, 0), -EINVAL);
	assert_int_equal(slub_set_orders(0, 11, 0), -EINVAL);
	assert_int_equal(slub_set_orders(0, 3, 32768), -EINVAL);
	assert_int_equal(slub_default_order(1024), 2); /* a refused knob changed nothing */
	assert_int_equal(slub_set_orders(0, 1, 0), 0);
	assert_int_equal(slub_default_order(1024), 1);
	assert_int_equal(slub_set_orders(0, 3, 0), 0);
	assert_int_equal(slub_default_order(1024), 2);
}

static unsigned int pack_max_order(unsigned int size)
{
	return size > 8192 ? 5 : size > 4096 ? 4 : 3;
}

/* 4 objects and at most 1/32 of waste. */
static bool pack_good(unsigned int size, unsigned int order)
{
	unsigned long bytes = PAGE_SIZE << order;

	return bytes / size >= 4 && bytes % size <= bytes / 32;
}

/* Pack caches: the smallest good slab there is; where none is, never beyond the highest order. */
static void pack_orders(__attribute__((unused)) void **state)
{
	static const unsigned int known[][2] = {
		{ 8, 0 },    { 64, 0 },	  { 1024, 0 },	{ 1025, 3 },  { 2048, 1 },  { 4096, 2 },
		{ 4368, 4 }, { 8192, 3 }, { 16384, 4 }, { 32768, 5 }, { 40000, 5 },
	};
	unsigned int size;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		assert_int_equal(slub_pack_order(known[i][0]), known[i][1]);

	for (size = 8; size <= 32768; size += 8) {
		unsigned int order = (unsigned int)slub_pack_order(size);
		unsigned int best = 0;

		while (best <= pack_max_order(size) && !pack_good(size, best))
			best++;
		if (best <= pack_max_order(size))
			assert_int_equal(order, best);
		assert_true(order <= pack_max_order(size));
		assert_true((PAGE_SIZE << order) / size >= (size <= 8192 ? 3u : 2u));
	}
	assert_int_equal(slub_pack_order(4u << 20), 10);
	assert_int_equal(slub_pack_order((4u << 20) + 1), -E2BIG);
}

static void pack_caches_keep_little(__attribute__((unused)) void **state)
{
	unsigned int order;

	for (order = 0; order <= 10; order++)
		assert_true((PAGE_SIZE << order) * slub_pack_min_partial(order) <= 16384);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orders_are_the_kernels),
		cmocka_unit_test(orders_are_those_of_a_live_kernel),
		cmocka_unit_test(min_partial_grows_with_the_object),
		cmocka_unit_test(cpu_partial_has_four_steps),
		cmocka_unit_test(extremes),
		cmocka_unit_test(knobs_are_checked_and_used),
		cmocka_unit_test(pack_orders),
		cmocka_unit_test(pack_caches_keep_little),
	};

	return cmocka_run_group_tests(tests, slub_group_setup, NULL);
}
