/* SPDX-License-Identifier: MIT */
/*
 * unit/front/sheaves_test.c - capacities; one object from a sheaf, and into it; who goes past them
 */
#include "sheaves_fixture.h"

/* Spec A2, and each bound. */
static void test_capacities(__attribute__((unused)) void **state)
{
	static const unsigned int rows[][3] = {
		{ 8, 60, 512 },	      { 255, 60, 512 },		{ 256, 28, 256 },
		{ 1023, 28, 256 },    { 1024, 12, 128 },	{ PAGE_SIZE - 1, 12, 128 },
		{ PAGE_SIZE, 4, 64 }, { 4 * PAGE_SIZE, 4, 64 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		unsigned int capacity = sheaves_capacity_by_size(rows[i][0]);

		assert_int_equal(capacity, rows[i][1]);
		assert_int_equal(sizeof(struct sheaf) + capacity * sizeof(void *), rows[i][2]);
	}
}

static unsigned int capacity_of(const struct front_ops *ops, unsigned int size,
				unsigned int request)
{
	unsigned int capacity;

	make_slub(ops, size, request);
	capacity = sheaves_of(&front)->capacity;
	end_slub();
	return capacity;
}

/* A request can only raise it, and is the capacity itself in 6.18. */
BOTH_MODES(test_requests)
{
	CHILD_CHECK(capacity_of(&front_sheaves_ops, 64, 0) == 60);
	CHILD_CHECK(capacity_of(&front_sheaves_ops, 64, 32) == 60);
	CHILD_CHECK(capacity_of(&front_sheaves_ops, 64, 61) == 61);
	CHILD_CHECK(capacity_of(&front_sheaves_ops, 256, 32) == 32);
	CHILD_CHECK(capacity_of(&front_sheaves_ops, 5000, SHEAVES_MAX_CAPACITY) ==
		    SHEAVES_MAX_CAPACITY);
	CHILD_CHECK(capacity_of(&front_sheaves_618_ops, 64, 32) == 32);
	CHILD_CHECK(capacity_of(&front_sheaves_618_ops, 64, 100) == 100);

	fake_init(&fake, 64);
	CHILD_CHECK(front_make(&front, &front_sheaves_ops, &fake, ID, SHEAVES_MAX_CAPACITY + 1) ==
		    -EINVAL);
	/* CPU slabs are SLUB's alone */
	CHILD_CHECK(front_make(&front, &front_sheaves_618_ops, &fake, ID, 32) == -EINVAL);
}

/* The object that came last is the next one. */
BOTH_MODES(test_last_in_first_out)
{
	void *objs[3];

	make_fake(64, 0);
	get_many(objs, 3);
	STATS([ALLOC_FASTPATH] = 3, [BARN_GET_FAIL] = 1, [SHEAF_ALLOC] = 1, [SHEAF_REFILL] = 60);
	put_many(objs, 3);
	CHILD_CHECK(get() == objs[2] && get() == objs[1]);
	STATS([ALLOC_FASTPATH] = 2, [FREE_FASTPATH] = 3);
	CHILD_CHECK(get() == objs[0]);
	put_many(objs, 3);
	end_fake();
}

/* Spec A3b: who does not get the lock goes past the sheaves, and waits for nobody. */
BOTH_MODES(test_lock_is_tried)
{
	void *obj;

	make_slub(&front_sheaves_ops, 64, 0);
	put(get());
	STATS([ALLOC_FASTPATH] = 1, [FREE_FASTPATH] = 1, [BARN_GET_FAIL] = 1, [SHEAF_ALLOC] = 1,
	      [SHEAF_REFILL] = 60, [ALLOC_SLAB] = 1);
	cpu_state()->sheaf_lock.word = 1; /* somebody has it */
	obj = get();
	STATS([ALLOC_SLOWPATH] = 1);
	put(obj);
	STATS([FREE_SLOWPATH] = 1);
	CHILD_CHECK(in_sheaf(cpu_state()->main) == 60);
	cpu_state()->sheaf_lock.word = 0;
	end_slub();
}

/* Closed: nothing is put where a drain has been. */
BOTH_MODES(test_closed)
{
	void *objs[100];

	make_slub(&front_sheaves_ops, 64, 0);
	get_many(objs, 100);
	put_many(objs, 50);
	front_close(&front);
	CHILD_CHECK(front.ops->held(&front) == 0);
	put_many(objs + 50, 50);
	put(get());
	CHILD_CHECK(front.ops->held(&front) == 0);
	balance(0);
	front_open(&front);
	put(get());
	CHILD_CHECK(front.ops->held(&front) == 60);
	end_slub();
}

static void with_nodes(__attribute__((unused)) void *arg)
{
	void *objs[4];

	floors_init(4, 2);
	make_slub(&front_sheaves_ops, 64, 0);
	CHILD_CHECK(os_cpu_to_node(1) != os_cpu_to_node(2));
	objs[0] = get();
	STATS([ALLOC_FASTPATH] = 1, [BARN_GET_FAIL] = 1, [SHEAF_ALLOC] = 1, [SHEAF_REFILL] = 60,
	      [ALLOC_SLAB] = 1);

	/* spec A3a: of this CPU's node, of another one, of none that there is */
	objs[1] = front.ops->alloc(&front, GFP_KERNEL, (int)os_cpu_to_node(1));
	STATS([ALLOC_FASTPATH] = 1);
	objs[2] = front.ops->alloc(&front, GFP_KERNEL, (int)os_cpu_to_node(2));
	STATS([ALLOC_NODE_MISMATCH] = 1, [ALLOC_SLOWPATH] = 1, [ALLOC_SLAB] = 1);
	CHILD_CHECK(page_head_unchecked(objs[2])->node == os_cpu_to_node(2));
	objs[3] = front.ops->alloc(&front, GFP_KERNEL, 7);
	STATS([ALLOC_FASTPATH] = 1);

	/* spec A4b: objects of other nodes go to their slab */
	put(objs[2]);
	STATS([FREE_SLOWPATH] = 1);
	os_act_as_cpu(2);
	put(objs[0]);
	STATS([FREE_SLOWPATH] = 1);
	os_act_as_cpu(1);
	put(objs[1]);
	put(objs[3]);
	STATS([FREE_FASTPATH] = 2);
	CHILD_CHECK(front.ops->held(&front) == 59);

	/* the object on top is another node's after all, as after a refill: it stays */
	objs[0] = front.ops->alloc(&front, GFP_KERNEL, (int)os_cpu_to_node(2));
	sheaf_push(cpu_state()->main, objs[0]);
	STATS([ALLOC_NODE_MISMATCH] = 1, [ALLOC_SLOWPATH] = 1);
	objs[1] = front.ops->alloc(&front, GFP_KERNEL, (int)os_cpu_to_node(1));
	STATS([ALLOC_NODE_MISMATCH] = 1, [ALLOC_SLOWPATH] = 1);
	CHILD_CHECK(page_head_unchecked(objs[1])->node == os_cpu_to_node(1));
	CHILD_CHECK(get() == objs[0]);
	put_many(objs, 2);
	STATS([ALLOC_FASTPATH] = 1, [FREE_FASTPATH] = 1, [FREE_SLOWPATH] = 1);
	end_slub();
}

static void test_nodes(void **state)
{
	struct child c = child_run(with_nodes, state);

	assert_true(child_passed(&c));
}

/* 6.18: what is no sheaf's is the CPU slab's, which counts as it always did (spec A9). */
BOTH_MODES(test_over_cpu_slabs)
{
	void *objs[80];

	make_slub(&front_sheaves_618_ops, 64, 32);
	get_many(objs, 33);
	/* two sheaves of 32 */
	CHILD_CHECK(stat(ALLOC_CPU_SHEAF) == 33 && stat(SHEAF_REFILL) == 64);
	CHILD_CHECK(stat(ALLOC_FASTPATH) == 0 && stat(FREE_FASTPATH) == 0);
	CHILD_CHECK(cpu_state()->slab != 0);
	put_many(objs, 33);
	CHILD_CHECK(stat(FREE_CPU_SHEAF) == 33);
	cpu_state()->sheaf_lock.word = 1;
	objs[0] = get();
	CHILD_CHECK(stat(ALLOC_FASTPATH) + stat(ALLOC_SLOWPATH) >= 1);
	put(objs[0]);
	CHILD_CHECK(stat(FREE_FASTPATH) == 1);
	cpu_state()->sheaf_lock.word = 0;
	end_slub();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_capacities),
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_last_in_first_out),
		cmocka_unit_test(test_lock_is_tried),
		cmocka_unit_test(test_closed),
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_over_cpu_slabs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
