/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slobseg/page_test.c - a new page: descriptor, free list, class byte; and back
 */
#include "fixture.h"
#include "os/memory/policy.h"

static struct page *new_page(struct engine *e, unsigned int node)
{
	const struct os_place place = { .first = node, .nodes = OS_ALL_NODES };

	return slobseg_page_new(slobseg_of(e), &place);
}

static void ascending_free_list(UNUSED_STATE)
{
	static const unsigned int sizes[] = { 8, 24, 64, 100, 700, 1500, 2048 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct page *page;
		unsigned int n = 0;
		struct engine e;
		void *obj;

		make(&e, &slobseg_ops, sizes[i]);
		page = new_page(&e, 0);
		for (obj = page->freelist; obj; obj = *(void **)obj)
			assert_ptr_equal(obj, slobseg_object(page, n++));
		assert_int_equal(n, PAGE_SIZE / ALIGN_UP(sizes[i], 8u));
		assert_ptr_equal(slobseg_object(page, 0), page_address(page));
		page->next = NULL;
		slobseg_pages_free(slobseg_of(&e), page);
		END_ENGINE(&e);
	}
}

static void descriptor_of_a_cache(UNUSED_STATE)
{
	struct engine_params params = plain_params(100);
	struct slab_counters counters;
	struct page *page;
	struct engine e;

	params.page_class = 7;
	make_with(&e, &slobseg_ops, params);
	page = new_page(&e, 1);
	assert_int_equal(page->type, PAGE_SLAB);
	assert_ptr_equal(page->engine, &e);
	assert_ptr_equal(page->layout, e.layout);
	assert_int_equal(page->node, 1);
	assert_int_equal(page->order, 0);
	assert_int_equal(page->nr_pages, 1);
	memcpy(&counters, &page->counters, sizeof(counters));
	assert_int_equal(counters.inuse, 0);
	assert_int_equal(counters.objects, 39);
	assert_int_equal(counters.frozen, 0);
	assert_int_equal(page_map.class[page_index(page_address(page))], 7);
	assert_ptr_equal(page_head_of(page_address(page)), page);
	page->next = NULL;
	slobseg_pages_free(slobseg_of(&e), page);
	assert_null(page_head_of(page_address(page)));
	assert_int_equal(page_map.class[page_index(page_address(page))], 0);
	END_ENGINE(&e);
}

static void descriptor_of_a_pool(UNUSED_STATE)
{
	struct page *page;
	struct engine e;

	make(&e, &slobseg_pow2_ops, 100);
	page = new_page(&e, 0);
	assert_int_equal(page->type, PAGE_HEAP);
	assert_ptr_equal(page->heap, slobseg_pow2_ops.heap);
	assert_int_equal(page->layout->stride, 128);
	assert_int_equal((uint32_t)page->counters, PAGE_SIZE);
	assert_int_equal(page_map.class[page_index(page_address(page))], 0);
	page->next = NULL;
	slobseg_pages_free(slobseg_of(&e), page);
	END_ENGINE(&e);
}

static void several_at_once(UNUSED_STATE)
{
	unsigned long before = arena_pages_out();
	struct page *chain = NULL;
	struct engine e;
	unsigned int i;

	make(&e, &slobseg_ops, 8);
	for (i = 0; i < 5; i++) {
		struct page *page = new_page(&e, i % 2);

		page->next = chain;
		chain = page;
	}
	assert_int_equal(arena_pages_out(), before + 5);
	slobseg_pages_free(slobseg_of(&e), chain);
	assert_int_equal(arena_pages_out(), before);
	END_ENGINE(&e);
}

IN_CHILD(no_memory_is_null)
{
	struct engine e;
	void *obj;

	make(&e, &slobseg_ops, PAGE_SIZE / 2);
	no_more_memory();
	while (new_page(&e, 0)) {}
	CHILD_CHECK(!e.ops->refill(&e, &obj, 1, 0, -1));
	e.ops->check(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ascending_free_list),	cmocka_unit_test(descriptor_of_a_cache),
		cmocka_unit_test(descriptor_of_a_pool), cmocka_unit_test(several_at_once),
		cmocka_unit_test(no_memory_is_null),
	};

	return cmocka_run_group_tests(tests, slobseg_group_setup, NULL);
}
