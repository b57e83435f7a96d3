/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/engine_test.c - what of a cache is the same with any engine
 */
#include "engines.h"

static void params_and_layout_are_kept(__attribute__((unused)) void **state)
{
	static const struct engine_ops ops = { .name = "ops" };
	struct engine_params params = plain_params(50);
	struct slab_layout layout = { .stride = 56 };
	struct engine e;
	int mine;

	params.flags = SLAB_HWCACHE_ALIGN;
	params.page_class = 3;
	params.pack = true;
	engine_init(&e, &params, &ops, &layout, &mine);
	assert_ptr_equal(e.ops, &ops);
	assert_ptr_equal(e.layout, &layout);
	assert_ptr_equal(e.state, &mine);
	assert_string_equal(e.name, "test");
	assert_int_equal(e.size, 56);
	assert_int_equal(e.object_size, 50);
	assert_int_equal(e.align, 8);
	assert_int_equal(e.id, 77);
	assert_int_equal(e.flags, SLAB_HWCACHE_ALIGN);
	assert_int_equal(e.page_class, 3);
	assert_true(e.pack && !e.ctor && !e.debug && !e.heap_objects && !e.allocflags &&
		    !e.verify_frees);
}

static void flags_for_pages(__attribute__((unused)) void **state)
{
	assert_int_equal(engine_page_flags(SLAB_HWCACHE_ALIGN | SLAB_PANIC), 0);
	assert_int_equal(engine_page_flags(SLAB_CACHE_DMA | SLAB_CACHE_DMA32),
			 __GFP_DMA | __GFP_DMA32);
	assert_int_equal(engine_page_flags(SLAB_RECLAIM_ACCOUNT), __GFP_RECLAIMABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(params_and_layout_are_kept),
		cmocka_unit_test(flags_for_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
