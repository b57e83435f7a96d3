/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slab/refill_test.c - whose objects a refill gets, in which order (spec 3.6, 3.10)
 */
#include "fixture.h"

static int setup(__attribute__((unused)) void **state)
{
	slab_machine(6, 3); /* two CPUs on each node */
	return 0;
}

/* Spec 14 vector 13, the slab's part: an untouched queue asks for 16, then for a batch of 60. */
static void vector_13(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	void *objs[65];
	unsigned int i;

	assert_int_equal(slab_refill(&e, objs, 16, 0, -1), 16);
	assert_int_equal(slab_refill(&e, objs + 16, 60, 0, -1), 48);
	for (i = 0; i < 64; i++)
		assert_ptr_equal(objs[i], object_at(slab_of(objs[0]), i));
	assert_int_equal(stats_of(&e).nr_slabs, 1);
	assert_int_equal(slab_refill(&e, objs + 64, 1, 0, -1), 1);
	assert_int_equal(stats_of(&e).nr_slabs, 2);
	slab_check(&e);
	slab_flush(&e, objs, 65);
	END_ENGINE(&e);
}

/* A slab is made when there is nothing, one at a time, and never to complete a batch. */
static void one_object_is_success(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(1024); /* 4 in a slab */
	void *objs[100];

	assert_int_equal(slab_refill(&e, objs, 100, 0, -1), 4);
	free_one(&e, objs[3]);
	assert_int_equal(slab_refill(&e, objs + 3, 97, 0, -1), 1);
	assert_int_equal(stats_of(&e).nr_slabs, 1);
	slab_flush(&e, objs, 4);
	END_ENGINE(&e);
}

/* The head of the partial list stays the head until it is full; then free slabs, head first. */
static void partial_head_then_free_head(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(1024);
	struct slab_node *node = node_of(&e, 0);
	struct page *slab[5];
	void *objs[5][4];
	void *got[12];
	unsigned int i;

	for (i = 0; i < 5; i++)
		slab[i] = fill_slab(&e, objs[i]);
	for (i = 0; i < 5; i++)
		assert_ptr_equal(listed_at(&node->full, i), slab[4 - i]);
	slab_flush(&e, objs[0], 2); /* two partial slabs, 0 and 1 */
	slab_flush(&e, objs[1], 3);
	slab_flush(&e, objs[2], 4); /* two free ones, 3 before 2 */
	slab_flush(&e, objs[3], 4);

	assert_int_equal(slab_refill(&e, got, 1, 0, -1), 1);
	assert_ptr_equal(slab_of(got[0]), slab[0]);
	assert_ptr_equal(listed_at(&node->full, 0), slab[4]);
	assert_int_equal(slab_refill(&e, got + 1, 2, 0, -1), 2); /* one of each */
	assert_ptr_equal(slab_of(got[1]), slab[0]);
	assert_ptr_equal(slab_of(got[2]), slab[1]);
	assert_ptr_equal(listed_at(&node->full, 0), slab[0]);
	assert_ptr_equal(listed_at(&node->partial, 0), slab[1]);
	slab_check(&e);

	node->free_touched = false;
	assert_int_equal(slab_refill(&e, got + 3, 2, 0, -1), 2);
	assert_false(node->free_touched);
	assert_int_equal(slab_refill(&e, got + 5, 5, 0, -1), 5);
	assert_true(node->free_touched);
	for (i = 5; i < 9; i++)
		assert_ptr_equal(slab_of(got[i]), slab[3]);
	assert_ptr_equal(slab_of(got[9]), slab[2]);
	assert_ptr_equal(listed_at(&node->partial, 0), slab[2]);
	assert_int_equal(node->free_slabs, 0);
	slab_check(&e);
	assert_int_equal(stats_of(&e).nr_slabs, 5);

	slab_flush(&e, got, 10);
	slab_flush(&e, objs[0] + 2, 2);
	slab_flush(&e, objs[1] + 3, 1);
	slab_flush(&e, objs[4], 4);
	END_ENGINE(&e);
}

/* The slab that objects are taken of is put at the head, before the others. */
static void partly_used_goes_to_the_head(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(1024);
	struct slab_node *node = node_of(&e, 0);
	struct page *slab[2];
	void *objs[2][4];
	void *again;

	slab[0] = fill_slab(&e, objs[0]);
	slab[1] = fill_slab(&e, objs[1]);
	slab_flush(&e, objs[0], 3);
	slab_flush(&e, objs[1], 3);
	again = take_one(&e);
	assert_ptr_equal(slab_of(again), slab[0]);
	assert_ptr_equal(listed_at(&node->partial, 0), slab[0]);
	assert_ptr_equal(listed_at(&node->partial, 1), slab[1]);
	free_one(&e, again);
	slab_flush(&e, objs[0] + 3, 1);
	slab_flush(&e, objs[1] + 3, 1);
	END_ENGINE(&e);
}

/* ---- arrays: spec 13.2, slide 35 ---- */

/* PARTIAL: from the head, each whole, until one has more than are wanted; free slabs are not. */
static void takes_whole_partial_slabs(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(1024); /* 4 in a slab */
	struct slab_node *node = node_of(&e, 0);
	struct page *slab[4];
	void *objs[4][4];
	void *got[8];

	for (unsigned int i = 0; i < 4; i++)
		slab[i] = fill_slab(&e, objs[i]);
	slab_flush(&e, objs[0], 1);
	slab_flush(&e, objs[1], 2);
	slab_flush(&e, objs[2], 3);
	slab_flush(&e, objs[3], 4); /* a free one */
	assert_ptr_equal(listed_at(&node->partial, 0), slab[0]);
	assert_int_equal(slab_take_partial(&e, got, 5), 3);
	assert_ptr_equal(got[0], objs[0][0]);
	assert_ptr_equal(slab_of(got[1]), slab[1]);
	assert_ptr_equal(slab_of(got[2]), slab[1]);
	assert_int_equal(inuse_of(slab[1]), 4);
	assert_int_equal(node->nr_partial, 1);
	assert_int_equal(inuse_of(slab[2]), 1);
	slab_check(&e);
	assert_int_equal(slab_take_partial(&e, got + 3, 2), 0);
	assert_int_equal(slab_take_partial(&e, got + 3, 5), 3);
	assert_int_equal(slab_take_partial(&e, got + 6, 2), 0);
	assert_int_equal(stats_of(&e).free_objects, 4);
	slab_check(&e);
	slab_flush(&e, got, 6);
	slab_flush(&e, objs[0] + 1, 3);
	slab_flush(&e, objs[1] + 2, 2);
	slab_flush(&e, objs[2] + 3, 1);
	END_ENGINE(&e);
}

/* NEW: whole slabs, ascending, wherever their index arrays are. */
static void takes_new_slabs(__attribute__((unused)) void **state)
{
	static const struct {
		unsigned int size;
		slab_flags_t flags;
		enum slab_placement placement;
	} rows[] = {
		{ 1024, 0, SLAB_INDEX_OBJECT },
		{ 1024, SLAB_TYPESAFE_BY_RCU, SLAB_INDEX_OFF },
		{ 200, SLAB_TYPESAFE_BY_RCU, SLAB_INDEX_ON },
	};

	for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
		struct engine_params params = plain_params(rows[row].size);
		struct engine e;
		unsigned int num;
		void *objs[80];

		params.flags = rows[row].flags;
		e = make_engine(params);
		num = geometry_of(&e)->num;
		assert_int_equal(geometry_of(&e)->placement, rows[row].placement);
		assert_int_equal(slab_take_new(&e, objs, num - 1, 0), 0);
		assert_int_equal(slab_take_new(&e, objs, 3 * num - 1, 0), 2 * num);
		for (unsigned int i = 0; i < 2 * num; i++)
			assert_ptr_equal(objs[i], object_at(slab_of(objs[i / num * num]), i % num));
		assert_int_equal(stats_of(&e).nr_slabs, 2);
		assert_int_equal(stats_of(&e).free_objects, 0);
		assert_ptr_equal(listed_at(&node_of(&e, 0)->full, 0), slab_of(objs[num]));
		slab_check(&e);
		if (rows[row].flags) /* these wait for the RCU, which there is none here */
			e.flags &= ~SLAB_TYPESAFE_BY_RCU;
		slab_flush(&e, objs + 1, 2);
		slab_check(&e);
		assert_ptr_equal(take_one(&e), objs[2]);
		assert_ptr_equal(take_one(&e), objs[1]);
		slab_flush(&e, objs, 2 * num);
		END_ENGINE(&e);
	}
}

/* ---- nodes ---- */

static unsigned int refill_node(struct engine *e, gfp_t gfp, int node, unsigned int want)
{
	void *objs[64];
	unsigned int got = slab_refill(e, objs, want, gfp, node);
	unsigned int where = got ? slab_of(objs[0])->node : 99;

	slab_flush(e, objs, got);
	return where;
}

static void local_unless_told(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);

	os_act_as_cpu(0);
	assert_int_equal(refill_node(&e, 0, -1, 1), 0);
	os_act_as_cpu(5);
	assert_int_equal(refill_node(&e, 0, -1, 1), 2);
	assert_int_equal(refill_node(&e, 0, 1, 9), 1);
	assert_int_equal(refill_node(&e, __GFP_THISNODE, 0, 1), 0);
	assert_int_equal(refill_node(&e, 0, 17, 1), 2); /* no such node: any */
	os_act_as_cpu(0);
	assert_int_equal(stats_of(&e).nr_slabs, 3);
	END_ENGINE(&e);
}

/* Free objects elsewhere are no reason to leave a node that has memory. */
static void a_node_with_memory_is_never_left(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	void *objs[2];

	assert_int_equal(slab_refill(&e, objs, 1, 0, 1), 1);
	assert_int_equal(slab_refill(&e, objs + 1, 1, 0, -1), 1);
	assert_int_equal(slab_of(objs[1])->node, 0);
	slab_flush(&e, objs, 2);
	END_ENGINE(&e);
}

/* Node 1 has no memory: free objects of other nodes, the CPU's own first, and then their memory. */
IN_CHILD(other_nodes_help)
{
	struct engine e = make_plain(1024);
	void *on[3][4];
	void *got[8];

	CHILD_CHECK(slab_refill(&e, on[0], 3, 0, 0) == 3);
	CHILD_CHECK(slab_refill(&e, on[2], 3, 0, 2) == 3);
	CHILD_CHECK(slab_refill(&e, on[1], 4, 0, 1) == 4);
	exhaust_node(1);
	CHILD_CHECK(slab_refill(&e, got, 4, __GFP_THISNODE, 1) == 0);
	os_act_as_cpu(4); /* node 2 */
	CHILD_CHECK(slab_refill(&e, got, 4, 0, 1) == 1);
	CHILD_CHECK(slab_of(got[0])->node == 2);
	CHILD_CHECK(slab_refill(&e, got + 1, 4, 0, 1) == 1); /* after node 2 comes node 0 */
	CHILD_CHECK(slab_of(got[1])->node == 0);
	CHILD_CHECK(slab_refill(&e, got + 2, 4, 0, 1) == 4); /* nothing is free: a slab of node 2 */
	CHILD_CHECK(slab_of(got[2])->node == 2);
	slab_check(&e);

	/* Its own objects that come back are found before. */
	free_one(&e, on[1][0]);
	CHILD_CHECK(slab_refill(&e, on[1], 1, 0, 1) == 1 && slab_of(on[1][0])->node == 1);

	exhaust_node(2); /* and now memory of the last node, for whoever asks */
	CHILD_CHECK(slab_refill(&e, got + 6, 1, 0, -1) == 1);
	CHILD_CHECK(slab_of(got[6])->node == 0);
	CHILD_CHECK(node_of(&e, 0)->total_slabs == 2);
	slab_check(&e);
	slab_flush(&e, got, 7);
	slab_flush(&e, on[0], 3);
	slab_flush(&e, on[1], 4);
	slab_flush(&e, on[2], 3);
	slab_check(&e);
	CHILD_CHECK(slab_ops.destroy(&e) == 0);
}

static void use_everything(__attribute__((unused)) void *arg)
{
	struct engine e = make_plain(64);
	void *objs[65];

	CHILD_CHECK(slab_refill(&e, objs, 60, 0, -1) == 60);
	exhaust_node(0);
	exhaust_node(1);
	exhaust_node(2);
	CHILD_CHECK(slab_refill(&e, objs + 60, 9, 0, -1) == 4);
	CHILD_CHECK(slab_refill(&e, objs + 64, 1, GFP_KERNEL, -1) == 0);
	CHILD_CHECK(slab_refill(&e, objs + 64, 1, GFP_KERNEL, 2) == 0);
	slab_check(&e);
	slab_flush(&e, objs + 30, 1);
	CHILD_CHECK(take_one(&e) == objs[30]);
	slab_flush(&e, objs, 64);
	CHILD_CHECK(slab_ops.destroy(&e) == 0);
}

static void out_of_memory_is_0(__attribute__((unused)) void **state)
{
	struct child c = child_run(use_everything, NULL);

	assert_true(child_passed(&c));
	assert_string_equal(c.text, "");
}

/* ---- an index array that was overwritten: its slab is passed over, what was taken stays ---- */

IN_CHILD(broken_slabs_are_passed_over)
{
	struct engine e = make_plain(1024); /* 4 in a slab */
	void *first[4], *second[4], *out[4];

	fill_slab(&e, first);
	fill_slab(&e, second);
	slab_flush(&e, first + 2, 2);
	slab_flush(&e, second + 1, 3);
	memset(slab_of(second[0])->freelist, 0x6b, 16);
	hear();
	CHILD_CHECK(slab_refill(&e, out, 4, 0, -1) == 2);
	CHILD_CHECK(heard_once(ENGINE_LIST_BROKEN, page_address(slab_of(second[0])), "test"));
	CHILD_CHECK(slab_of(out[0]) == slab_of(first[0]) && slab_of(out[1]) == slab_of(first[0]));
	slab_check(&e);
	CHILD_CHECK(stats_of(&e).nr_slabs == 2 && stats_of(&e).free_objects == 0);
	CHILD_CHECK(slab_refill(&e, out, 4, 0, -1) == 4);
	CHILD_CHECK(slab_of(out[0]) != slab_of(second[0]) && heard.nr == 0);
	slab_check(&e);
}

/* Behind the last object is the array. */
static void beyond_its_end(void *obj)
{
	memset(obj, 0x55, 160);
}

IN_CHILD(broken_by_the_constructor)
{
	struct engine e = make_with_ctor(32, beyond_its_end);
	void *obj;

	CHILD_CHECK(geometry_of(&e)->placement == SLAB_INDEX_ON);
	hear();
	CHILD_CHECK(slab_refill(&e, &obj, 1, __GFP_THISNODE, -1) == 0);
	CHILD_CHECK(heard.nr == 1 && !heard.open && heard.what == ENGINE_LIST_BROKEN);
	slab_check(&e);
	CHILD_CHECK(stats_of(&e).nr_slabs == 1 && stats_of(&e).free_objects == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vector_13),
		cmocka_unit_test(one_object_is_success),
		cmocka_unit_test(partial_head_then_free_head),
		cmocka_unit_test(takes_whole_partial_slabs),
		cmocka_unit_test(takes_new_slabs),
		cmocka_unit_test(partly_used_goes_to_the_head),
		cmocka_unit_test(local_unless_told),
		cmocka_unit_test(a_node_with_memory_is_never_left),
		cmocka_unit_test(other_nodes_help),
		cmocka_unit_test(out_of_memory_is_0),
		cmocka_unit_test(broken_slabs_are_passed_over),
		cmocka_unit_test(broken_by_the_constructor),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
