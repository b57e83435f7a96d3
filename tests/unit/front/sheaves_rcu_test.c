/* SPDX-License-Identifier: MIT */
/*
 * unit/front/sheaves_rcu_test.c - the sheaf that collects what waits for RCU (spec A7)
 *
 * With objects, grace periods and mistakes: unit/cache/grace/sheaves_test.c.
 */
#include "manual_rcu.h"
#include "sheaves_fixture.h"

static void *objs[FAKE_OBJECTS];
static unsigned int released;

static void release(struct os_rcu_item *first)
{
	while (first) {
		struct sheaf *sheaf = container_of(first, struct sheaf, item);

		first = first->next;
		released++;
		sheaves_return(&front, sheaf);
	}
}

static bool gather(void *obj)
{
	return sheaves_gather(&front, obj, obj, release);
}

static void made(void)
{
	make_fake(256, 0);
	CHILD_CHECK(os_rcu_bind(&manual_rcu) == 0);
}

static bool is_it(const void *entry, const void *what)
{
	return entry == what;
}

/* 28 of them: the last one hands over, and they come back as a full sheaf. */
BOTH_MODES(test_full)
{
	made();
	take_out(objs, 28);
	for (unsigned int i = 0; i < 28; i++) {
		CHILD_CHECK(in_sheaf(cpu_state()->rcu_free) == (i ? (int)i : -1));
		CHILD_CHECK(gather(objs[i]));
		front.ops->check(&front);
	}
	CHILD_CHECK(!cpu_state()->rcu_free && front.ops->held(&front) == 0);
	STATS([FREE_RCU_SHEAF] = 28, [SHEAF_ALLOC] = 1);
	os_rcu_submit();
	rcu_grace();
	CHILD_CHECK(released == 1 && this_barn()->nr_full == 1 && front.ops->held(&front) == 28);
	STATS([BARN_PUT] = 1);
	end_fake();
}

/* A barn with ten does not take it; the sheaf stays as an empty one, as long as there are few. */
BOTH_MODES(test_barn_is_full)
{
	unsigned int node;

	made();
	node = os_cpu_to_node((unsigned int)cpu);
	for (unsigned int i = 0; i < BARN_MAX_FULL; i++) {
		struct sheaf *sheaf = sheaves_new(&front);

		CHILD_CHECK(sheaf && sheaves_fill(&front, sheaf, GFP_KERNEL));
		sheaves_put_full(&front, node, sheaf);
	}
	take_out(objs, 1);
	CHILD_CHECK(gather(objs[0]));
	STATS([SHEAF_ALLOC] = 11, [SHEAF_REFILL] = 280, [BARN_PUT] = 10, [FREE_RCU_SHEAF] = 1);
	sheaves_hand_over(&front, true);
	os_rcu_submit();
	rcu_grace();
	STATS([BARN_PUT_FAIL] = 1, [SHEAF_FLUSH] = 1);
	CHILD_CHECK(this_barn()->nr_empty == 1);
	/* the next one is that */
	take_out(objs, 2);
	CHILD_CHECK(gather(objs[0]) && gather(objs[1]) && this_barn()->nr_empty == 0);
	CHILD_CHECK(sheaves_find_waiting(&front, is_it, objs[1]));
	CHILD_CHECK(!sheaves_find_waiting(&front, is_it, &objs[1]));
	/* who drains wants them in their slabs */
	sheaves_hand_over(&front, false);
	os_rcu_submit();
	rcu_grace();
	STATS([FREE_RCU_SHEAF] = 2, [SHEAF_FLUSH] = 2, [SHEAF_FREE] = 1);
	CHILD_CHECK(released == 2);
	end_fake();
}

/* An empty spare is taken before one of the barn; nothing is done while somebody has the lock. */
BOTH_MODES(test_where_from)
{
	struct sheaf *spare;

	made();
	get_many(objs, 29);
	spare = cpu_state()->spare;
	CHILD_CHECK(in_sheaf(spare) == 0);
	cpu_state()->sheaf_lock.word = 1;
	CHILD_CHECK(!gather(objs[0]));
	cpu_state()->sheaf_lock.word = 0;
	CHILD_CHECK(stat(FREE_RCU_SHEAF_FAIL) == 1);
	CHILD_CHECK(gather(objs[0]) && cpu_state()->rcu_free == spare && !cpu_state()->spare);
	put_many(objs + 1, 28);
	sheaves_hand_over(&front, true);
	os_rcu_submit();
	rcu_grace();
	end_fake();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_barn_is_full),
		cmocka_unit_test(test_where_from),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
