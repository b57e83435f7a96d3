/* SPDX-License-Identifier: MIT */
/*
 * unit/debug/slab_test.c - pages of debug slabs: descriptor, class bytes, orders, hardened links
 */
#include <sys/resource.h>

#include "fixture.h"

static void descriptor(__attribute__((unused)) void **state)
{
	struct engine e;
	struct page *slab;
	void *obj;

	make_kmalloc(&e, 4096, FZPU); /* stride 12288: two in 8 pages */
	obj = get(&e);
	slab = slab_of(obj);
	assert_ptr_equal(slab->engine, &e);
	assert_int_equal(slab->layout->kind, LAYOUT_DEBUG);
	assert_int_equal(slab->nr_pages, 8);
	assert_int_equal(slab->order, 3);
	assert_int_equal(engine_counters(slab).objects, 2);
	assert_ptr_equal(page_head_of((char *)page_address(slab) + 7 * PAGE_SIZE), slab);
	/* kfree() and free() take no hit path */
	for (unsigned int i = 0; i < 8; i++)
		assert_int_equal(page_map.class[page_index(page_address(slab)) + i], 0);
	put(&e, obj);
	END_ENGINE(&e);
}

static void which_addresses_are_objects(__attribute__((unused)) void **state)
{
	struct engine e;
	struct page *slab;
	char *first;

	make(&e, 64, FZPU);
	first = get(&e);
	slab = slab_of(first);
	for (long at = -8; at < 4096; at++) {
		bool is = at >= 0 && at % 160 == 0 && at / 160 < 25;

		assert_int_equal(debug_is_object(slab, first + at), is);
		if (is)
			assert_int_equal(debug_object_index(slab, first + at), at / 160);
	}
	assert_false(debug_is_object(slab, NULL));
	assert_false(debug_is_object(slab, &e));
	put(&e, first);
	END_ENGINE(&e);
}

static void hardened_links(__attribute__((unused)) void **state)
{
	struct engine_params params = params_of(64);
	struct engine e;
	void *a;
	void *b;

	params.hardened = true;
	make_with(&e, &slub_ops, params, FZPU, false);
	a = get(&e);
	b = get(&e);
	put(&e, a);
	put(&e, b);
	assert_ptr_not_equal(*(void **)((char *)b + 72), a);
	assert_ptr_equal(debug_next_free(slab_of(b), b), a);
	assert_int_equal(debug_validate(&e), 1);
	assert_ptr_equal(get(&e), b);
	assert_ptr_equal(get(&e), a);
	put(&e, a);
	put(&e, b);
	assert_int_equal(errors(), 0);
	END_ENGINE(&e);
}

/* Memory is short: the smallest order, counted, with the objects that it holds; then nothing. */
static void fallback_in_child(__attribute__((unused)) void *arg)
{
	const struct rlimit none = { 0, 0 };
	struct page *block;
	struct engine e;
	void *obj;

	make_kmalloc(&e, 4096, FZPU);
	block = buddy_alloc(-1, 3, false, NULL);
	child_limit(RLIMIT_DATA, &none); /* the arena grows no further */
	while (buddy_alloc(-1, 3, false, NULL))
		;
	buddy_free(block, 2, false); /* half of it */
	events_reset();
	obj = get(&e);
	CHILD_CHECK(events[ORDER_FALLBACK] == 1);
	CHILD_CHECK(slab_of(obj)->order == 2 && engine_counters(slab_of(obj)).objects == 1);
	CHILD_CHECK(e.debug->node[0]->nr_pages == 4);
	CHILD_CHECK(!debug_alloc(&e, __GFP_NOWARN, -1, 0, here));
	fputs("quiet so far\n", stderr);
	CHILD_CHECK(!debug_alloc(&e, GFP_KERNEL, -1, 0, here));
	e.ops->check(&e);
	put(&e, obj);
	CHILD_CHECK(errors() == 0);
}

static void fallback(__attribute__((unused)) void **state)
{
	struct child c;

	if (!bare_process())
		skip();
	c = child_run(fallback_in_child, NULL);
	assert_true(child_passed(&c));
	assert_memory_equal(c.text, "quiet so far", 12);
	assert_non_null(
		strstr(c.text, "Unable to allocate memory on node -1, gfp=0xcc0(GFP_KERNEL)"));
	assert_non_null(strstr(c.text, "buffer size: 12288, default order: 3, min order: 2"));
	assert_non_null(strstr(c.text, "test debugging increased min order"));
	assert_non_null(strstr(c.text, "node 0: slabs: 1, objs: 1, free: 0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptor),
		cmocka_unit_test(which_addresses_are_objects),
		cmocka_unit_test(hardened_links),
		cmocka_unit_test(fallback),
	};

	return cmocka_run_group_tests(tests, debug_group_setup, NULL);
}
