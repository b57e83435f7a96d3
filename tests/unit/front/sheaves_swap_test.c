/* SPDX-License-Identifier: MIT */
/*
 * unit/front/sheaves_swap_test.c - each decision of spec A3 and A4, told by its counters (A9)
 */
#include "sheaves_fixture.h"

#define CAPACITY 60u
#define HORIZON (12 * CAPACITY) /* spec A15: two sheaves, and ten of the barn */

static void *objs[FAKE_OBJECTS];

/* A3d 2 and 4 to 8. */
BOTH_MODES(test_main_is_empty)
{
	make_fake(64, 0);
	/* 5 to 8: nothing anywhere, a new sheaf is filled */
	get_many(objs, CAPACITY);
	STATS([ALLOC_FASTPATH] = 60, [BARN_GET_FAIL] = 1, [SHEAF_ALLOC] = 1, [SHEAF_REFILL] = 60);
	CHILD_CHECK(in_sheaf(cpu_state()->main) == 0 && in_sheaf(cpu_state()->spare) == -1);
	/* again: the old main becomes the spare */
	objs[60] = get();
	STATS([ALLOC_FASTPATH] = 1, [BARN_GET_FAIL] = 1, [SHEAF_ALLOC] = 1, [SHEAF_REFILL] = 60);
	CHILD_CHECK(in_sheaf(cpu_state()->main) == 59 && in_sheaf(cpu_state()->spare) == 0);
	/* 6: the spare, which is empty, is the one that is filled */
	get_many(objs + 61, 60);
	STATS([ALLOC_FASTPATH] = 60, [BARN_GET_FAIL] = 1, [SHEAF_REFILL] = 60);
	CHILD_CHECK(in_sheaf(cpu_state()->main) == 59 && in_sheaf(cpu_state()->spare) == 0);
	/* 2: the spare has objects: exchanged, and nothing else happens */
	put_many(objs, 20);
	STATS([FREE_FASTPATH] = 20);
	CHILD_CHECK(in_sheaf(cpu_state()->main) == 19 && in_sheaf(cpu_state()->spare) == 60);
	get_many(objs, 20);
	STATS([ALLOC_FASTPATH] = 20);
	CHILD_CHECK(in_sheaf(cpu_state()->main) == 59 && in_sheaf(cpu_state()->spare) == 0);
	put_many(objs, 121);
	end_fake();
}

/* A4d 2 to 4, up to what a barn takes. */
BOTH_MODES(test_main_is_full)
{
	make_fake(64, 0);
	take_out(objs, HORIZON + 1);
	put_many(objs, CAPACITY);
	STATS([FREE_FASTPATH] = 60, [SHEAF_ALLOC] = 1);
	/* 2: there is no spare, and no empty sheaf in the barn */
	put_many(objs + 60, CAPACITY);
	STATS([FREE_FASTPATH] = 60, [SHEAF_ALLOC] = 1);
	CHILD_CHECK(in_sheaf(cpu_state()->main) == 60 && in_sheaf(cpu_state()->spare) == 60);
	/* 4, none: no empty one in the barn; 5: a new one; 6: main goes to the barn */
	put(objs[120]);
	STATS([FREE_FASTPATH] = 1, [SHEAF_ALLOC] = 1, [BARN_PUT] = 1);
	CHILD_CHECK(this_barn()->nr_full == 1 && this_barn()->nr_objects == 60);
	put_many(objs + 121, HORIZON - 121);
	STATS([FREE_FASTPATH] = HORIZON - 121, [SHEAF_ALLOC] = 9, [BARN_PUT] = 9);
	CHILD_CHECK(this_barn()->nr_full == 10 && front.ops->held(&front) == HORIZON);
	CHILD_CHECK(fake.flushes == 0);
	/* 4, too big: the spare is flushed, and used as the empty one */
	put(objs[HORIZON]);
	STATS([FREE_FASTPATH] = 1, [BARN_PUT_FAIL] = 1, [SHEAF_FLUSH] = 60);
	CHILD_CHECK(front.ops->held(&front) == HORIZON + 1 - 60);
	CHILD_CHECK(in_sheaf(cpu_state()->main) == 1 && in_sheaf(cpu_state()->spare) == 60);
	CHILD_CHECK(this_barn()->nr_full == 10);
	end_fake();
}

/* A3d 4 and A4d 3 and 4, exchanged with the barn. */
BOTH_MODES(test_barn_exchanges)
{
	make_fake(64, 0);
	take_out(objs, 4 * CAPACITY);
	put_many(objs, 4 * CAPACITY);
	STATS([FREE_FASTPATH] = 240, [SHEAF_ALLOC] = 4, [BARN_PUT] = 2);
	get_many(objs, 121);
	STATS([ALLOC_FASTPATH] = 121, [BARN_GET] = 1);
	CHILD_CHECK(this_barn()->nr_full == 1 && this_barn()->nr_empty == 1);
	CHILD_CHECK(in_sheaf(cpu_state()->main) == 59 && in_sheaf(cpu_state()->spare) == 0);
	/* 3: the spare is not full */
	put_many(objs, 2);
	STATS([FREE_FASTPATH] = 2);
	CHILD_CHECK(in_sheaf(cpu_state()->main) == 1 && in_sheaf(cpu_state()->spare) == 60);
	/* 4: full for empty, in one hold of the lock */
	put_many(objs + 2, 60);
	STATS([FREE_FASTPATH] = 60, [BARN_PUT] = 1);
	CHILD_CHECK(this_barn()->nr_full == 2 && this_barn()->nr_empty == 0);
	put_many(objs + 62, 121 - 62);
	end_fake();
}

/* A4d 2: the barn has an empty one for a CPU without a spare. */
BOTH_MODES(test_empty_one_of_the_barn)
{
	make_fake(64, 0);
	take_out(objs, 3 * CAPACITY);
	put_many(objs, 3 * CAPACITY);
	get_many(objs, 2 * CAPACITY + 1); /* one empty sheaf lies in the barn now */
	CHILD_CHECK(this_barn()->nr_empty == 1 && this_barn()->nr_full == 0);
	sheaves_put_empty(&front, os_cpu_to_node((unsigned int)cpu), cpu_state()->spare);
	cpu_state()->spare = NULL;
	CHILD_CHECK(this_barn()->nr_empty == 2);
	STATS([FREE_FASTPATH] = 180, [ALLOC_FASTPATH] = 121, [SHEAF_ALLOC] = 3, [BARN_PUT] = 1,
	      [BARN_GET] = 1);
	put_many(objs, 2);
	STATS([FREE_FASTPATH] = 2);
	CHILD_CHECK(in_sheaf(cpu_state()->main) == 1 && in_sheaf(cpu_state()->spare) == 60);
	CHILD_CHECK(this_barn()->nr_empty == 1);
	put_many(objs + 2, 119);
	end_fake();
}

/* A3d 7: one that cannot be filled completely is given up, with what it has. */
BOTH_MODES(test_memory_is_short)
{
	make_fake(64, 0);
	fake.budget = 10;
	objs[0] = get();
	STATS([ALLOC_SLOWPATH] = 1, [BARN_GET_FAIL] = 1, [SHEAF_ALLOC] = 1, [SHEAF_REFILL] = 10,
	      [SHEAF_FLUSH] = 10, [SHEAF_FREE] = 1);
	CHILD_CHECK(!objs[0] && fake.nr_out == 0);
	fake.budget = 61;
	CHILD_CHECK((objs[0] = get()) != NULL);
	fake.budget = 1;
	get_many(objs + 1, 59);
	CHILD_CHECK(!get());
	fake.budget = ~0u;
	put_many(objs, 60);
	end_fake();
}

/* What a burst costs in a steady state; spec A15 has it for a simulated machine. */
static void burst(unsigned int n)
{
	for (unsigned int i = 0; i < 4; i++) {
		get_many(objs, n);
		put_many(objs, n);
	}
	for (int i = 0; i < (int)os_topology.nr_cpu_ids; i++)
		memset(percpu_state(ID, i)->stat, 0, sizeof(percpu_state(ID, i)->stat));
	get_many(objs, n);
	put_many(objs, n);
}

BOTH_MODES(test_bursts)
{
	make_fake(64, 0);
	burst(100);
	STATS([ALLOC_FASTPATH] = 100, [FREE_FASTPATH] = 100);
	burst(200); /* off the fast path: 4 of 400, 1.00 % */
	STATS([ALLOC_FASTPATH] = 200, [FREE_FASTPATH] = 200, [BARN_GET] = 2, [BARN_PUT] = 2);
	burst(1000); /* 30 of 2000, 1.50 %; 10 of them go to the slabs, 0.50 % */
	CHILD_CHECK(stat(SHEAF_REFILL) == 300 && stat(SHEAF_FLUSH) == 300);
	CHILD_CHECK(stat(BARN_GET) == 10 && stat(BARN_GET_FAIL) == 5);
	CHILD_CHECK(stat(BARN_PUT) == 10 && stat(BARN_PUT_FAIL) == 5);
	CHILD_CHECK(stat(ALLOC_SLOWPATH) == 0);
	end_fake();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_main_is_empty),
		cmocka_unit_test(test_main_is_full),
		cmocka_unit_test(test_barn_exchanges),
		cmocka_unit_test(test_empty_one_of_the_barn),
		cmocka_unit_test(test_memory_is_short),
		cmocka_unit_test(test_bursts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
