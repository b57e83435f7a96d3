/* SPDX-License-Identifier: MIT */
/*
 * unit/front/depot_test.c - sheaves as addresses, bounded stacks, lanes, exchanges, counts
 */
#include "front/depot.h"
#include "fake_engine.h"

#define CAPACITY 20u
#define BOTTOM ((void *)(uintptr_t)(USLAB_SHEAF_CAPACITY - CAPACITY)) /* its index */

static struct depot depot;
static const struct depot_limits limits = { .capacity = CAPACITY, .max_full = 3, .max_empty = 2 };

/* Made-up CPUs, so that the thread stays on one; two of them share each of the first lanes. */
static void make(void)
{
	floors_init(DEPOT_LANES + 2, 1);
	os_act_as_cpu(0);
	depot_init(&depot, &limits);
}

/* A sheaf with n made-up objects. */
static uintptr_t sheaf_of(unsigned int n, uintptr_t mark)
{
	uintptr_t top = sheaf_new(CAPACITY);

	CHILD_CHECK(top);
	while (n--) {
		top += sizeof(void *);
		*(void **)top = (void *)mark++;
	}
	return top;
}

IN_CHILD(test_sheaf_arithmetic)
{
	make();
	for (unsigned int capacity = 1; capacity <= USLAB_SHEAF_CAPACITY; capacity++) {
		uintptr_t top = sheaf_new(capacity);
		void **base = sheaf_base(top);

		CHILD_CHECK(((uintptr_t)base & (USLAB_SHEAF_SIZE - 1)) == 0);
		CHILD_CHECK(sheaf_index(top) == USLAB_SHEAF_CAPACITY - capacity);
		CHILD_CHECK(sheaf_capacity(top) == capacity);
		CHILD_CHECK(sheaf_count(top) == 0 && sheaf_room(top) == capacity);
		CHILD_CHECK(sheaf_count_at(top, capacity) == 0);
		CHILD_CHECK(*(void **)top == NULL); /* pop misses */
		top += capacity * sizeof(void *);
		CHILD_CHECK(sheaf_base(top) == base && sheaf_count(top) == capacity);
		CHILD_CHECK(sheaf_count_at(top, capacity) == capacity && sheaf_room(top) == 0);
		CHILD_CHECK((top & 255) == USLAB_SHEAF_FULL); /* push misses */
		sheaf_delete(top);
	}
}

IN_CHILD(test_sheaves_are_zero_again)
{
	size_t used;
	uintptr_t top;

	make();
	used = meta_counters.used;
	top = sheaf_of(CAPACITY, 1);
	CHILD_CHECK(meta_counters.used == used + USLAB_SHEAF_SIZE);
	sheaf_delete(top);
	CHILD_CHECK(meta_counters.used == used);
	top = sheaf_new(CAPACITY);
	for (unsigned int i = 1; i <= USLAB_SHEAF_CAPACITY; i++)
		CHILD_CHECK(!sheaf_base(top)[i]);
	CHILD_CHECK(sheaf_base(top)[0] == BOTTOM);
	meta_check();
}

IN_CHILD(test_full_stack)
{
	uintptr_t sheaf[4];

	make();
	CHILD_CHECK(depot_get_full(&depot) == 0);
	for (unsigned int i = 0; i < 4; i++)
		sheaf[i] = sheaf_of(CAPACITY - i, 100);
	for (unsigned int i = 0; i < 3; i++)
		CHILD_CHECK(depot_put_full(&depot, sheaf[i]));
	CHILD_CHECK(depot.nr_full == 3 && depot.nr_objects == 3 * CAPACITY - 3);
	CHILD_CHECK(!depot_put_full(&depot, sheaf[3]));
	CHILD_CHECK(sheaf_base(sheaf[3])[0] == BOTTOM);
	depot_check(&depot);
	/* newest first, each as it was left, with its own bottom in place of the link */
	for (unsigned int i = 3; i-- > 0;) {
		CHILD_CHECK(depot_get_full(&depot) == sheaf[i]);
		CHILD_CHECK(sheaf_base(sheaf[i])[0] == BOTTOM);
		CHILD_CHECK(depot.nr_full == i);
		depot_check(&depot);
	}
	CHILD_CHECK(depot.nr_objects == 0 && depot_get_full(&depot) == 0);
	for (unsigned int i = 0; i < CAPACITY; i++)
		CHILD_CHECK(((uintptr_t *)sheaf[0])[-(long)i] == 100 + CAPACITY - 1 - i);
}

IN_CHILD(test_empty_stack)
{
	uintptr_t a;
	uintptr_t b;
	uintptr_t c;

	make();
	a = sheaf_of(0, 0);
	b = sheaf_of(0, 0);
	c = sheaf_of(0, 0);
	CHILD_CHECK(depot_get_empty(&depot) == 0);
	CHILD_CHECK(depot_put_empty(&depot, a) && depot_put_empty(&depot, b));
	CHILD_CHECK(!depot_put_empty(&depot, c));
	CHILD_CHECK(depot.nr_empty == 2 && depot.nr_objects == 0);
	depot_check(&depot);
	CHILD_CHECK(depot_get_empty(&depot) == b && depot_get_empty(&depot) == a);
	CHILD_CHECK(sheaf_base(a)[0] == BOTTOM && sheaf_base(b)[0] == BOTTOM);
	CHILD_CHECK(depot_get_empty(&depot) == 0);
}

/* A full one for an empty one: only when both stacks agree. */
IN_CHILD(test_exchange_full)
{
	uintptr_t full = 0;
	uintptr_t empty;

	make();
	full = sheaf_of(CAPACITY, 1);
	CHILD_CHECK(depot_exchange_full(&depot, full) == 0); /* no empty one */
	CHILD_CHECK(depot.nr_full == 0);
	empty = sheaf_of(0, 0);
	CHILD_CHECK(depot_put_empty(&depot, empty));
	CHILD_CHECK(depot_exchange_full(&depot, full) == empty);
	CHILD_CHECK(depot.nr_full == 1 && depot.nr_empty == 0 && depot.nr_objects == CAPACITY);
	depot_check(&depot);
	/* no room for one more full one */
	CHILD_CHECK(depot_put_full(&depot, sheaf_of(1, 1)));
	CHILD_CHECK(depot_put_full(&depot, sheaf_of(1, 1)));
	CHILD_CHECK(depot_put_empty(&depot, empty));
	CHILD_CHECK(depot_exchange_full(&depot, sheaf_of(CAPACITY, 1)) == 0);
	CHILD_CHECK(depot.nr_full == 3 && depot.nr_empty == 1);
}

IN_CHILD(test_exchange_empty)
{
	uintptr_t full;
	uintptr_t empty;

	make();
	empty = sheaf_of(0, 0);
	CHILD_CHECK(depot_exchange_empty(&depot, empty) == 0); /* no full one */
	full = sheaf_of(7, 1);
	CHILD_CHECK(depot_put_full(&depot, full));
	CHILD_CHECK(depot_exchange_empty(&depot, empty) == full);
	CHILD_CHECK(depot.nr_full == 0 && depot.nr_empty == 1 && depot.nr_objects == 0);
	depot_check(&depot);
	/* no room for one more empty one */
	CHILD_CHECK(depot_put_empty(&depot, sheaf_of(0, 0)));
	CHILD_CHECK(depot_put_full(&depot, full));
	CHILD_CHECK(depot_exchange_empty(&depot, sheaf_of(0, 0)) == 0);
	CHILD_CHECK(depot.nr_full == 1 && depot.nr_empty == 2);
}

static void put_as(unsigned int cpu, uintptr_t top)
{
	os_act_as_cpu(cpu);
	CHILD_CHECK(depot_put_full(&depot, top));
	depot_check(&depot);
}

static uintptr_t get_as(unsigned int cpu)
{
	os_act_as_cpu(cpu);
	return depot_get_full(&depot);
}

/* A CPU gets what it has put there, newest first, then what others have; nothing is lost. */
IN_CHILD(test_lanes)
{
	uintptr_t a, b, c;

	make();
	put_as(1, a = sheaf_of(1, 1));
	put_as(2, b = sheaf_of(2, 1));
	put_as(1, c = sheaf_of(3, 1));
	CHILD_CHECK(get_as(1) == c && get_as(1) == a && get_as(1) == b);
	CHILD_CHECK(get_as(1) == 0 && get_as(2) == 0);
	put_as(7, a);
	put_as(0, b);
	CHILD_CHECK(get_as(5) == a); /* the next one, and around */
	CHILD_CHECK(get_as(5) == b);
	depot_check(&depot);
}

/* CPUs beyond the lanes share them. */
IN_CHILD(test_lanes_are_shared)
{
	uintptr_t a, b;

	make();
	put_as(0, a = sheaf_of(1, 1));
	put_as(1, b = sheaf_of(1, 1));
	CHILD_CHECK(get_as(DEPOT_LANES) == a && get_as(DEPOT_LANES + 1) == b);
}

/* Both exchanges use the lane of the CPU; all lanes have one limit. */
IN_CHILD(test_exchanges_by_lane)
{
	uintptr_t a, b, empty;

	make();
	CHILD_CHECK(depot_put_empty(&depot, empty = sheaf_of(0, 0)));
	os_act_as_cpu(3);
	CHILD_CHECK(depot_exchange_full(&depot, a = sheaf_of(1, 1)) == empty);
	put_as(2, b = sheaf_of(1, 1));
	put_as(1, sheaf_of(1, 1));
	CHILD_CHECK(!depot_put_full(&depot, sheaf_of(1, 1)));
	os_act_as_cpu(3);
	CHILD_CHECK(depot_exchange_empty(&depot, empty) == a);
	os_act_as_cpu(2);
	CHILD_CHECK(depot_exchange_empty(&depot, sheaf_of(0, 0)) == b);
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
	CHILD_CHECK(depot_shrink_full(&depot) == other);
	CHILD_CHECK(depot_shrink_full(&depot) == own);
	CHILD_CHECK(!depot_shrink_full(&depot));
	depot_check(&depot);
}

/* In a sheaf of 31 the link lies in the NULL at the bottom, in smaller ones below it. */
IN_CHILD(test_largest_capacity)
{
	const struct depot_limits most = { USLAB_SHEAF_CAPACITY, 3, 2 };
	uintptr_t top;

	make();
	depot_init(&depot, &most);
	top = sheaf_new(USLAB_SHEAF_CAPACITY);
	CHILD_CHECK(depot_put_empty(&depot, top));
	CHILD_CHECK(depot_put_empty(&depot, sheaf_new(USLAB_SHEAF_CAPACITY)));
	depot_check(&depot);
	CHILD_CHECK(*(void **)depot_get_empty(&depot) == NULL);
	CHILD_CHECK(*(void **)depot_get_empty(&depot) == NULL);
}

/* Sheaves of another capacity are refused, which is no overflow. */
IN_CHILD(test_other_capacities)
{
	uintptr_t empty;
	uintptr_t full;

	make();
	empty = sheaf_new(CAPACITY - 1);
	full = sheaf_new(CAPACITY + 1) + sizeof(void *);
	*(void **)full = &depot;
	CHILD_CHECK(!depot_put_empty(&depot, empty) && !depot_put_full(&depot, full));
	CHILD_CHECK(depot_put_empty(&depot, sheaf_of(0, 0)));
	CHILD_CHECK(depot_put_full(&depot, sheaf_of(CAPACITY, 1)));
	CHILD_CHECK(!depot_exchange_empty(&depot, empty) && !depot_exchange_full(&depot, full));
	CHILD_CHECK(sheaf_capacity(empty) == CAPACITY - 1 && sheaf_count(full) == 1);
	CHILD_CHECK(depot.nr_full == 1 && depot.nr_empty == 1 && depot.nr_overflows == 0);
	for (unsigned int i = 0; i < 2; i++)
		CHILD_CHECK(depot_put_full(&depot, sheaf_of(CAPACITY, 1)));
	CHILD_CHECK(!depot_put_full(&depot, full) && !depot_exchange_full(&depot, full));
	CHILD_CHECK(depot.nr_overflows == 0);
	depot_check(&depot);
}

/* All that it had is in another depot then; what was counted goes on. */
IN_CHILD(test_renew)
{
	const struct depot_limits five = { 5, 7, 8 };
	const struct depot_limits none = { 0, 0, 0 };
	struct depot old;

	make();
	for (unsigned int cpu = 0; cpu < 3; cpu++) {
		os_act_as_cpu(cpu);
		CHILD_CHECK(depot_put_full(&depot, sheaf_of(CAPACITY - cpu, 1)));
	}
	CHILD_CHECK(depot_put_empty(&depot, sheaf_of(0, 0)));
	CHILD_CHECK(!depot_put_full(&depot, sheaf_of(1, 1)));
	depot_renew(&depot, &five, &old);
	CHILD_CHECK(depot.nr_full == 0 && depot.nr_empty == 0 && depot.nr_objects == 0);
	CHILD_CHECK(depot.max_full == 7 && depot.base_full == 7 && depot.max_empty == 8);
	CHILD_CHECK(depot.nr_overflows == 1 && !depot_may_underflow(&depot));
	depot_check(&depot);
	CHILD_CHECK(old.nr_full == 3 && old.nr_objects == 3 * CAPACITY - 3);
	for (unsigned int i = 0; i < 3; i++)
		CHILD_CHECK(sheaf_capacity(depot_get_full(&old)) == CAPACITY);
	CHILD_CHECK(sheaf_capacity(depot_get_empty(&old)) == CAPACITY);
	CHILD_CHECK(!depot_get_full(&old) && !depot_get_empty(&old));
	CHILD_CHECK(!depot_put_full(&depot, sheaf_of(CAPACITY, 1)));
	CHILD_CHECK(depot_put_full(&depot, sheaf_new(5) + sizeof(void *)));
	depot_check(&depot);

	depot_renew(&depot, &none, &old);
	CHILD_CHECK(!depot_put_empty(&depot, sheaf_new(5)) && depot.nr_overflows == 1);
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
		CHILD_CHECK(depot_put_full(&depot, sheaf_of(CAPACITY, 1)));
}

/* An overflow, and empty within two epochs, is an underflow; once. */
IN_CHILD(test_underflows)
{
	make();
	depot_clock = clock_of_test;
	now = 1000ul * DEPOT_EPOCH_MS;
	fill(3);
	CHILD_CHECK(!depot_may_underflow(&depot) && !depot_underflows(&depot));
	CHILD_CHECK(!depot_put_full(&depot, sheaf_of(CAPACITY, 1)));
	CHILD_CHECK(depot_exchange_full(&depot, sheaf_of(CAPACITY, 1)) == 0);
	CHILD_CHECK(depot.overflows == 2 && depot.nr_overflows == 2 && depot_may_underflow(&depot));
	now += DEPOT_EPOCH_MS;
	CHILD_CHECK(depot_underflows(&depot) && depot.nr_underflows == 1);
	CHILD_CHECK(!depot_may_underflow(&depot) && !depot_underflows(&depot));
	CHILD_CHECK(!depot_put_full(&depot, sheaf_of(CAPACITY, 1)));
	now += 2 * DEPOT_EPOCH_MS;
	CHILD_CHECK(depot_may_underflow(&depot) && !depot_underflows(&depot));
	CHILD_CHECK(depot.nr_underflows == 1 && depot.nr_overflows == 3);
}

/* An exchange that fails for want of an empty sheaf is no overflow. */
IN_CHILD(test_no_empty_sheaf_is_no_overflow)
{
	make();
	CHILD_CHECK(depot_exchange_full(&depot, sheaf_of(CAPACITY, 1)) == 0);
	CHILD_CHECK(depot.overflows == 0);
}

/* max_full 3 and max_empty 2 at first. Empty sheaves may be as many as full ones. */
IN_CHILD(test_raise_and_shrink)
{
	make();
	depot_raise(&depot, 4);
	CHILD_CHECK(depot.max_full == 7 && depot.max_empty == 7);
	fill(7);
	for (unsigned int i = 0; i < 7; i++)
		CHILD_CHECK(depot_put_empty(&depot, sheaf_of(0, 0)));
	CHILD_CHECK(!depot_shrink_empty(&depot));
	for (unsigned int i = 7; i-- > 3;) {
		CHILD_CHECK(depot_shrink_full(&depot));
		CHILD_CHECK(depot.nr_full == i && depot.max_full == i && depot.max_empty == 7);
		depot_check(&depot);
	}
	for (unsigned int i = 7; i-- > 3;) {
		CHILD_CHECK(depot_shrink_empty(&depot));
		CHILD_CHECK(depot.nr_empty == i && depot.max_empty == i);
		depot_check(&depot);
	}
	/* never less than at first */
	CHILD_CHECK(!depot_shrink_full(&depot) && !depot_shrink_empty(&depot));
}

/* Space is taken away only where no sheaf lies. */
IN_CHILD(test_lower)
{
	make();
	depot_raise(&depot, 10);
	fill(5);
	depot_lower(&depot, 3);
	CHILD_CHECK(depot.max_full == 10);
	depot_lower(&depot, 100);
	CHILD_CHECK(depot.max_full == 5);
	while (depot_get_full(&depot)) {}
	depot_lower(&depot, 100);
	CHILD_CHECK(depot.max_full == 3);
}

IN_CHILD(test_epochs)
{
	struct depot_surplus last;
	uintptr_t top;

	make();
	depot_raise(&depot, 7);
	CHILD_CHECK(depot_put_empty(&depot, sheaf_of(0, 0)));
	fill(6);
	last = depot_next_epoch(&depot); /* it was empty at first */
	CHILD_CHECK(last.full == 0 && last.empty == 0 && last.unused == 4);
	CHILD_CHECK((top = depot_get_full(&depot)));
	CHILD_CHECK(depot_get_full(&depot));
	CHILD_CHECK(depot_put_full(&depot, top));
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
		CHILD_CHECK(depot_shrink_full(&depot));
	depot_check(&depot);
	last = depot_next_epoch(&depot);
	CHILD_CHECK(last.full == 6 && last.unused == 0);
}

/* Each wrong number makes the check die. arg: which. */
static void spoil(void *arg)
{
	make();
	CHILD_CHECK(depot_put_full(&depot, sheaf_of(5, 1)));
	CHILD_CHECK(depot_put_empty(&depot, sheaf_of(0, 0)));
	depot_check(&depot);
	switch (*(int *)arg) {
	case 0:
		depot.nr_full++;
		break;
	case 1:
		depot.nr_empty--;
		break;
	case 2:
		depot.nr_objects++;
		break;
	case 3: /* a circle */
		sheaf_base(depot.full[0])[0] = (void *)depot.full[0];
		break;
	case 4: /* an empty one among the full */
		depot.full[0] = depot.empty;
		break;
	case 5:
		depot.empty = depot.full[0];
		break;
	case 6:
		depot.low_full = 2;
		break;
	case 7:
		depot.high_full = 0;
		break;
	case 8:
		depot.high_full = depot.max_full + 1;
		break;
	case 9:
		depot.low_empty = 2;
		break;
	case 10: /* in two lanes */
		depot.full[5] = depot.full[0];
		break;
	}
	depot_check(&depot);
}

static void test_check_finds(void **state)
{
	(void)state;
	for (int what = 0; what <= 10; what++) {
		struct child c = child_run(spoil, &what);

		assert_true(child_aborted(&c));
		assert_non_null(strstr(c.text, "front/depot.c"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sheaf_arithmetic),
		cmocka_unit_test(test_sheaves_are_zero_again),
		cmocka_unit_test(test_full_stack),
		cmocka_unit_test(test_empty_stack),
		cmocka_unit_test(test_exchange_full),
		cmocka_unit_test(test_exchange_empty),
		cmocka_unit_test(test_lanes),
		cmocka_unit_test(test_lanes_are_shared),
		cmocka_unit_test(test_exchanges_by_lane),
		cmocka_unit_test(test_shrink_by_lane),
		cmocka_unit_test(test_largest_capacity),
		cmocka_unit_test(test_other_capacities),
		cmocka_unit_test(test_renew),
		cmocka_unit_test(test_underflows),
		cmocka_unit_test(test_no_empty_sheaf_is_no_overflow),
		cmocka_unit_test(test_raise_and_shrink),
		cmocka_unit_test(test_lower),
		cmocka_unit_test(test_epochs),
		cmocka_unit_test(test_epoch_after_shrink),
		cmocka_unit_test(test_check_finds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
