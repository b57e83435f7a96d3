/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slob/direct_test.c - objects of whole pages: their descriptors, numbers, limits
 */
#include "fixture.h"

/* Size to order; smaller ones are in the heap. */
static void orders(__attribute__((unused)) void **state)
{
	static const struct {
		unsigned int size;
		int order;
	} cases[] = { { 4094, -1 }, { 4095, 0 }, { 4096, 0 },	{ 4097, 1 },
		      { 8192, 1 },  { 8193, 2 }, { 100000, 5 }, { 4u << 20, 10 } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct engine e = make_engine(&slob_ops, plain_params(cases[i].size));
		unsigned long used = arena_pages_out();
		char *obj = take_one(&e);
		struct page *page = page_of(obj);

		assert_non_null(obj);
		memset(obj, 1, cases[i].size);
		if (cases[i].order < 0) {
			assert_int_equal(page->type, PAGE_HEAP);
			assert_int_equal(stats_of(&e).nr_slabs, 0);
			assert_int_equal(stats_of(&e).slab_bytes, 0);
			assert_int_equal(slob_ops.shrink(&e), 0);
		} else {
			assert_int_equal(page->type, PAGE_SLAB);
			assert_int_equal(page->order, cases[i].order);
			assert_int_equal(e.layout->order, cases[i].order);
			assert_int_equal(arena_pages_out(), used + (1ul << cases[i].order));
			assert_int_equal((uintptr_t)obj % (PAGE_SIZE << page->order), 0);
			assert_int_equal(stats_of(&e).nr_slabs, 1);
			assert_int_equal(stats_of(&e).slab_bytes, PAGE_SIZE << page->order);
			assert_int_equal(slob_ops.shrink(&e), 1);
		}
		assert_int_equal(stats_of(&e).total_objects, 1);
		assert_int_equal(stats_of(&e).free_objects, 0);
		assert_int_equal(slob_ops.destroy(&e), 1);
		free_one(&e, obj);
		assert_int_equal(arena_pages_out(), used);
		assert_int_equal(slob_ops.shrink(&e), 0);
		END_ENGINE(&e);
	}
}

static void too_large(__attribute__((unused)) void **state)
{
	struct engine_params params = plain_params((4u << 20) + 1);
	struct engine e;
	size_t f;

	for (f = 0; f < ARRAY_SIZE(forms); f++) {
		assert_int_equal(forms[f].ops->init(&e, &params), -E2BIG);
		params.by_address = true;
	}
}

/* What other floors and tools read: whose, how, how many, and the class bytes. */
static void descriptors(__attribute__((unused)) void **state)
{
	struct engine_params params = plain_params(9000);
	struct engine e;
	struct page *page;
	char *obj;
	unsigned int i;

	params.page_class = 9;
	e = make_engine(&slob_1991_ops, params);
	obj = take_one(&e);
	page = page_of(obj);
	page->freelist = obj; /* as some other engine might leave it */
	free_one(&e, obj);
	assert_ptr_equal(take_one(&e), obj);
	assert_ptr_equal(page_of(obj + 9000), page);
	assert_null(page->freelist);
	assert_ptr_equal(page_address(page), obj);
	assert_ptr_equal(page->engine, &e);
	assert_ptr_equal(page->layout, e.layout);
	assert_int_equal(page->nr_pages, 4);
	assert_int_equal(((struct slab_counters *)&page->counters)->inuse, 1);
	assert_int_equal(((struct slab_counters *)&page->counters)->objects, 1);
	assert_int_equal(((struct slab_counters *)&page->counters)->frozen, 0);
	assert_int_equal(e.layout->objects, 1);
	assert_int_equal(e.layout->stride, 9000);
	for (i = 0; i < 4; i++)
		assert_int_equal(page_map.class[page_index(obj) + i], 9);
	free_one(&e, obj);
	for (i = 0; i < 4; i++)
		assert_int_equal(page_map.class[page_index(obj) + i], 0);
	END_ENGINE(&e);
}

static void batches(__attribute__((unused)) void **state)
{
	struct engine e = make_engine(&slob_ops, plain_params(5000));
	void *objs[31];

	assert_int_equal(slob_ops.refill(&e, objs, 31, 0, -1), 31);
	assert_int_equal(stats_of(&e).nr_slabs, 31);
	assert_int_equal(stats_of(&e).total_objects, 31);
	assert_int_equal(stats_of(&e).slab_bytes, 31 * 8192);
	slob_check(&e);
	slob_ops.flush(&e, objs, 30);
	assert_int_equal(slob_ops.destroy(&e), 1);
	slob_ops.flush(&e, objs + 30, 1);
	END_ENGINE(&e);
}

IN_CHILD(nodes)
{
	struct engine e;
	void *obj;
	int node;

	slob_machine(4, 2);
	os_act_as_cpu(0);
	e = make_engine(&slob_ops, plain_params(5000));
	for (node = -1; node < 4; node++) {
		CHILD_CHECK(slob_ops.refill(&e, &obj, 1, 0, node) == 1);
		CHILD_CHECK(page_of(obj)->node == (node == 1));
	}
}

IN_CHILD(out_of_memory)
{
	struct engine e;
	void *objs[4];
	unsigned int got;

	limit_address_space(160ul << 20);
	slob_machine(2, 1);
	e = make_engine(&slob_ops, plain_params(1u << 20));
	CHILD_CHECK(slob_ops.refill(&e, objs, 3, 0, -1) == 3);
	use_up_pages(-1);
	CHILD_CHECK(slob_ops.refill(&e, objs, 1, 0, -1) == 0);
	slob_ops.flush(&e, objs, 2);
	got = slob_ops.refill(&e, objs, 4, 0, -1); /* what there is */
	CHILD_CHECK(got == 2 && stats_of(&e).nr_slabs == 3);
	slob_check(&e);
}

static void refused(struct engine *e, void *obj, enum engine_mistake what)
{
	unsigned long before = stats_of(e).nr_slabs;

	free_one(e, obj);
	assert_true(heard_once(what, obj, "test"));
	assert_int_equal(stats_of(e).nr_slabs, before);
}

static void mistakes_are_refused(__attribute__((unused)) void **state)
{
	struct engine e = make_engine(&slob_ops, plain_params(5000));
	struct engine other = make_engine(&slob_ops, plain_params(5000));
	char *obj = take_one(&e);
	char *others = take_one(&other);
	void *mixed[3] = { obj, others, obj };

	hear();
	refused(&e, others, ENGINE_NO_OBJECT);
	refused(&e, obj + 16, ENGINE_NO_OBJECT);
	refused(&e, obj + 4096, ENGINE_NO_OBJECT);
	refused(&e, (void *)4096, ENGINE_NO_OBJECT);
	slob_ops.flush(&e, mixed, 3);
	assert_int_equal(heard.nr, 2);
	assert_int_equal(heard.what, ENGINE_FREE_AGAIN);
	hear_no_more();
	free_one(&other, others);
	END_ENGINE(&e);
	END_ENGINE(&other);
}

int main(void)
{
	const struct CMUnitTest before_there_is_an_arena[] = {
		cmocka_unit_test(nodes),
		cmocka_unit_test(out_of_memory),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orders),
		cmocka_unit_test(too_large),
		cmocka_unit_test(descriptors),
		cmocka_unit_test(batches),
		cmocka_unit_test(mistakes_are_refused),
	};
	int failed = cmocka_run_group_tests(before_there_is_an_arena, NULL, NULL);

	return failed + cmocka_run_group_tests(tests, slob_group_setup, NULL);
}
