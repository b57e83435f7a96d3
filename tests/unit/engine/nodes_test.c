/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/nodes_test.c - the node of a request, and what a node lists and counts
 */
#include "engines.h"
#include "engine/nodes.h"

static int setup(__attribute__((unused)) void **state)
{
	machine_init(4, 2); /* CPUs 0, 1 on node 0; 2, 3 on node 1 */
	return 0;
}

static void the_node_of_a_request(__attribute__((unused)) void **state)
{
	assert_int_equal(engine_nr_nodes(), 2);
	os_act_as_cpu(3);
	assert_int_equal(engine_first_node(2, -1), 1);
	assert_int_equal(engine_first_node(2, 0), 0);
	assert_int_equal(engine_first_node(2, 17), 1); /* no such node */
	assert_int_equal(engine_first_node(1, -1), 0);
	os_act_as_cpu(0);
	assert_int_equal(engine_first_node(2, -1), 0);
	assert_int_equal(engine_first_node(2, 1), 1);
}

static void slabs_come_and_go(__attribute__((unused)) void **state)
{
	struct engine_node *node = engine_node_new();
	struct page slab[3];

	assert_non_null(node);
	engine_node_add_partial_locked(node, &slab[0], false);
	engine_node_add_partial_locked(node, &slab[1], false);
	engine_node_add_partial_locked(node, &slab[2], true);
	assert_ptr_equal(listed_at(&node->partial, 0), &slab[1]);
	assert_ptr_equal(listed_at(&node->partial, 1), &slab[0]);
	assert_ptr_equal(listed_at(&node->partial, 2), &slab[2]);
	engine_node_remove_partial_locked(node, &slab[0]);
	assert_int_equal(node->nr_partial, 2);
	assert_ptr_equal(listed_at(&node->partial, 1), &slab[2]);
	engine_node_add(node, 64, 1);
	engine_node_add(node, 32, 2);
	engine_node_sub(node, 64, 1);
	assert_int_equal(node->nr_slabs, 1);
	assert_int_equal(node->total_objects, 32);
	assert_int_equal(node->nr_pages, 2);
	engine_node_delete(node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_node_of_a_request),
		cmocka_unit_test(slabs_come_and_go),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
