/* SPDX-License-Identifier: MIT */
/*
 * unit/front/sheaves_bulk_test.c - many objects at once, from sheaves first and slabs then
 */
#include "sheaves_fixture.h"

static void *objs[FAKE_OBJECTS];

static unsigned int get_bulk(unsigned int n, void **p)
{
	return front.ops->alloc_bulk(&front, GFP_KERNEL, n, p);
}

/* Spec A3: no sheaf is filled for a bulk call, and what comes from slabs counts as slow. */
BOTH_MODES(test_allocations)
{
	make_fake(64, 0);
	CHILD_CHECK(get_bulk(100, objs) == 100);
	STATS([ALLOC_SLOWPATH] = 100, [BARN_GET_FAIL] = 1);
	CHILD_CHECK(front.ops->held(&front) == 0);
	put_many(objs, 100);
	take_out(objs, 150);
	put_many(objs, 150); /* 250: main 10, spare 60, three of the barn */
	STATS([FREE_FASTPATH] = 250, [SHEAF_ALLOC] = 5, [BARN_PUT] = 3);
	CHILD_CHECK(get_bulk(240, objs) == 240);
	STATS([ALLOC_FASTPATH] = 240, [BARN_GET] = 3);
	CHILD_CHECK(get_bulk(20, objs + 240) == 20);
	STATS([ALLOC_FASTPATH] = 10, [ALLOC_SLOWPATH] = 10, [BARN_GET_FAIL] = 1);
	fake.budget = 3;
	CHILD_CHECK(get_bulk(5, objs + 260) == 3);
	put_many(objs, 263);
	end_fake();
}

/* Spec A4: as far as there is space, then slabs. */
BOTH_MODES(test_frees)
{
	make_fake(64, 0);
	take_out(objs, 900);
	front.ops->free_bulk(&front, 5, objs);
	/* a CPU without a sheaf, and no empty one in the barn */
	CHILD_CHECK(fake.nr_out == 895);
	STATS([FREE_FASTPATH] = 0);
	put(objs[5]);
	front.ops->free_bulk(&front, 59, objs + 6);
	STATS([FREE_FASTPATH] = 60, [SHEAF_ALLOC] = 1);
	front.ops->free_bulk(&front, 3, objs + 65); /* there is no spare */
	CHILD_CHECK(fake.nr_out == 892);
	put_many(objs + 68, 181); /* one of four in the barn after that */
	STATS([FREE_FASTPATH] = 181, [SHEAF_ALLOC] = 4, [BARN_PUT] = 3);
	CHILD_CHECK(get_bulk(241, objs + 8) == 241);
	STATS([ALLOC_FASTPATH] = 241, [BARN_GET] = 3);
	/* one and three empty sheaves take four times 60 */
	front.ops->free_bulk(&front, 300, objs + 8);
	STATS([FREE_FASTPATH] = 300, [BARN_PUT] = 3);
	CHILD_CHECK(front.ops->held(&front) == 300);
	front.ops->free_bulk(&front, 20, objs + 308); /* neither space nor an empty one */
	CHILD_CHECK(front.ops->held(&front) == 300);
	STATS([FREE_FASTPATH] = 0);
	put_many(objs + 328, 900 - 328);
	front.ops->drain(&front);
	CHILD_CHECK(fake.nr_out == 0);
	end_fake();
}

static void with_nodes(__attribute__((unused)) void *arg)
{
	void *p[40];

	floors_init(4, 2);
	make_slub(&front_sheaves_ops, 64, 0);
	put(get());
	for (unsigned int i = 0; i < 40; i++)
		p[i] = front.ops->alloc(&front, GFP_KERNEL | __GFP_THISNODE, (int)i % 2);
	STATS([FREE_FASTPATH] = 1, [ALLOC_FASTPATH] = 21, [ALLOC_SLOWPATH] = 20,
	      [ALLOC_NODE_MISMATCH] = 20, [BARN_GET_FAIL] = 1, [SHEAF_ALLOC] = 1,
	      [SHEAF_REFILL] = 60, [ALLOC_SLAB] = 2);
	front.ops->free_bulk(&front, 40, p);
	CHILD_CHECK(stat(FREE_FASTPATH) == 20 && front.ops->held(&front) == 60);
	end_slub();
}

static void test_nodes(void **state)
{
	struct child c = child_run(with_nodes, state);

	assert_true(child_passed(&c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allocations),
		cmocka_unit_test(test_frees),
		cmocka_unit_test(test_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
