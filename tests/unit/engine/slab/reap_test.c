/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slab/reap_test.c - free slabs go: a fifth of the limit at a time, or all of them
 */
#include "fixture.h"

static int setup(__attribute__((unused)) void **state)
{
	slab_machine(4, 2);
	return 0;
}

/* n free slabs of one object each on a node, the first one freed at the tail. */
static void make_free_slabs(struct engine *e, int node, struct page **slabs, unsigned int n)
{
	void *objs[64];
	unsigned int i;

	for (i = 0; i < n; i++) {
		assert_int_equal(slab_refill(e, &objs[i], 1, 0, node), 1);
		slabs[i] = slab_of(objs[i]);
	}
	slab_flush(e, objs, n);
	assert_int_equal(node_of(e, (unsigned int)node)->free_slabs, n);
}

static void a_fifth_of_the_limit(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(4096);
	struct page *slabs[20];
	unsigned int i;

	/* limit 37: ceil(37 / 5) = 8 */
	assert_int_equal(node_of(&e, 0)->free_limit, 37);
	make_free_slabs(&e, 0, slabs, 20);
	node_of(&e, 0)->free_touched = false;
	assert_int_equal(slab_reap(&e, 0), 8);
	slab_check(&e);
	for (i = 0; i < 20; i++) {
		if (i < 8)
			assert_null(page_head_of(page_address(slabs[i])));
		else
			assert_ptr_equal(listed_at(&node_of(&e, 0)->free, 19 - i), slabs[i]);
	}
	assert_int_equal(slab_reap(&e, 0), 8);
	assert_int_equal(slab_reap(&e, 0), 4);
	assert_int_equal(slab_reap(&e, 0), 0);
	assert_int_equal(stats_of(&e).nr_slabs, 0);
	END_ENGINE(&e);
}

/* ceil(free_limit / (5 * num)), for a few limits. */
static void the_fifth_is_rounded_up(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(2048); /* 2 in a slab */
	static const unsigned int limits[][2] = { { 10, 1 }, { 11, 2 }, { 20, 2 }, { 1, 1 } };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		void *objs[16];

		assert_int_equal(slab_refill(&e, objs, 2, 0, 0), 2);
		assert_int_equal(slab_refill(&e, objs + 2, 2, 0, 0), 2);
		assert_int_equal(slab_refill(&e, objs + 4, 2, 0, 0), 2);
		node_of(&e, 0)->free_limit = 100;
		slab_flush(&e, objs, 6);
		node_of(&e, 0)->free_limit = limits[i][0];
		node_of(&e, 0)->free_touched = false;
		assert_int_equal(slab_reap(&e, 0), limits[i][1]);
		slab_shrink(&e);
	}
	END_ENGINE(&e);
}

/* Who used free slabs lately keeps them for one more period. */
static void a_grace_for_what_was_touched(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(4096);
	struct page *slabs[10];
	void *obj;

	make_free_slabs(&e, 0, slabs, 10);
	node_of(&e, 0)->free_touched = false;
	obj = take_one(&e); /* from the free list */
	assert_true(node_of(&e, 0)->free_touched);
	assert_int_equal(slab_reap(&e, 0), 0);
	assert_int_equal(node_of(&e, 0)->free_slabs, 9);
	assert_int_equal(slab_reap(&e, 0), 8);
	assert_int_equal(slab_reap(&e, 0), 1);
	assert_int_equal(stats_of(&e).nr_slabs, 1); /* in use */
	free_one(&e, obj);
	END_ENGINE(&e);
}

static void a_node_at_a_time(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(4096);
	struct page *slabs[3];

	make_free_slabs(&e, 0, slabs, 3);
	make_free_slabs(&e, 1, slabs, 3);
	node_of(&e, 0)->free_touched = false;
	node_of(&e, 1)->free_touched = false;
	assert_int_equal(slab_reap(&e, 1), 3);
	assert_int_equal(node_of(&e, 0)->free_slabs, 3);
	assert_int_equal(node_of(&e, 1)->total_slabs, 0);
	END_ENGINE(&e);
}

static void partial_slabs_stay(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	void *obj = take_one(&e);

	node_of(&e, 0)->free_touched = false;
	assert_int_equal(slab_reap(&e, 0), 0);
	assert_int_equal(stats_of(&e).nr_slabs, 1);
	free_one(&e, obj);
	assert_int_equal(slab_reap(&e, 0), 1);
	END_ENGINE(&e);
}

static void shrink_takes_all_of_all_nodes(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(4096);
	struct page *slabs[20];
	void *obj;

	assert_int_equal(slab_shrink(&e), 0);
	make_free_slabs(&e, 0, slabs, 20);
	make_free_slabs(&e, 1, slabs, 20);
	assert_int_equal(slab_refill(&e, &obj, 1, 0, 1), 1);
	assert_int_equal(slab_shrink(&e), 1); /* a full one remains */
	assert_int_equal(stats_of(&e).nr_slabs, 1);
	slab_check(&e);
	free_one(&e, obj);
	assert_int_equal(slab_shrink(&e), 0);
	assert_int_equal(stats_of(&e).nr_slabs, 0);
	END_ENGINE(&e);
}

static void shrink_says_1_for_partial_slabs(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	void *obj = take_one(&e);

	assert_int_equal(slab_shrink(&e), 1);
	free_one(&e, obj);
	assert_int_equal(slab_shrink(&e), 0);
	END_ENGINE(&e);
}

/* A slab is not believed to be free, nor a partial one kept, when somebody looks closely. */
static void closely(__attribute__((unused)) void *arg)
{
	struct engine e = make_plain(1024);
	struct slab_node *node = node_of(&e, 0);
	void *partial[4], *empty[4];
	struct page *slab;

	fill_slab(&e, partial);
	fill_slab(&e, empty);
	slab_flush(&e, partial + 1, 2);
	slab_flush(&e, empty, 4);
	slab = slab_of(empty[0]);
	memset(slab->freelist, 0, 4);
	hear();
	e.verify_frees = true;
	CHILD_CHECK(slab_shrink(&e) == 1);
	CHILD_CHECK(heard_once(ENGINE_LIST_BROKEN, page_address(slab), "test"));
	CHILD_CHECK(slab->type == PAGE_SLAB && node->isolated == 1 && node->nr_partial == 1);
	slab_check(&e);
	((uint8_t *)slab_of(partial[0])->freelist)[3] = 99;
	CHILD_CHECK(slab_shrink(&e) == 1);
	CHILD_CHECK(heard_once(ENGINE_LIST_BROKEN, page_address(slab_of(partial[0])), "test"));
	CHILD_CHECK(node->isolated == 2 && node->nr_partial == 0 && node->free_objects == 0);
	slab_check(&e);
	CHILD_CHECK(slab_shrink(&e) == 1 && heard.nr == 0);
}

static void shrink_looks_closely(__attribute__((unused)) void **state)
{
	struct child c = child_run(closely, NULL);

	assert_true(child_passed(&c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fifth_of_the_limit),
		cmocka_unit_test(the_fifth_is_rounded_up),
		cmocka_unit_test(a_grace_for_what_was_touched),
		cmocka_unit_test(a_node_at_a_time),
		cmocka_unit_test(partial_slabs_stay),
		cmocka_unit_test(shrink_takes_all_of_all_nodes),
		cmocka_unit_test(shrink_says_1_for_partial_slabs),
		cmocka_unit_test(shrink_looks_closely),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
