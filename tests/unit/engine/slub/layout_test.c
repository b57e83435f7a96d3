/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slub/layout_test.c - where the free pointer lies: the vectors of spec 4.4
 */
#include "fixture.h"

static void sizes(__attribute__((unused)) void **state)
{
	static const struct {
		unsigned int object_size;
		unsigned int align;
		slab_flags_t flags;
		bool has_ctor;
		unsigned int inuse;
		unsigned int offset;
		unsigned int stride;
	} vectors[] = {
		{ 64, 8, 0, false, 64, 32, 64 },
		{ 20, 8, 0, false, 24, 8, 24 },
		{ 4, 8, 0, false, 8, 0, 8 },
		{ 1, 8, 0, false, 8, 0, 8 },
		{ 64, 8, 0, true, 64, 64, 72 },
		{ 64, 8, SLAB_TYPESAFE_BY_RCU, false, 64, 64, 72 },
		{ 17, 8, 0, true, 24, 24, 32 },
		{ 60, 64, SLAB_HWCACHE_ALIGN, false, 64, 24, 64 },
		{ 65, 64, SLAB_HWCACHE_ALIGN, false, 72, 32, 128 },
		{ 4096, 4096, 0, false, 4096, 2048, 4096 },
		{ 4096, 4096, 0, true, 4096, 4096, 8192 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(vectors); i++) {
		struct slab_layout layout;

		memset(&layout, 0xff, sizeof(layout));
		slub_layout_sizes(&layout, vectors[i].object_size, vectors[i].align,
				  vectors[i].flags, vectors[i].has_ctor);
		assert_int_equal(layout.object_size, vectors[i].object_size);
		assert_int_equal(layout.inuse, vectors[i].inuse);
		assert_int_equal(layout.offset, vectors[i].offset);
		assert_int_equal(layout.stride, vectors[i].stride);
		assert_int_equal(layout.red_left_pad, 0);
	}
}

static void orders_and_the_fallback(__attribute__((unused)) void **state)
{
	struct slab_layout layout;

	slub_layout_sizes(&layout, 1024, 8, 0, false);
	assert_int_equal(slub_layout_orders(&layout, false), 0);
	assert_int_equal(layout.order, 2); /* 2 CPUs */
	assert_int_equal(layout.objects, 16);
	assert_int_equal(layout.min_order, 0);
	assert_int_equal(layout.min_objects, 4);

	assert_int_equal(slub_layout_orders(&layout, true), 0);
	assert_int_equal(layout.order, 0);
	assert_int_equal(layout.objects, 4);

	slub_layout_sizes(&layout, 5 << 20, 8, 0, false);
	assert_int_equal(slub_layout_orders(&layout, false), -E2BIG);
	assert_int_equal(slub_layout_orders(&layout, true), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
		cmocka_unit_test(orders_and_the_fallback),
	};

	return cmocka_run_group_tests(tests, slub_group_setup, NULL);
}
