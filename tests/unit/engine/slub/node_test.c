/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slub/node_test.c - several nodes: whose slab an object comes from (spec 4.9)
 */
#include "fixture.h"

static int setup(__attribute__((unused)) void **state)
{
	slub_machine(4, 2); /* CPUs 0, 1 on node 0; 2, 3 on node 1 */
	return 0;
}

static unsigned int node_of(void *obj)
{
	return slab_of(obj)->node;
}

static void *one(struct engine *e, gfp_t gfp, int node)
{
	void *obj;

	return slub_refill(e, &obj, 1, gfp, node) ? obj : NULL;
}

static void local_unless_told(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	void *objs[5];

	os_act_as_cpu(0);
	objs[0] = one(&e, 0, -1);
	assert_int_equal(node_of(objs[0]), 0);
	os_act_as_cpu(3);
	objs[1] = one(&e, 0, -1);
	assert_int_equal(node_of(objs[1]), 1);
	objs[2] = one(&e, 0, 0);
	assert_int_equal(node_of(objs[2]), 0);
	os_act_as_cpu(0);
	objs[3] = one(&e, __GFP_THISNODE, 1);
	assert_int_equal(node_of(objs[3]), 1);
	objs[4] = one(&e, 0, 17); /* no such node: any (4.8a) */
	assert_int_equal(node_of(objs[4]), 0);
	assert_int_equal(events[ALLOC_SLAB], 2);
	assert_int_equal(slub_of(&e)->node[0]->nr_partial, 1);
	assert_int_equal(slub_of(&e)->node[1]->nr_partial, 1);
	slub_check(&e);
	slub_flush(&e, objs, 5); /* one flush, two nodes */
	slub_check(&e);
	END_ENGINE(&e);
}

/* nr slabs of node 1, each with one object free. */
static void make_remote_partials(struct engine *e, void *objs[][64], unsigned int nr)
{
	unsigned int i;

	os_act_as_cpu(2);
	for (i = 0; i < nr; i++)
		fill_slab(e, objs[i]);
	for (i = 0; i < nr; i++)
		free_one(e, objs[i][63]);
	os_act_as_cpu(0);
	events_reset();
}

static void end_remote_partials(struct engine *e, void *objs[][64], unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		slub_flush(e, objs[i], 63);
	END_ENGINE(e);
}

static void others_give_beyond_min_partial(__attribute__((unused)) void **state)
{
	static void *objs[6][64];
	struct engine e = make_plain(64);
	void *got[2];

	slub_of(&e)->remote_node_defrag_ratio = 1024; /* always */
	make_remote_partials(&e, objs, 6);
	got[0] = one(&e, 0, -1);
	assert_int_equal(node_of(got[0]), 1);
	assert_int_equal(events[ALLOC_SLAB], 0);
	/* It has 5 left, not more than min_partial. */
	got[1] = one(&e, 0, -1);
	assert_int_equal(node_of(got[1]), 0);
	assert_int_equal(events[ALLOC_SLAB], 1);
	slub_flush(&e, got, 2);
	end_remote_partials(&e, objs, 6);
}

static void others_give_nothing_at_ratio_0(__attribute__((unused)) void **state)
{
	static void *objs[7][64];
	struct engine e = make_plain(64);
	void *got;

	slub_of(&e)->remote_node_defrag_ratio = 0;
	make_remote_partials(&e, objs, 7);
	got = one(&e, 0, -1);
	assert_int_equal(node_of(got), 0);
	free_one(&e, got);
	end_remote_partials(&e, objs, 7);
}

static void a_node_asked_for_is_never_left(__attribute__((unused)) void **state)
{
	static void *objs[7][64];
	struct engine e = make_plain(64);
	struct page *partials;
	void *freelist;
	void *got;

	slub_of(&e)->remote_node_defrag_ratio = 1024;
	make_remote_partials(&e, objs, 7);
	assert_null(slub_cpu_get_partial(&e, 0, 0, &freelist, &partials));
	got = one(&e, 0, 0);
	assert_int_equal(node_of(got), 0);
	free_one(&e, got);
	end_remote_partials(&e, objs, 7);
}

static bool take_it(struct engine_node *node, void *arg)
{
	*(struct engine_node **)arg = node;
	return true;
}

/* ratio/1024 of the attempts look elsewhere: the default of 1000 almost always. */
static void the_ratio_is_a_share(__attribute__((unused)) void **state)
{
	static void *objs[6][64];
	struct engine e = make_plain(64);
	struct slub *s = slub_of(&e);
	struct engine_node *node;
	unsigned int taken = 0;
	unsigned int i;

	make_remote_partials(&e, objs, 6);
	assert_int_equal(s->remote_node_defrag_ratio, 1000);
	s->remote_node_defrag_ratio = 256;
	for (i = 0; i < 4096; i++)
		taken += slub_node_try_others(&e, 0, take_it, &node);
	assert_in_range(taken, 4096 / 5, 4096 / 3);
	assert_ptr_equal(node, s->node[1]);
	end_remote_partials(&e, objs, 6);
}

/* Empty slabs count against the node that they belong to (pitfall 2 of spec 15). */
static void min_partial_is_per_node(__attribute__((unused)) void **state)
{
	static void *objs[4][64];
	struct engine e = make_plain(64);
	unsigned int i;

	slub_of(&e)->min_partial = 2;
	os_act_as_cpu(0);
	for (i = 0; i < 2; i++)
		fill_slab(&e, objs[i]);
	os_act_as_cpu(2);
	for (i = 2; i < 4; i++)
		fill_slab(&e, objs[i]);
	os_act_as_cpu(0);
	for (i = 0; i < 4; i++)
		slub_flush(&e, objs[i], 64);
	assert_int_equal(slub_of(&e)->node[0]->nr_partial, 1);
	assert_int_equal(slub_of(&e)->node[1]->nr_partial, 1);
	END_ENGINE(&e);
}

static void free_objects_are_counted(__attribute__((unused)) void **state)
{
	struct engine e = make_pack(64);
	void *objs[10];

	os_act_as_cpu(0);
	assert_int_equal(slub_node_count_free(slub_of(&e)->node[0]), 0);
	assert_int_equal(slub_refill(&e, objs, 10, 0, -1), 10);
	assert_int_equal(slub_node_count_free(slub_of(&e)->node[0]), 54);
	slub_flush(&e, objs, 10);
	END_ENGINE(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(local_unless_told),
		cmocka_unit_test(others_give_beyond_min_partial),
		cmocka_unit_test(others_give_nothing_at_ratio_0),
		cmocka_unit_test(a_node_asked_for_is_never_left),
		cmocka_unit_test(the_ratio_is_a_share),
		cmocka_unit_test(min_partial_is_per_node),
		cmocka_unit_test(free_objects_are_counted),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
