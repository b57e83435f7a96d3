/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slub/tune_test.c - the order of new slabs and the CPUs' partial slabs, changed in use
 */
#include <errno.h>

#include "fixture.h"

static void orders(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(256);
	struct page *first;
	struct page *second;
	void *objs[300];

	assert_int_equal(slub_refill(&e, objs, 1, GFP_KERNEL, -1), 1);
	first = page_head_of(objs[0]);
	assert_int_equal(slub_set_order(&e, 3), 0);
	assert_int_equal(e.layout->order, 3);
	assert_int_equal(e.layout->objects, 128);
	assert_int_equal(e.layout->min_order, 0);
	assert_int_equal(e.layout->min_objects, 16);
	assert_int_equal(slub_refill(&e, objs + 1, 200, GFP_KERNEL, -1), 200);
	second = page_head_of(objs[200]);
	assert_int_equal(second->order, 3);
	assert_ptr_equal(second->layout, e.layout);
	assert_int_not_equal(first->order, 3); /* as it was made */
	assert_int_equal(slub_set_order(&e, 0), 0);
	assert_int_equal(second->layout->order, 3);
	slub_check(&e);
	/* the knobs' limits, and what an object needs */
	assert_int_equal(slub_set_order(&e, 4), -EINVAL);
	assert_int_equal(slub_set_orders(1, 3, 0), 0);
	assert_int_equal(slub_set_order(&e, 0), -EINVAL);
	assert_int_equal(slub_set_orders(0, 3, 0), 0);
	assert_int_equal(e.layout->order, 0);
	slub_flush(&e, objs, 201);
	assert_int_equal(slub_shrink(&e), 0);
	END_ENGINE(&e);

	e = make_plain(5000);
	assert_int_equal(slub_set_order(&e, 0), -EINVAL);
	assert_int_equal(slub_set_order(&e, 1), 0);
	END_ENGINE(&e);
}

static void cpu_partials(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);

	assert_int_equal(slub_of(&e)->cpu_partial_slabs, 4); /* 2 * 120 objects of 64 */
	slub_set_cpu_partial(&e, 33);
	assert_int_equal(slub_of(&e)->cpu_partial, 33);
	assert_int_equal(slub_of(&e)->cpu_partial_slabs, 2);
	slub_set_cpu_partial(&e, 0);
	assert_int_equal(slub_of(&e)->cpu_partial_slabs, 0);
	slub_set_cpu_partial(&e, 4000000000u);
	assert_true(slub_of(&e)->cpu_partial_slabs > 1000000);
	END_ENGINE(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orders),
		cmocka_unit_test(cpu_partials),
	};

	return cmocka_run_group_tests_name("slub tune", tests, slub_group_setup, NULL);
}
