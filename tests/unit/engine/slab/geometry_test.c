/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slab/geometry_test.c - the table of spec 3.12, and the rules behind it
 */
#include "fixture.h"

#define ON SLAB_INDEX_ON
#define OFF SLAB_INDEX_OFF
#define OBJ SLAB_INDEX_OBJECT

struct row {
	enum slab_placement placement;
	unsigned int order;
	unsigned int num;
	unsigned int left_over;
	unsigned int colour;
};

/* clang-format off */
static const struct {
	unsigned int size;
	struct row plain;
	struct row keeps; /* with a constructor, or SLAB_TYPESAFE_BY_RCU */
	unsigned int batchcount;
} table[] = {
	{   16, { ON,  0, 240,   16,  0 }, { ON,  0, 240,   16,  0 }, 60 },
	{   24, { ON,  0, 163,   21,  0 }, { ON,  0, 163,   21,  0 }, 60 },
	{   32, { ON,  0, 124,    4,  0 }, { ON,  0, 124,    4,  0 }, 60 },
	{   56, { ON,  0,  71,   49,  0 }, { ON,  0,  71,   49,  0 }, 60 },
	{   64, { OBJ, 0,  64,    0,  0 }, { ON,  0,  63,    1,  0 }, 60 },
	{   72, { OBJ, 0,  56,   64,  1 }, { ON,  0,  56,    8,  0 }, 60 },
	{  128, { OBJ, 0,  32,    0,  0 }, { OFF, 0,  32,    0,  0 }, 60 },
	{  192, { OBJ, 0,  21,   64,  1 }, { ON,  0,  21,   43,  0 }, 60 },
	{  256, { OBJ, 0,  16,    0,  0 }, { OFF, 0,  16,    0,  0 }, 60 },
	{  320, { OBJ, 0,  12,  256,  4 }, { ON,  0,  12,  244,  3 }, 27 },
	{  512, { OBJ, 0,   8,    0,  0 }, { OFF, 0,   8,    0,  0 }, 27 },
	{  640, { OBJ, 0,   6,  256,  4 }, { ON,  0,   6,  250,  3 }, 27 },
	{ 1024, { OBJ, 0,   4,    0,  0 }, { OFF, 0,   4,    0,  0 }, 27 },
	{ 1088, { OBJ, 1,   7,  576,  9 }, { ON,  1,   7,  569,  8 }, 12 },
	{ 1536, { OBJ, 1,   5,  512,  8 }, { ON,  1,   5,  507,  7 }, 12 },
	{ 2048, { OBJ, 0,   2,    0,  0 }, { OFF, 0,   2,    0,  0 }, 12 },
	{ 2112, { OBJ, 1,   3, 1856, 29 }, { ON,  1,   3, 1853, 28 }, 12 },
	{ 4096, { OBJ, 0,   1,    0,  0 }, { OFF, 0,   1,    0,  0 }, 12 },
	{ 5120, { OBJ, 1,   1, 3072, 48 }, { ON,  1,   1, 3071, 47 },  4 },
	{ 8192, { OBJ, 1,   1,    0,  0 }, { OFF, 1,   1,    0,  0 },  4 },
};
/* clang-format on */

static struct slab_geometry geometry(unsigned int size, unsigned int align, slab_flags_t flags,
				     bool has_ctor, unsigned int max_order)
{
	struct slab_geometry g;

	assert_int_equal(slab_geometry(&g, size, align, flags, has_ctor, max_order), 0);
	return g;
}

static void is_row(const struct row *row, unsigned int size, slab_flags_t flags, bool has_ctor)
{
	struct slab_geometry g = geometry(size, 8, flags, has_ctor, 1);

	assert_int_equal(g.size, size);
	assert_int_equal(g.placement, row->placement);
	assert_int_equal(g.order, row->order);
	assert_int_equal(g.num, row->num);
	assert_int_equal(g.left_over, row->left_over);
	assert_int_equal(g.colour, row->colour);
	assert_int_equal(g.colour_off, 64);
}

static void the_table(__attribute__((unused)) void **state)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		is_row(&table[i].plain, table[i].size, 0, false);
		is_row(&table[i].keeps, table[i].size, 0, true);
		is_row(&table[i].keeps, table[i].size, SLAB_TYPESAFE_BY_RCU, false);
		assert_int_equal(slab_batchcount(table[i].size), table[i].batchcount);
	}
}

static void batchcount_has_five_steps(__attribute__((unused)) void **state)
{
	static const unsigned int steps[][2] = {
		{ 16, 60 },   { 256, 60 }, { 257, 27 },	  { 1024, 27 },	 { 1025, 12 },
		{ 4096, 12 }, { 4097, 4 }, { 131072, 4 }, { 131073, 1 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(steps); i++)
		assert_int_equal(slab_batchcount(steps[i][0]), steps[i][1]);
	assert_int_equal(slab_free_limit(64, 2, 60), 3 * 60 + 64);
	assert_int_equal(slab_free_limit(1, 0, 4), 5); /* a node without CPUs */
}

/*
 * kmalloc's caches are aligned to cache lines, half of one where the object is that small; none
 * has an array of its own, so none is refused to hold one.
 */
static void kmalloc_caches(__attribute__((unused)) void **state)
{
	static const unsigned int caches[][4] = {
		/* size, align, stride, objects */
		{ 32, 32, 32, 124 },	 { 64, 64, 64, 64 },   { 96, 64, 128, 32 },
		{ 128, 128, 128, 32 },	 { 192, 64, 192, 21 }, { 256, 256, 256, 16 },
		{ 8192, 8192, 8192, 1 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(caches); i++) {
		struct slab_geometry g =
			geometry(caches[i][0], caches[i][1], SLAB_HWCACHE_ALIGN, false, 1);

		assert_int_equal(g.size, caches[i][2]);
		assert_int_equal(g.num, caches[i][3]);
		assert_int_not_equal(g.placement, OFF);
	}
}

static void max_order_is_a_parameter(__attribute__((unused)) void **state)
{
	struct slab_geometry g = geometry(1088, 8, 0, false, 0); /* at most 32 MB of memory */

	assert_int_equal(g.order, 0);
	assert_int_equal(g.num, 3);
	assert_int_equal(g.left_over, 832);
	assert_int_equal(g.colour, 13);
	/* Where one object does not fit, the order rises whatever the limit says. */
	assert_int_equal(geometry(5120, 8, 0, false, 0).order, 1);
	assert_int_equal(geometry(20000, 8, 0, false, 1).order, 3);
	/* And no further than the waste asks for: 1088 wastes 1/14 of a page at order 1. */
	assert_int_equal(geometry(1088, 8, 0, false, 5).order, 1);
	assert_int_equal(geometry(2112, 8, 0, false, 5).order, 2); /* 7 of them waste 1600 */
	assert_int_equal(geometry(2112, 8, 0, false, 5).num, 7);
}

static void reclaimable_caches_take_the_first_order(__attribute__((unused)) void **state)
{
	assert_int_equal(geometry(1088, 8, SLAB_RECLAIM_ACCOUNT, false, 1).order, 0);
	assert_int_equal(geometry(2112, 8, SLAB_RECLAIM_ACCOUNT, false, 1).num, 1);
}

/* The waste is small enough at exactly 1/8. */
static void an_eighth_may_be_lost(__attribute__((unused)) void **state)
{
	struct slab_geometry g = geometry(1192, 8, 0, false, 1); /* 3 * 1192 + 520 */

	assert_int_equal(g.order, 1);
	g = geometry(3584, 8, 0, false, 1); /* 3584 + 512 */
	assert_int_equal(g.order, 0);
	g = geometry(3576, 8, 0, false, 1);
	assert_int_equal(g.order, 1);
}

static void without_leak_tracing_never_off_slab(__attribute__((unused)) void **state)
{
	struct slab_geometry g = geometry(128, 8, SLAB_NOLEAKTRACE, true, 1);

	assert_int_equal(g.placement, ON);
	assert_int_equal(g.num, 31); /* of 129 bytes */
	assert_int_equal(g.left_over, 97);
	assert_int_equal(g.colour, 1);
}

/*
 * An array of its own must not be larger than half an object, by the kmalloc cache that holds it.
 */
static void off_slab_needs_large_objects(__attribute__((unused)) void **state)
{
	struct slab_geometry g = geometry(120, 8, SLAB_TYPESAFE_BY_RCU, false, 1);

	/* 34 bytes for 34 objects would be a kmalloc-64. */
	assert_int_equal(g.placement, ON);
	assert_int_equal(g.num, 33);
	assert_int_equal(g.left_over, 103);
	g = geometry(128, 8, SLAB_TYPESAFE_BY_RCU, false, 1); /* 32: a kmalloc-32 */
	assert_int_equal(g.placement, OFF);
	assert_int_equal(g.num, 32);
}

static void small_objects_are_made_larger(__attribute__((unused)) void **state)
{
	unsigned int size;

	for (size = 1; size <= 16; size++)
		assert_int_equal(geometry(size, 8, 0, false, 1).size, 16);
	assert_int_equal(geometry(17, 8, 0, false, 1).size, 24);
	assert_int_equal(geometry(4, 32, 0, false, 1).size, 32);
	assert_int_equal(geometry(20, 1, 0, false, 1).size, 24); /* words at least */
}

static void colours_keep_the_alignment(__attribute__((unused)) void **state)
{
	struct slab_geometry g = geometry(300, 128, 0, false, 1);

	assert_int_equal(g.size, 384);
	assert_int_equal(g.colour_off, 128);
	assert_int_equal(g.colour, 2); /* 10 * 384 + 256 */
	assert_int_equal(geometry(300, 8, 0, false, 1).colour_off, 64);
}

static void extremes(__attribute__((unused)) void **state)
{
	const unsigned int largest = 4u << 20;
	struct slab_geometry g;

	assert_int_equal(geometry(largest, 8, 0, false, 1).order, 10);
	assert_int_equal(geometry(largest, 8, 0, true, 1).placement, OFF);
	assert_int_equal(slab_geometry(&g, largest + 1, 8, 0, false, 1), -E2BIG);
	assert_int_equal(slab_geometry(&g, UINT32_MAX, 8, 0, false, 1), -E2BIG);
	/* No room for the array, and nowhere else to put it. */
	assert_int_equal(slab_geometry(&g, largest, 8, SLAB_NOLEAKTRACE, true, 1), -E2BIG);
}

/* Whatever the size: objects, array and rest make up the slab. */
static void every_size_adds_up(__attribute__((unused)) void **state)
{
	unsigned int size;
	unsigned int k;

	for (size = 1; size <= 20000; size++) {
		for (k = 0; k < 4; k++) {
			struct slab_geometry g = geometry(size, 8, 0, k & 1, k >> 1);
			unsigned int array = g.placement == ON ? g.num : 0;

			assert_in_range(g.num, 1, SLAB_MAX_NUM);
			assert_int_equal(g.num * g.size + array + g.left_over,
					 PAGE_SIZE << g.order);
			if (g.placement == OBJ)
				assert_true(g.num <= size && !(k & 1));
			if (g.placement == OFF)
				assert_true(g.left_over < g.num);
			if (g.order > (k >> 1)) /* one order less holds none */
				assert_true((PAGE_SIZE << (g.order - 1)) < g.size + (array != 0));
		}
	}
}

static void the_knob_is_checked_and_used(__attribute__((unused)) void **state)
{
	struct engine e;

	assert_int_equal(slab_max_order(), 1);
	assert_int_equal(slab_set_max_order(11), -EINVAL);
	assert_int_equal(slab_max_order(), 1);
	assert_int_equal(slab_set_max_order(0), 0);
	e = make_plain(1088);
	assert_int_equal(e.layout->objects, 3);
	END_ENGINE(&e);
	assert_int_equal(slab_set_max_order(1), 0);
	e = make_plain(1088);
	assert_int_equal(e.layout->objects, 7);
	END_ENGINE(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table),
		cmocka_unit_test(batchcount_has_five_steps),
		cmocka_unit_test(kmalloc_caches),
		cmocka_unit_test(max_order_is_a_parameter),
		cmocka_unit_test(reclaimable_caches_take_the_first_order),
		cmocka_unit_test(an_eighth_may_be_lost),
		cmocka_unit_test(without_leak_tracing_never_off_slab),
		cmocka_unit_test(off_slab_needs_large_objects),
		cmocka_unit_test(small_objects_are_made_larger),
		cmocka_unit_test(colours_keep_the_alignment),
		cmocka_unit_test(extremes),
		cmocka_unit_test(every_size_adds_up),
		cmocka_unit_test(the_knob_is_checked_and_used),
	};

	return cmocka_run_group_tests(tests, slab_group_setup, NULL);
}
