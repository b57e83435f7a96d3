/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slobseg/direct_test.c - objects of whole pages
 */
#include "fixture.h"

static void blocks_of_pages(UNUSED_STATE)
{
	static const struct {
		const struct engine_ops *ops;
		unsigned int size;
		unsigned int order;
		unsigned int stride;
	} cases[] = {
		{ &slobseg_ops, 2056, 0, 2056 },
		{ &slobseg_ops, 4096, 0, 4096 },
		{ &slobseg_ops, 4097, 1, 4104 },
		{ &slobseg_ops, 20000, 3, 20000 },
		{ &slobseg_ops, 4u << 20, 10, 4u << 20 },
		{ &slobseg_pow2_ops, 4097, 1, 8192 },
		{ &slobseg_pow2_ops, 20000, 3, 32768 },
		{ &slobseg_pow2_ops, 4u << 20, 10, 4u << 20 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct engine_params params = plain_params(cases[i].size);
		unsigned long before = arena_pages_out();
		struct slab_counters counters;
		struct engine_stats stats;
		struct page *page;
		struct engine e;
		void *objs[2];

		params.page_class = 9;
		make_with(&e, cases[i].ops, params);
		assert_int_equal(e.size, cases[i].stride);
		assert_int_equal(e.layout->order, cases[i].order);
		assert_int_equal(e.ops->refill(&e, objs, 2, 0, -1), 2);
		page = page_head_of((char *)objs[1] + cases[i].size - 1);
		assert_ptr_equal(page_address(page), objs[1]);
		assert_int_equal(page->type, PAGE_SLAB);
		assert_ptr_equal(page->engine, &e);
		assert_ptr_equal(page->layout, e.layout);
		assert_int_equal(page->order, cases[i].order);
		memcpy(&counters, &page->counters, sizeof(counters));
		assert_int_equal(counters.inuse, 1);
		assert_int_equal(counters.objects, 1);
		assert_int_equal(page_map.class[page_index((char *)objs[1] + cases[i].size - 1)],
				 9);
		assert_int_equal((uintptr_t)objs[0] % (PAGE_SIZE << cases[i].order), 0);
		memset(objs[0], 1, cases[i].size);
		stats = stats_of(&e);
		assert_int_equal(stats.nr_slabs, 2);
		assert_int_equal(stats.nr_partial, 0);
		assert_int_equal(stats.total_objects, 2);
		assert_int_equal(stats.free_objects, 0);
		assert_int_equal(stats.slab_bytes, 2 * (PAGE_SIZE << cases[i].order));
		assert_int_equal(arena_pages_out(), before + (2ul << cases[i].order));
		assert_int_equal(e.ops->shrink(&e), 1);
		assert_int_equal(e.ops->destroy(&e), 2);
		e.ops->flush(&e, objs, 2);
		assert_int_equal(arena_pages_out(), before);
		assert_int_equal(e.ops->shrink(&e), 0);
		END_ENGINE(&e);
	}
}

static void from_the_node_asked_for(UNUSED_STATE)
{
	struct engine e;
	void *a, *b, *c;

	make(&e, &slobseg_ops, 10000);
	a = take_from(&e, __GFP_THISNODE, 1);
	b = take_from(&e, 0, 99);
	os_act_as_cpu(2);
	c = take(&e);
	os_act_as_cpu(0);
	assert_int_equal(page_head_of(a)->node, 1);
	assert_int_equal(page_head_of(b)->node, 0);
	assert_int_equal(page_head_of(c)->node, 1);
	e.ops->flush(&e, (void *[]){ a, b, c }, 3);
	END_ENGINE(&e);
}

IN_CHILD(as_many_as_there_are)
{
	static void *objs[100];
	struct engine e;
	unsigned int n;

	make(&e, &slobseg_ops, 1u << 20);
	no_more_memory();
	n = e.ops->refill(&e, objs, 100, 0, -1);
	CHILD_CHECK(n < 100);
	CHILD_CHECK(stats_of(&e).nr_slabs == n);
	e.ops->flush(&e, objs, n);
	CHILD_CHECK(e.ops->destroy(&e) == 0);
}

static void mistakes_are_refused(UNUSED_STATE)
{
	struct engine e, other;
	char *obj, *others;

	make(&e, &slobseg_ops, 10000);
	make(&other, &slobseg_ops, 64);
	obj = take(&e);
	others = take(&other);
	hear();
	for (unsigned int i = 0; i < 4; i++) {
		void *wrong[] = { &e, obj + 8, obj + 4096, others };

		free_one(&e, wrong[i]);
		assert_true(heard_once(ENGINE_NO_OBJECT, wrong[i], "test"));
		assert_int_equal(stats_of(&e).total_objects, 1);
	}
	free_one(&e, obj);
	free_one(&e, obj);
	assert_true(heard_once(ENGINE_FREE_AGAIN, obj, "test"));
	hear_no_more();
	free_one(&other, others);
	END_ENGINE(&e);
	END_ENGINE(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_of_pages),
		cmocka_unit_test(from_the_node_asked_for),
		cmocka_unit_test(as_many_as_there_are),
		cmocka_unit_test(mistakes_are_refused),
	};

	return cmocka_run_group_tests(tests, slobseg_group_setup, NULL);
}
