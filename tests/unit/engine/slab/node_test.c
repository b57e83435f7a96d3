/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slab/node_test.c - three lists: which slab is where, and whose turn it is
 */
#include "fixture.h"

static int setup(__attribute__((unused)) void **state)
{
	slab_machine(4, 2); /* CPUs 0, 1 on node 0; 2, 3 on node 1 */
	return 0;
}

/* A slab that is nobody's, with so many of its 64 objects in use. */
static struct page *made_up(struct page *slab, unsigned int inuse)
{
	struct slab_counters counters = { .objects = 64 };

	memset(slab, 0, sizeof(*slab));
	counters.inuse = (uint16_t)inuse;
	engine_set_counters(slab, counters);
	return slab;
}

static void inuse_names_the_list(__attribute__((unused)) void **state)
{
	struct slab_node *node = slab_node_new();
	struct page slab[4];

	slab_node_link_locked(node, made_up(&slab[0], 0), true);
	slab_node_link_locked(node, made_up(&slab[1], 1), true);
	slab_node_link_locked(node, made_up(&slab[2], 63), true);
	slab_node_link_locked(node, made_up(&slab[3], 64), true);
	assert_ptr_equal(listed_at(&node->free, 0), &slab[0]);
	assert_ptr_equal(listed_at(&node->partial, 0), &slab[1]);
	assert_ptr_equal(listed_at(&node->partial, 1), &slab[2]);
	assert_ptr_equal(listed_at(&node->full, 0), &slab[3]);
	assert_null(listed_at(&node->free, 1));
	assert_null(listed_at(&node->full, 1));
	assert_int_equal(node->nr_partial, 2);
	assert_int_equal(node->free_slabs, 1);
	slab_node_unlink_locked(node, &slab[0]);
	slab_node_unlink_locked(node, &slab[1]);
	slab_node_unlink_locked(node, &slab[3]);
	assert_int_equal(node->nr_partial, 1);
	assert_int_equal(node->free_slabs, 0);
	assert_true(list_empty(&node->free) && list_empty(&node->full));
	slab_node_delete(node);
}

/* tail says where on the partial list; the two others take at the head always. */
static void heads_and_tails(__attribute__((unused)) void **state)
{
	struct slab_node *node = slab_node_new();
	struct page slab[9];
	unsigned int i;

	for (i = 0; i < 3; i++) {
		slab_node_link_locked(node, made_up(&slab[i], 7), i == 1);
		slab_node_link_locked(node, made_up(&slab[3 + i], 0), i == 1);
		slab_node_link_locked(node, made_up(&slab[6 + i], 64), i == 1);
	}
	assert_ptr_equal(listed_at(&node->partial, 0), &slab[2]);
	assert_ptr_equal(listed_at(&node->partial, 1), &slab[0]);
	assert_ptr_equal(listed_at(&node->partial, 2), &slab[1]);
	for (i = 0; i < 3; i++) {
		assert_ptr_equal(listed_at(&node->free, i), &slab[5 - i]);
		assert_ptr_equal(listed_at(&node->full, i), &slab[8 - i]);
	}
	slab_node_delete(node);
}

static void partial_slabs_first(__attribute__((unused)) void **state)
{
	struct slab_node *node = slab_node_new();
	struct page slab[4];

	assert_null(slab_node_pick_locked(node));
	assert_true(node->free_touched); /* looked at, even if in vain */
	node->free_touched = false;
	slab_node_link_locked(node, made_up(&slab[0], 0), false);
	slab_node_link_locked(node, made_up(&slab[1], 0), false);
	slab_node_link_locked(node, made_up(&slab[2], 5), false);
	slab_node_link_locked(node, made_up(&slab[3], 64), false);
	assert_ptr_equal(slab_node_pick_locked(node), &slab[2]);
	assert_false(node->free_touched);
	slab_node_unlink_locked(node, &slab[2]);
	assert_ptr_equal(slab_node_pick_locked(node), &slab[1]);
	assert_true(node->free_touched);
	slab_node_delete(node);
}

static void the_tail_is_dropped(__attribute__((unused)) void **state)
{
	struct slab_node *node = slab_node_new();
	struct page *dropped = NULL;
	struct page slab[2];

	slab_node_link_locked(node, made_up(&slab[0], 0), false);
	slab_node_link_locked(node, made_up(&slab[1], 0), false);
	node->total_slabs = 2;
	slab_node_add_free_locked(node, 128);
	assert_true(slab_node_drop_locked(node, &dropped));
	assert_ptr_equal(dropped, &slab[0]);
	assert_int_equal(node->free_objects, 64);
	assert_int_equal(node->total_slabs, 1);
	assert_true(slab_node_drop_locked(node, &dropped));
	assert_ptr_equal(dropped, &slab[1]);
	assert_ptr_equal(dropped->next, &slab[0]);
	assert_false(slab_node_drop_locked(node, &dropped));
	assert_int_equal(node->free_objects + node->total_slabs + node->free_slabs, 0);
	slab_node_delete(node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inuse_names_the_list),
		cmocka_unit_test(heads_and_tails),
		cmocka_unit_test(partial_slabs_first),
		cmocka_unit_test(the_tail_is_dropped),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
