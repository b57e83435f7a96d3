/* SPDX-License-Identifier: MIT */
/*
 * unit/front/sheaves_capacity_test.c - capacities of sheaves that are in use, changed
 *
 * While threads allocate and free: race/sheaves_test.c.
 */
#include <limits.h>

#include "manual_rcu.h"
#include "sheaves_fixture.h"

static void *objs[FAKE_OBJECTS];

static void set(unsigned int objects, unsigned int capacity)
{
	CHILD_CHECK(front.ops->set_capacity(&front, objects) == 0);
	CHILD_CHECK(sheaves_capacity(&front) == capacity);
	front.ops->check(&front);
}

/* Sheaves that exist, the lent ones among them. */
static unsigned int made(void)
{
	return stat(SHEAF_ALLOC) - stat(SHEAF_FREE);
}

/* Both ways, and in each place: what was cached is with the engine, and no sheaf of before left. */
BOTH_MODES(test_up_and_down)
{
	static const unsigned int capacities[] = { 4, 1, 120, 3, 60 };

	make_fake(64, 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(capacities); i++) {
		get_many(objs, 300);
		put_many(objs, 300);
		CHILD_CHECK(cpu_state()->main && cpu_state()->spare && this_barn()->nr_full);
		CHILD_CHECK(front.ops->held(&front) == fake.nr_out);
		set(capacities[i], capacities[i]);
		CHILD_CHECK(front.ops->held(&front) == 0 && fake.nr_out == 0 && made() == 0);
		CHILD_CHECK(!cpu_state()->main && !cpu_state()->spare);
		/* one sheaf is filled: what the new capacity is */
		get_many(objs, 1);
		CHILD_CHECK(fake.nr_out == capacities[i]);
		CHILD_CHECK(cpu_state()->main->capacity == capacities[i]);
		put_many(objs, 1);
	}
	end_fake();
}

/* What was allocated before comes back into sheaves of after. */
BOTH_MODES(test_objects_of_before)
{
	make_fake(64, 0);
	get_many(objs, 300);
	set(2, 2);
	put_many(objs, 150);
	front.ops->check(&front);
	set(200, 200);
	put(objs[150]);
	front.ops->free_bulk(&front, 149, objs + 151);
	CHILD_CHECK(cpu_state()->main->nr == 150);
	end_fake();
}

static unsigned int by_size(const struct front_ops *ops, unsigned int capacity)
{
	unsigned int is;

	make_slub(ops, 256, capacity);
	set(5, 5);
	set(0, 28);
	is = sheaves_capacity(&front);
	end_slub();
	return is;
}

/* 0: what the table has, whatever was asked for when the front was made. */
BOTH_MODES(test_by_size)
{
	CHILD_CHECK(by_size(&front_sheaves_ops, 0) == 28);
	CHILD_CHECK(by_size(&front_sheaves_ops, 100) == 28);
	CHILD_CHECK(by_size(&front_sheaves_618_ops, 7) == 28);
}

/* With an error nothing happens, and with the capacity of now neither. */
BOTH_MODES(test_refused)
{
	static const unsigned int refused[] = { SHEAVES_MAX_CAPACITY + 1, FRONT_CAPACITY_NONE,
						FRONT_CAPACITY_NONE - 1, UINT16_MAX + 5 };

	make_fake(64, 0);
	get_many(objs, 1);
	put_many(objs, 1);
	for (unsigned int i = 0; i < ARRAY_SIZE(refused); i++)
		CHILD_CHECK(front.ops->set_capacity(&front, refused[i]) == -EINVAL);
	set(60, 60);
	set(0, 60);
	CHILD_CHECK(front.ops->held(&front) == 60);
	set(SHEAVES_MAX_CAPACITY, SHEAVES_MAX_CAPACITY);
	get_many(objs, 1);
	put_many(objs, 1);
	end_fake();
}

/* ---- sheaves that are in no place meanwhile -------------------------------------------------- */

/* One that comes back with another capacity is flushed and freed. */
BOTH_MODES(test_lent)
{
	struct sheaf *sheaf;

	make_fake(64, 0);
	sheaf = sheaves_lend(&front, GFP_KERNEL, 60);
	CHILD_CHECK(sheaf && sheaf->nr == 60);
	set(8, 8);
	CHILD_CHECK(sheaf->capacity == 60 && fake.nr_out == 60 && made() == 1);
	get_many(objs, 1); /* main: there is space for a spare */
	put_many(objs, 1);
	sheaves_take_back(&front, sheaf);
	CHILD_CHECK(fake.nr_out == 8 && !cpu_state()->spare && this_barn()->nr_full == 0);
	CHILD_CHECK(made() == 1);
	/* more than one holds now */
	CHILD_CHECK(!sheaves_lend(&front, GFP_KERNEL, 9) && fake.nr_out == 8);
	/* one that is full, though it has another capacity meanwhile, and as before again */
	sheaf = sheaves_lend(&front, GFP_KERNEL, 8);
	set(9, 9);
	set(8, 8);
	sheaves_take_back(&front, sheaf);
	CHILD_CHECK(this_barn()->full == sheaf);
	end_fake();
}

static void release(struct os_rcu_item *first)
{
	while (first) {
		struct sheaf *sheaf = container_of(first, struct sheaf, item);

		first = first->next;
		sheaves_return(&front, sheaf);
	}
}

static bool gather(void *obj)
{
	return sheaves_gather(&front, obj, obj, release);
}

/* Of what waits, and of what came while that did. */
static void end_grace(void)
{
	for (unsigned int i = 0; i < 2; i++) {
		os_rcu_submit();
		rcu_grace();
	}
}

/* Objects that wait for RCU: in rcu_free, and in a sheaf that has been handed over for the barn. */
BOTH_MODES(test_waiting)
{
	make_fake(256, 0);
	CHILD_CHECK(os_rcu_bind(&manual_rcu) == 0);
	take_out(objs, 40);
	for (unsigned int i = 0; i < 30; i++)
		CHILD_CHECK(gather(objs[i]));
	CHILD_CHECK(in_sheaf(cpu_state()->rcu_free) == 2 && made() == 2);
	set(4, 4);
	CHILD_CHECK(!cpu_state()->rcu_free && made() == 2);
	/* what comes after that is full with four */
	for (unsigned int i = 30; i < 35; i++)
		CHILD_CHECK(gather(objs[i]));
	CHILD_CHECK(in_sheaf(cpu_state()->rcu_free) == 1 && cpu_state()->rcu_free->capacity == 4);
	end_grace();
	/* of the three that waited the last one is of now */
	CHILD_CHECK(this_barn()->nr_full == 1 && front.ops->held(&front) == 4 && made() == 2);
	CHILD_CHECK(fake.nr_out == 5 + 1 + 4);
	for (unsigned int i = 35; i < 40; i++)
		CHILD_CHECK(gather(objs[i]));
	sheaves_hand_over(&front, false);
	end_grace();
	end_fake();
}

/* With a closed front the change counts from when it is open. */
BOTH_MODES(test_closed)
{
	make_fake(64, 0);
	get_many(objs, 100);
	put_many(objs, 50);
	front_close(&front);
	set(6, 6);
	CHILD_CHECK(made() == 0);
	put_many(objs + 50, 50);
	CHILD_CHECK(fake.nr_out == 0);
	front_open(&front);
	get_many(objs, 1);
	CHILD_CHECK(fake.nr_out == 6);
	put_many(objs, 1);
	end_fake();
}

/* ---- the comparisons themselves -------------------------------------------------------------- */

/* As if a change came between a look at a place and the step after it. */
BOTH_MODES(test_stale_sheaves)
{
	struct sheaves_at at;
	struct sheaf *full;
	struct sheaf *empty;

	make_fake(64, 0);
	full = sheaves_new(&front);
	empty = sheaves_new(&front);
	CHILD_CHECK(full && empty && sheaves_fill(&front, full, GFP_KERNEL));
	set(3, 3);
	get_many(objs, 24);
	put_many(objs, 24);
	CHILD_CHECK(this_barn()->nr_full && !barn_exchange_empty(this_barn(), empty));
	sheaves_put_empty(&front, 0, sheaves_new(&front));
	CHILD_CHECK(barn_exchange_full(this_barn(), &full) == BARN_NONE && full->nr == 60);
	CHILD_CHECK(!sheaves_try_put_full(&front, 0, full) && full->nr == 60);
	CHILD_CHECK(!sheaves_enter_with(&front, &at, full));
	CHILD_CHECK(sheaves_enter(&front, &at)); /* nobody has the lock */
	sheaves_leave(&at);
	front.ops->check(&front);
	sheaves_put_full(&front, 0, full);
	sheaves_put_empty(&front, 0, empty);
	front.ops->check(&front);
	end_fake();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_up_and_down), cmocka_unit_test(test_objects_of_before),
		cmocka_unit_test(test_by_size),	    cmocka_unit_test(test_refused),
		cmocka_unit_test(test_lent),	    cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_closed),	    cmocka_unit_test(test_stale_sheaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
