/* SPDX-License-Identifier: MIT */
/*
 * unit/front/depot_test.c - sheaves as addresses, bounded stacks, exchanges, counts
 */
#include "depot_fixture.h"

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
	CHILD_CHECK(depot_get(&depot, DEPOT_FULL) == 0);
	for (unsigned int i = 0; i < 4; i++)
		sheaf[i] = sheaf_of(CAPACITY - i, 100);
	for (unsigned int i = 0; i < 3; i++)
		CHILD_CHECK(depot_put(&depot, DEPOT_FULL, sheaf[i]));
	CHILD_CHECK(depot_count(&depot, DEPOT_FULL) == 3 &&
		    depot_objects(&depot) == 3 * CAPACITY - 3);
	CHILD_CHECK(!depot_put(&depot, DEPOT_FULL, sheaf[3]));
	CHILD_CHECK(sheaf_base(sheaf[3])[0] == BOTTOM);
	depot_check(&depot);
	/* newest first, each as it was left, with its own bottom in place of the link */
	for (unsigned int i = 3; i-- > 0;) {
		CHILD_CHECK(depot_get(&depot, DEPOT_FULL) == sheaf[i]);
		CHILD_CHECK(sheaf_base(sheaf[i])[0] == BOTTOM);
		CHILD_CHECK(depot_count(&depot, DEPOT_FULL) == i);
		depot_check(&depot);
	}
	CHILD_CHECK(depot_objects(&depot) == 0 && depot_get(&depot, DEPOT_FULL) == 0);
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
	CHILD_CHECK(depot_get(&depot, DEPOT_EMPTY) == 0);
	CHILD_CHECK(depot_put(&depot, DEPOT_EMPTY, a) && depot_put(&depot, DEPOT_EMPTY, b));
	CHILD_CHECK(!depot_put(&depot, DEPOT_EMPTY, c));
	CHILD_CHECK(depot_count(&depot, DEPOT_EMPTY) == 2 && depot_objects(&depot) == 0);
	depot_check(&depot);
	CHILD_CHECK(depot_get(&depot, DEPOT_EMPTY) == b && depot_get(&depot, DEPOT_EMPTY) == a);
	CHILD_CHECK(sheaf_base(a)[0] == BOTTOM && sheaf_base(b)[0] == BOTTOM);
	CHILD_CHECK(depot_get(&depot, DEPOT_EMPTY) == 0);
}

/* A full one for an empty one: only when both stacks agree. */
IN_CHILD(test_exchange_full)
{
	uintptr_t full = 0;
	uintptr_t empty;

	make();
	full = sheaf_of(CAPACITY, 1);
	CHILD_CHECK(depot_exchange(&depot, DEPOT_FULL, full) == 0); /* no empty one */
	CHILD_CHECK(depot_count(&depot, DEPOT_FULL) == 0);
	empty = sheaf_of(0, 0);
	CHILD_CHECK(depot_put(&depot, DEPOT_EMPTY, empty));
	CHILD_CHECK(depot_exchange(&depot, DEPOT_FULL, full) == empty);
	CHILD_CHECK(depot_count(&depot, DEPOT_FULL) == 1 && depot_count(&depot, DEPOT_EMPTY) == 0 &&
		    depot_objects(&depot) == CAPACITY);
	depot_check(&depot);
	/* no room for one more full one */
	CHILD_CHECK(depot_put(&depot, DEPOT_FULL, sheaf_of(1, 1)));
	CHILD_CHECK(depot_put(&depot, DEPOT_FULL, sheaf_of(1, 1)));
	CHILD_CHECK(depot_put(&depot, DEPOT_EMPTY, empty));
	CHILD_CHECK(depot_exchange(&depot, DEPOT_FULL, sheaf_of(CAPACITY, 1)) == 0);
	CHILD_CHECK(depot_count(&depot, DEPOT_FULL) == 3 && depot_count(&depot, DEPOT_EMPTY) == 1);
}

IN_CHILD(test_exchange_empty)
{
	uintptr_t full;
	uintptr_t empty;

	make();
	empty = sheaf_of(0, 0);
	CHILD_CHECK(depot_exchange(&depot, DEPOT_EMPTY, empty) == 0); /* no full one */
	full = sheaf_of(7, 1);
	CHILD_CHECK(depot_put(&depot, DEPOT_FULL, full));
	CHILD_CHECK(depot_exchange(&depot, DEPOT_EMPTY, empty) == full);
	CHILD_CHECK(depot_count(&depot, DEPOT_FULL) == 0 && depot_count(&depot, DEPOT_EMPTY) == 1 &&
		    depot_objects(&depot) == 0);
	depot_check(&depot);
	/* no room for one more empty one */
	CHILD_CHECK(depot_put(&depot, DEPOT_EMPTY, sheaf_of(0, 0)));
	CHILD_CHECK(depot_put(&depot, DEPOT_FULL, full));
	CHILD_CHECK(depot_exchange(&depot, DEPOT_EMPTY, sheaf_of(0, 0)) == 0);
	CHILD_CHECK(depot_count(&depot, DEPOT_FULL) == 1 && depot_count(&depot, DEPOT_EMPTY) == 2);
}

/* In a sheaf of 31 the link lies in the NULL at the bottom, in smaller ones below it. */
IN_CHILD(test_largest_capacity)
{
	const struct depot_limits most = { USLAB_SHEAF_CAPACITY, 3, 2 };
	uintptr_t top;

	make();
	depot = (struct depot){ 0 };
	depot_init(&depot, &most);
	top = sheaf_new(USLAB_SHEAF_CAPACITY);
	CHILD_CHECK(depot_put(&depot, DEPOT_EMPTY, top));
	CHILD_CHECK(depot_put(&depot, DEPOT_EMPTY, sheaf_new(USLAB_SHEAF_CAPACITY)));
	depot_check(&depot);
	CHILD_CHECK(*(void **)depot_get(&depot, DEPOT_EMPTY) == NULL);
	CHILD_CHECK(*(void **)depot_get(&depot, DEPOT_EMPTY) == NULL);
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
	CHILD_CHECK(!depot_put(&depot, DEPOT_EMPTY, empty) && !depot_put(&depot, DEPOT_FULL, full));
	CHILD_CHECK(depot_put(&depot, DEPOT_EMPTY, sheaf_of(0, 0)));
	CHILD_CHECK(depot_put(&depot, DEPOT_FULL, sheaf_of(CAPACITY, 1)));
	CHILD_CHECK(!depot_exchange(&depot, DEPOT_EMPTY, empty) &&
		    !depot_exchange(&depot, DEPOT_FULL, full));
	CHILD_CHECK(sheaf_capacity(empty) == CAPACITY - 1 && sheaf_count(full) == 1);
	CHILD_CHECK(depot_count(&depot, DEPOT_FULL) == 1 && depot_count(&depot, DEPOT_EMPTY) == 1 &&
		    depot.nr_overflows == 0);
	for (unsigned int i = 0; i < 2; i++)
		CHILD_CHECK(depot_put(&depot, DEPOT_FULL, sheaf_of(CAPACITY, 1)));
	CHILD_CHECK(!depot_put(&depot, DEPOT_FULL, full) &&
		    !depot_exchange(&depot, DEPOT_FULL, full));
	CHILD_CHECK(depot.nr_overflows == 0);
	depot_check(&depot);
}

/* An exchange that fails for want of an empty sheaf is no overflow. */
IN_CHILD(test_no_empty_sheaf_is_no_overflow)
{
	make();
	CHILD_CHECK(depot_exchange(&depot, DEPOT_FULL, sheaf_of(CAPACITY, 1)) == 0);
	CHILD_CHECK(depot.overflows == 0);
}

/* Each wrong number makes the check die. arg: which. */
static void spoil(void *arg)
{
	struct depot_stack *stack;
	struct depot_stack *empty;

	make();
	CHILD_CHECK(depot_put(&depot, DEPOT_FULL, sheaf_of(5, 1)));
	CHILD_CHECK(depot_put(&depot, DEPOT_EMPTY, sheaf_of(0, 0)));
	depot_check(&depot);
	stack = &depot.lanes[0].stack[DEPOT_FULL];
	empty = &depot.lanes[0].stack[DEPOT_EMPTY];
	switch (*(int *)arg) {
	case 0:
		stack->nr++;
		break;
	case 1:
		empty->nr--;
		break;
	case 2:
		depot.lanes[0].nr_objects++;
		break;
	case 3: /* a circle */
		sheaf_base(stack->top)[0] = (void *)stack->top;
		break;
	case 4: /* an empty one among the full */
		stack->top = empty->top;
		break;
	case 5:
		empty->top = stack->top;
		break;
	case 6:
		stack->low = 2;
		break;
	case 7:
		stack->high = 0;
		break;
	case 8:
		stack->quota = 0;
		break;
	case 9:
		empty->low = 2;
		break;
	case 10: /* in two lanes */
		depot.lanes[5].stack[DEPOT_FULL].top = stack->top;
		break;
	case 11:
		depot.lanes[5].stack[DEPOT_EMPTY].quota++;
		break;
	case 12:
		depot.left[DEPOT_FULL]--;
		break;
	case 13:
		depot.lanes[3].capacity--;
		break;
	}
	depot_check(&depot);
}

static void test_check_finds(void **state)
{
	(void)state;
	for (int what = 0; what <= 13; what++) {
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
		cmocka_unit_test(test_largest_capacity),
		cmocka_unit_test(test_other_capacities),
		cmocka_unit_test(test_no_empty_sheaf_is_no_overflow),
		cmocka_unit_test(test_check_finds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
