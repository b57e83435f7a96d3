/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slab/free_test.c - where slabs go as their objects come back, and when they leave
 */
#include "fixture.h"

static int setup(__attribute__((unused)) void **state)
{
	slab_machine(4, 2);
	return 0;
}

/* Always the tail, even for a slab that is on the list. */
static void to_the_tail_of_partial(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(1024);
	struct slab_node *node = node_of(&e, 0);
	struct page *slab[3];
	void *objs[3][4];
	unsigned int i;

	for (i = 0; i < 3; i++)
		slab[i] = fill_slab(&e, objs[i]);
	for (i = 0; i < 3; i++)
		free_one(&e, objs[i][0]);
	for (i = 0; i < 3; i++)
		assert_ptr_equal(listed_at(&node->partial, i), slab[i]);
	free_one(&e, objs[0][1]);
	assert_ptr_equal(listed_at(&node->partial, 0), slab[1]);
	assert_ptr_equal(listed_at(&node->partial, 2), slab[0]);
	assert_int_equal(node->nr_partial, 3);
	assert_int_equal(node->free_objects, 4);
	assert_true(list_empty(&node->full));
	slab_check(&e);
	slab_flush(&e, objs[0] + 2, 2);
	slab_flush(&e, objs[1] + 1, 3);
	slab_flush(&e, objs[2] + 1, 3);
	END_ENGINE(&e);
}

/* Objects of several slabs, mixed, in one flush: as if they came one by one. */
static void a_mixed_flush(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(1024);
	struct slab_node *node = node_of(&e, 0);
	struct page *slab[3];
	void *objs[3][4];
	void *mixed[7];
	unsigned int i;

	for (i = 0; i < 3; i++)
		slab[i] = fill_slab(&e, objs[i]);
	mixed[0] = objs[0][2];
	mixed[1] = objs[0][0];
	mixed[2] = objs[1][0];
	mixed[3] = objs[0][1];
	mixed[4] = objs[2][0];
	mixed[5] = objs[2][1];
	mixed[6] = objs[1][1];
	slab_flush(&e, mixed, 7);
	assert_ptr_equal(listed_at(&node->partial, 0), slab[0]);
	assert_ptr_equal(listed_at(&node->partial, 1), slab[2]);
	assert_ptr_equal(listed_at(&node->partial, 2), slab[1]);
	slab_check(&e);
	assert_ptr_equal(take_one(&e), objs[0][1]); /* the last one that came back */
	assert_ptr_equal(take_one(&e), objs[0][0]);
	assert_ptr_equal(take_one(&e), objs[0][2]);
	slab_flush(&e, objs[0], 4);
	slab_flush(&e, objs[1] + 2, 2);
	slab_flush(&e, objs[2] + 2, 2);
	END_ENGINE(&e);
}

static void empty_to_the_head_of_free(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(1024);
	struct slab_node *node = node_of(&e, 0);
	struct page *slab[3];
	void *objs[3][4];
	unsigned int i;

	for (i = 0; i < 3; i++)
		slab[i] = fill_slab(&e, objs[i]);
	slab_flush(&e, objs[1], 4); /* from full, at once */
	slab_flush(&e, objs[0], 1); /* from partial */
	slab_flush(&e, objs[0] + 1, 3);
	slab_flush(&e, objs[2], 4);
	assert_ptr_equal(listed_at(&node->free, 0), slab[2]);
	assert_ptr_equal(listed_at(&node->free, 1), slab[0]);
	assert_ptr_equal(listed_at(&node->free, 2), slab[1]);
	assert_int_equal(node->free_slabs, 3);
	assert_int_equal(node->free_objects, 12);
	END_ENGINE(&e);
}

/* Beyond the limit the tail of the free list goes: what has been free for the longest. */
static void free_limit(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(1024); /* 4 in a slab */
	struct slab_node *node = node_of(&e, 0);
	struct page *slab[6];
	void *objs[6][4];
	unsigned int i;

	slab_ops.tune(&e, 2);
	assert_int_equal(node->free_limit, (1 + 2) * 2 + 4); /* two CPUs on this node */
	for (i = 0; i < 6; i++)
		slab[i] = fill_slab(&e, objs[i]);
	slab_flush(&e, objs[3], 4);
	slab_flush(&e, objs[1], 4);
	assert_int_equal(node->total_slabs, 6);
	slab_flush(&e, objs[5], 2); /* 10 free: at the limit */
	assert_int_equal(node->total_slabs, 6);
	slab_flush(&e, objs[5] + 2, 1); /* 11 */
	assert_int_equal(node->total_slabs, 5);
	assert_null(page_head_of(page_address(slab[3])));
	assert_int_equal(node->free_objects, 7);
	assert_ptr_equal(listed_at(&node->free, 0), slab[1]);
	assert_null(listed_at(&node->free, 1));
	slab_check(&e);

	/* Partial slabs alone may hold more than that. */
	slab_flush(&e, objs[0], 3);
	assert_int_equal(node->free_objects, 10);
	slab_flush(&e, objs[2], 3); /* 13: slab 1 goes */
	assert_int_equal(node->free_objects, 9);
	assert_int_equal(node->free_slabs, 0);
	slab_flush(&e, objs[4], 3);
	assert_int_equal(node->free_objects, 12);
	slab_check(&e);
	slab_flush(&e, objs[0] + 3, 1); /* the slab that becomes empty may be the one to go */
	assert_int_equal(node->free_objects, 9);
	assert_null(page_head_of(page_address(slab[0])));
	slab_flush(&e, objs[2] + 3, 1);
	slab_flush(&e, objs[4] + 3, 1);
	slab_flush(&e, objs[5] + 3, 1);
	END_ENGINE(&e);
}

/* A lower limit is noticed by the next flush. */
static void a_flush_may_drop_several(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(4096); /* one in a slab */
	void *objs[16];
	unsigned int i;

	assert_int_equal(node_of(&e, 0)->free_limit, 3 * 12 + 1);
	for (i = 0; i < 16; i++)
		assert_non_null(objs[i] = take_one(&e));
	slab_flush(&e, objs, 15);
	assert_int_equal(stats_of(&e).nr_slabs, 16);
	slab_ops.tune(&e, 1);
	assert_int_equal(stats_of(&e).nr_slabs, 16);
	free_one(&e, objs[15]);
	assert_int_equal(stats_of(&e).nr_slabs, 4);
	assert_int_equal(stats_of(&e).free_objects, 4);
	for (i = 12; i < 16; i++)
		assert_int_equal(slab_of(objs[i])->type, PAGE_SLAB);
	END_ENGINE(&e);
}

static void every_object_goes_home(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(1024);
	void *objs[8];
	void *mixed[8];
	unsigned int i;

	assert_int_equal(slab_refill(&e, objs, 4, 0, 0), 4);
	assert_int_equal(slab_refill(&e, objs + 4, 4, 0, 1), 4);
	for (i = 0; i < 8; i++)
		mixed[i] = objs[i / 2 + (i % 2) * 4]; /* the nodes in turns */
	slab_flush(&e, mixed, 7);
	slab_check(&e);
	assert_int_equal(node_of(&e, 0)->free_slabs, 1);
	assert_int_equal(node_of(&e, 1)->nr_partial, 1);
	assert_int_equal(node_of(&e, 1)->free_objects, 3);
	slab_flush(&e, mixed + 7, 1);
	assert_int_equal(node_of(&e, 1)->free_slabs, 1);
	END_ENGINE(&e);
}

/* Each node has a limit of its own. */
static void limits_are_per_node(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(4096);
	void *objs[2][6];
	void *mixed[12];
	unsigned int i;

	slab_ops.tune(&e, 1); /* (1 + 2) * 1 + 1 = 4 */
	for (i = 0; i < 6; i++) {
		slab_refill(&e, &objs[0][i], 1, 0, 0);
		slab_refill(&e, &objs[1][i], 1, 0, 1);
		mixed[i] = objs[0][i];
		mixed[6 + i] = objs[1][i];
	}
	slab_flush(&e, mixed, 11);
	assert_int_equal(node_of(&e, 0)->free_slabs, 4);
	assert_int_equal(node_of(&e, 1)->free_slabs, 4);
	assert_int_equal(node_of(&e, 1)->total_slabs, 5);
	slab_flush(&e, mixed + 11, 1);
	END_ENGINE(&e);
}

static void nothing_is_nothing(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);

	slab_flush(&e, NULL, 0);
	assert_int_equal(stats_of(&e).nr_slabs, 0);
	END_ENGINE(&e);
}

/* ---- mistakes of programs: refused, reported with no lock held, and the rest goes home ---- */

static void refused(struct engine *e, void *obj, enum engine_mistake what)
{
	struct engine_stats before = stats_of(e);

	free_one(e, obj);
	assert_true(heard_once(what, obj, "test"));
	slab_check(e);
	assert_int_equal(stats_of(e).free_objects, before.free_objects);
}

static void mistakes_are_refused(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(1024);
	struct engine other = make_plain(1024);
	void *objs[4], *mixed[5];
	char *others = take_one(&other);

	fill_slab(&e, objs);
	hear();
	refused(&e, &e, ENGINE_NO_OBJECT);
	refused(&e, (char *)objs[1] + 8, ENGINE_NO_OBJECT);
	refused(&e, others, ENGINE_NO_OBJECT);
	mixed[0] = objs[2];
	mixed[1] = others;
	mixed[2] = objs[1];
	mixed[3] = objs[1];
	mixed[4] = (char *)objs[0] + 1;
	slab_flush(&e, mixed, 5);
	assert_int_equal(heard.nr, 3);
	heard.nr = 0;
	assert_int_equal(inuse_of(slab_of(objs[0])), 2);
	e.verify_frees = true;
	refused(&e, objs[2], ENGINE_FREE_AGAIN);
	e.verify_frees = false;
	slab_flush(&e, (void *[]){ objs[0], objs[3] }, 2);
	refused(&e, objs[0], ENGINE_FREE_AGAIN); /* all of the slab is free */
	assert_int_equal(slab_shrink(&e), 0);
	refused(&e, objs[0], ENGINE_NO_OBJECT); /* it is gone */
	hear_no_more();
	free_one(&other, others);
	END_ENGINE(&e);
	END_ENGINE(&other);
}

/* What is in use of an isolated slab goes nowhere when it comes back. */
IN_CHILD(isolated)
{
	struct engine e = make_plain(1024);
	struct slab_node *node = node_of(&e, 0);
	struct page *slab;
	void *objs[4];

	slab = fill_slab(&e, objs);
	free_one(&e, objs[1]);
	free_one(&e, objs[2]);
	memset(slab->freelist, 0x41, 8);
	hear();
	CHILD_CHECK(take_one(&e) && heard_once(ENGINE_LIST_BROKEN, page_address(slab), "test"));
	slab_check(&e);
	CHILD_CHECK(node->isolated == 1 && inuse_of(slab) == 4);
	slab_flush(&e, (void *[]){ objs[0], objs[3] }, 2);
	CHILD_CHECK(heard.nr == 0);
	free_one(&e, objs[3]); /* no more are expected */
	CHILD_CHECK(heard_once(ENGINE_FREE_AGAIN, objs[3], "test"));
	slab_shrink(&e);
	slab_check(&e);
	CHILD_CHECK(heard.nr == 0 && inuse_of(slab) == 4 && slab->type == PAGE_SLAB);
	for (int i = 0; i < 8; i++)
		CHILD_CHECK(slab_of(take_one(&e)) != slab);
	slab_check(&e);
	CHILD_CHECK(slab_ops.destroy(&e) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(to_the_tail_of_partial),
		cmocka_unit_test(a_mixed_flush),
		cmocka_unit_test(empty_to_the_head_of_free),
		cmocka_unit_test(free_limit),
		cmocka_unit_test(a_flush_may_drop_several),
		cmocka_unit_test(every_object_goes_home),
		cmocka_unit_test(limits_are_per_node),
		cmocka_unit_test(nothing_is_nothing),
		cmocka_unit_test(mistakes_are_refused),
		cmocka_unit_test(isolated),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
