/* SPDX-License-Identifier: MIT */
/*
 * unit/front/depot_limit_test.c - more space and less, epochs, overflows, depots that begin anew
 */
#include "depot_fixture.h"

/* Less space for all: what lanes may have and do not use is gone first. */
IN_CHILD(test_quotas_of_less)
{
	make_large();
	depot_raise(&depot, 64);
	for (unsigned int cpu = 0; cpu < 8; cpu++)
		fill_as(cpu, 10);
	depot_lower(&depot, 100);
	CHILD_CHECK(depot.max[DEPOT_FULL] == 80 && depot.left[DEPOT_FULL] == 0);
	depot_check(&depot);
	os_act_as_cpu(3);
	CHILD_CHECK(!depot_put(&depot, DEPOT_FULL, sheaf_of(1, 1)));
	CHILD_CHECK(depot_get(&depot, DEPOT_FULL));
	os_act_as_cpu(4);
	CHILD_CHECK(depot_put(&depot, DEPOT_FULL, sheaf_of(1, 1)));
	depot_check(&depot);
}

/* What goes back to the slabs is another CPU's first. */
IN_CHILD(test_shrink_by_lane)
{
	uintptr_t own, other;

	make();
	depot_raise(&depot, 2);
	for (unsigned int i = 0; i < 3; i++)
		put_as(1, sheaf_of(1, 1));
	put_as(6, other = sheaf_of(1, 1));
	put_as(1, own = sheaf_of(1, 1));
	CHILD_CHECK(depot_shrink(&depot, DEPOT_FULL) == other);
	CHILD_CHECK(depot_shrink(&depot, DEPOT_FULL) == own);
	CHILD_CHECK(!depot_shrink(&depot, DEPOT_FULL));
	depot_check(&depot);
}

/* First those that lay in one lane for all of an epoch, whoever asks. */
IN_CHILD(test_shrink_by_use)
{
	make();
	depot_raise(&depot, 20);
	fill_as(1, 2);
	fill_as(4, 5);
	depot_next_epoch(&depot);
	os_act_as_cpu(0);
	for (unsigned int i = 5; i-- > 2;) {
		CHILD_CHECK(depot_shrink(&depot, DEPOT_FULL));
		CHILD_CHECK(depot.lanes[4].stack[DEPOT_FULL].nr == i);
	}
	depot_check(&depot);
}

/* All that it had is in another depot then; what was counted goes on. */
IN_CHILD(test_renew)
{
	const struct depot_limits five = { 5, 7, 8 };
	const struct depot_limits none = { 0, 0, 0 };
	struct depot_rest old;

	make();
	for (unsigned int cpu = 0; cpu < 3; cpu++) {
		os_act_as_cpu(cpu);
		CHILD_CHECK(depot_put(&depot, DEPOT_FULL, sheaf_of(CAPACITY - cpu, 1)));
	}
	CHILD_CHECK(depot_put(&depot, DEPOT_EMPTY, sheaf_of(0, 0)));
	CHILD_CHECK(!depot_put(&depot, DEPOT_FULL, sheaf_of(1, 1)));
	depot_renew(&depot, &five, &old);
	CHILD_CHECK(depot_count(&depot, DEPOT_FULL) == 0 && depot_count(&depot, DEPOT_EMPTY) == 0 &&
		    depot_objects(&depot) == 0);
	CHILD_CHECK(depot.max[DEPOT_FULL] == 7 && depot.base[DEPOT_FULL] == 7 &&
		    depot.max[DEPOT_EMPTY] == 8);
	CHILD_CHECK(depot.nr_overflows == 1 && !depot_may_underflow(&depot));
	depot_check(&depot);
	CHILD_CHECK(depot_count(&old.depot, DEPOT_FULL) == 3 &&
		    depot_objects(&old.depot) == 3 * CAPACITY - 3);
	for (unsigned int i = 0; i < 3; i++)
		CHILD_CHECK(sheaf_capacity(depot_take(&old.depot, DEPOT_FULL)) == CAPACITY);
	CHILD_CHECK(sheaf_capacity(depot_take(&old.depot, DEPOT_EMPTY)) == CAPACITY);
	CHILD_CHECK(!depot_take(&old.depot, DEPOT_FULL) && !depot_take(&old.depot, DEPOT_EMPTY));
	CHILD_CHECK(!depot_put(&depot, DEPOT_FULL, sheaf_of(CAPACITY, 1)));
	CHILD_CHECK(depot_put(&depot, DEPOT_FULL, sheaf_new(5) + sizeof(void *)));
	depot_check(&depot);

	depot_renew(&depot, &none, &old);
	CHILD_CHECK(!depot_put(&depot, DEPOT_EMPTY, sheaf_new(5)) && depot.nr_overflows == 1);
	depot_check(&depot);
}

static uint64_t now;

static uint64_t clock_of_test(void)
{
	return now;
}

static void fill(unsigned int sheaves)
{
	while (sheaves--)
		CHILD_CHECK(depot_put(&depot, DEPOT_FULL, sheaf_of(CAPACITY, 1)));
}

/* An overflow, and empty within two epochs, is an underflow; once. */
IN_CHILD(test_underflows)
{
	make();
	depot_clock = clock_of_test;
	now = 1000ul * DEPOT_EPOCH_MS;
	fill(3);
	CHILD_CHECK(!depot_may_underflow(&depot) && !depot_underflows(&depot));
	CHILD_CHECK(!depot_put(&depot, DEPOT_FULL, sheaf_of(CAPACITY, 1)));
	CHILD_CHECK(depot_exchange(&depot, DEPOT_FULL, sheaf_of(CAPACITY, 1)) == 0);
	CHILD_CHECK(depot.overflows == 2 && depot.nr_overflows == 2 && depot_may_underflow(&depot));
	now += DEPOT_EPOCH_MS;
	CHILD_CHECK(depot_underflows(&depot) == 2 && depot.nr_underflows == 1);
	CHILD_CHECK(!depot_may_underflow(&depot) && !depot_underflows(&depot));
	CHILD_CHECK(!depot_put(&depot, DEPOT_FULL, sheaf_of(CAPACITY, 1)));
	now += 2 * DEPOT_EPOCH_MS;
	CHILD_CHECK(depot_may_underflow(&depot) && !depot_underflows(&depot));
	CHILD_CHECK(depot.nr_underflows == 1 && depot.nr_overflows == 3);
}

/* max_full 3 and max_empty 2 at first. Empty sheaves may be as many as full ones. */
IN_CHILD(test_raise_and_shrink)
{
	make();
	depot_raise(&depot, 4);
	CHILD_CHECK(depot.max[DEPOT_FULL] == 7 && depot.max[DEPOT_EMPTY] == 7);
	fill(7);
	for (unsigned int i = 0; i < 7; i++)
		CHILD_CHECK(depot_put(&depot, DEPOT_EMPTY, sheaf_of(0, 0)));
	CHILD_CHECK(!depot_shrink(&depot, DEPOT_EMPTY));
	for (unsigned int i = 7; i-- > 3;) {
		CHILD_CHECK(depot_shrink(&depot, DEPOT_FULL));
		CHILD_CHECK(depot_count(&depot, DEPOT_FULL) == i && depot.max[DEPOT_FULL] == i &&
			    depot.max[DEPOT_EMPTY] == 7);
		depot_check(&depot);
	}
	for (unsigned int i = 7; i-- > 3;) {
		CHILD_CHECK(depot_shrink(&depot, DEPOT_EMPTY));
		CHILD_CHECK(depot_count(&depot, DEPOT_EMPTY) == i && depot.max[DEPOT_EMPTY] == i);
		depot_check(&depot);
	}
	/* never less than at first */
	CHILD_CHECK(!depot_shrink(&depot, DEPOT_FULL) && !depot_shrink(&depot, DEPOT_EMPTY));
}

/* Space is taken away only where no sheaf lies. */
IN_CHILD(test_lower)
{
	make();
	depot_raise(&depot, 10);
	fill(5);
	depot_lower(&depot, 3);
	CHILD_CHECK(depot.max[DEPOT_FULL] == 10);
	depot_lower(&depot, 100);
	CHILD_CHECK(depot.max[DEPOT_FULL] == 5);
	while (depot_get(&depot, DEPOT_FULL)) {}
	depot_lower(&depot, 100);
	CHILD_CHECK(depot.max[DEPOT_FULL] == 3);
}

IN_CHILD(test_epochs)
{
	struct depot_surplus last;
	uintptr_t top;

	make();
	depot_raise(&depot, 7);
	CHILD_CHECK(depot_put(&depot, DEPOT_EMPTY, sheaf_of(0, 0)));
	fill(6);
	last = depot_next_epoch(&depot); /* it was empty at first */
	CHILD_CHECK(last.full == 0 && last.empty == 0 && last.unused == 4);
	CHILD_CHECK((top = depot_get(&depot, DEPOT_FULL)));
	CHILD_CHECK(depot_get(&depot, DEPOT_FULL));
	CHILD_CHECK(depot_put(&depot, DEPOT_FULL, top));
	last = depot_next_epoch(&depot);
	CHILD_CHECK(last.full == 4 && last.empty == 1 && last.unused == 4);
	fill(3);
	last = depot_next_epoch(&depot);
	CHILD_CHECK(last.full == 5 && last.empty == 1 && last.unused == 2);
}

/* What a reap gave back, with its space, is no space that nobody used. */
IN_CHILD(test_epoch_after_shrink)
{
	struct depot_surplus last;

	make();
	depot_raise(&depot, 7);
	fill(10);
	depot_next_epoch(&depot);
	for (unsigned int i = 0; i < 4; i++)
		CHILD_CHECK(depot_shrink(&depot, DEPOT_FULL));
	depot_check(&depot);
	last = depot_next_epoch(&depot);
	CHILD_CHECK(last.full == 6 && last.unused == 0);
}

/* Within an epoch: what was not used since is told once more, space is not. */
IN_CHILD(test_look)
{
	struct depot_surplus last;
	uintptr_t top;

	make();
	depot_raise(&depot, 4);
	fill(6);
	last = depot_look(&depot);
	CHILD_CHECK(last.full == 0 && last.empty == 0 && last.unused == 0);
	CHILD_CHECK((top = depot_get(&depot, DEPOT_FULL)));
	CHILD_CHECK(depot_put(&depot, DEPOT_FULL, top));
	last = depot_look(&depot);
	CHILD_CHECK(last.full == 5 && last.unused == 0);
	for (unsigned int i = 0; i < 4; i++)
		CHILD_CHECK(depot_get(&depot, DEPOT_FULL));
	depot_look(&depot);
	depot_check(&depot);
	last = depot_next_epoch(&depot); /* the most that there were is known still */
	CHILD_CHECK(last.full == 2 && last.unused == depot.max[DEPOT_FULL] - 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quotas_of_less),
		cmocka_unit_test(test_shrink_by_lane),
		cmocka_unit_test(test_shrink_by_use),
		cmocka_unit_test(test_renew),
		cmocka_unit_test(test_underflows),
		cmocka_unit_test(test_raise_and_shrink),
		cmocka_unit_test(test_lower),
		cmocka_unit_test(test_epochs),
		cmocka_unit_test(test_epoch_after_shrink),
		cmocka_unit_test(test_look),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
