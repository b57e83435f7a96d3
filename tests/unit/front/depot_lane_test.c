/* SPDX-License-Identifier: MIT */
/*
 * unit/front/depot_lane_test.c - each CPU's own sheaves, what moves to others, and quotas
 */
#include "depot_fixture.h"

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
	CHILD_CHECK(depot_put(&depot, DEPOT_EMPTY, empty = sheaf_of(0, 0)));
	os_act_as_cpu(3);
	CHILD_CHECK(depot_exchange(&depot, DEPOT_FULL, a = sheaf_of(1, 1)) == empty);
	put_as(2, b = sheaf_of(1, 1));
	put_as(1, sheaf_of(1, 1));
	CHILD_CHECK(!depot_put(&depot, DEPOT_FULL, sheaf_of(1, 1)));
	os_act_as_cpu(3);
	CHILD_CHECK(depot_exchange(&depot, DEPOT_EMPTY, empty) == a);
	os_act_as_cpu(2);
	CHILD_CHECK(depot_exchange(&depot, DEPOT_EMPTY, sheaf_of(0, 0)) == b);
}

/* Another CPU's sheaves are left alone while they are few; then all of them move. */
IN_CHILD(test_sheaves_move_in_batches)
{
	make_large();
	fill_as(1, 15);
	CHILD_CHECK(!get_as(0) && !depot.rich[DEPOT_FULL]);
	fill_as(1, 1);
	CHILD_CHECK(depot.rich[DEPOT_FULL] == 1u << 1);
	CHILD_CHECK(get_as(0));
	CHILD_CHECK(depot.lanes[0].stack[DEPOT_FULL].nr == 15);
	CHILD_CHECK(depot.lanes[1].stack[DEPOT_FULL].nr == 0 && depot.lanes[1].nr_objects == 0);
	depot_check(&depot);
	CHILD_CHECK(!get_as(1) && !depot.rich[DEPOT_FULL]);
	for (unsigned int i = 0; i < 15; i++)
		CHILD_CHECK(get_as(0));
	CHILD_CHECK(!get_as(0));
	/* those who want all do not mind */
	fill_as(5, 3);
	os_act_as_cpu(2);
	CHILD_CHECK(!depot_get(&depot, DEPOT_FULL) && depot_take(&depot, DEPOT_FULL));
	depot_check(&depot);
}

/* Also where that is none of the pushes, each 16th, after which it is looked at anyway. */
IN_CHILD(test_a_batch_is_told_when_it_is_there)
{
	make_large();
	depot.batch = 5;
	fill_as(1, 4);
	CHILD_CHECK(!get_as(0) && !depot.rich[DEPOT_FULL]);
	fill_as(1, 1);
	CHILD_CHECK(depot.rich[DEPOT_FULL] == 1u << 1);
	CHILD_CHECK(get_as(0) && depot.lanes[0].stack[DEPOT_FULL].nr == 4);
	depot_check(&depot);
}

/* As if nothing had been told. */
static void forget_all(void)
{
	depot.rich[DEPOT_FULL] = depot.rich[DEPOT_EMPTY] = 0;
	for (unsigned int i = 0; i < depot.nr_lanes; i++)
		depot.lanes[i].told = 0;
}

/* With many lanes few sheaves in each may be all that there is room for: then they are for all. */
IN_CHILD(test_sheaves_in_many_lanes)
{
	const struct depot_limits many = { CAPACITY, 32, 32 };

	make();
	init_as(&many);
	for (unsigned int cpu = 1; cpu < 8; cpu++)
		fill_as(cpu, 2);
	CHILD_CHECK(!get_as(0) && !depot.rich[DEPOT_FULL]);
	for (unsigned int cpu = 1; cpu < 8; cpu++)
		fill_as(cpu, 1);
	CHILD_CHECK(!depot.rich[DEPOT_FULL] && depot_count(&depot, DEPOT_FULL) == 21);
	for (unsigned int i = 0; i < 5; i++)
		CHILD_CHECK(get_as(0));
	CHILD_CHECK(!get_as(0) && depot.lanes[1].stack[DEPOT_FULL].nr == 0);
	depot_check(&depot);
	/* as many as there can be */
	while (depot_take(&depot, DEPOT_FULL)) {}
	for (unsigned int i = 0; i < 32; i++)
		fill_as(1 + i % 7, 1);
	forget_all();
	CHILD_CHECK(!depot_has_room(&depot) && get_as(0) && !depot.rich[DEPOT_FULL]);
	depot_check(&depot);
}

/* The most that a lane had goes with what moves, so that no epoch finds the space unused. */
IN_CHILD(test_high_moves)
{
	make_large();
	fill_as(1, 60);
	for (unsigned int i = 0; i < 40; i++)
		CHILD_CHECK(get_as(1));
	CHILD_CHECK(get_as(0) && depot.lanes[0].stack[DEPOT_FULL].nr == 19);
	CHILD_CHECK(depot_next_epoch(&depot).unused == 4);
	depot_check(&depot);
}

/* Empty ones do so, too, in exchange for full ones. */
IN_CHILD(test_empty_sheaves_move_in_batches)
{
	make_large();
	fill_as(6, 1);
	os_act_as_cpu(7);
	for (unsigned int i = 0; i < 20; i++)
		CHILD_CHECK(depot_put(&depot, DEPOT_EMPTY, sheaf_of(0, 0)));
	os_act_as_cpu(6);
	CHILD_CHECK(depot_exchange(&depot, DEPOT_FULL, sheaf_of(CAPACITY, 1)));
	CHILD_CHECK(depot.lanes[6].stack[DEPOT_EMPTY].nr == 19);
	CHILD_CHECK(depot.lanes[6].stack[DEPOT_FULL].nr == 2);
	os_act_as_cpu(0);
	CHILD_CHECK(depot_get(&depot, DEPOT_EMPTY));
	CHILD_CHECK(depot.lanes[0].stack[DEPOT_EMPTY].nr == 15);
	CHILD_CHECK(depot.lanes[6].stack[DEPOT_EMPTY].nr == 3);
	depot_check(&depot);
}

/* What a CPU that only allocates got from one that frees, others like it get in parts. */
IN_CHILD(test_moved_sheaves_are_for_others)
{
	make_large();
	os_act_as_cpu(0);
	CHILD_CHECK(depot_put(&depot, DEPOT_EMPTY, sheaf_of(0, 0)));
	fill_as(1, 34);
	CHILD_CHECK(get_as(0) && depot.rich[DEPOT_FULL] == 1u << 0);
	CHILD_CHECK(depot.lanes[0].stack[DEPOT_FULL].nr == 33);
	CHILD_CHECK(get_as(2) && depot.rich[DEPOT_FULL] == 1u << 0);
	CHILD_CHECK(depot.lanes[2].stack[DEPOT_FULL].nr == 15);
	CHILD_CHECK(depot.lanes[0].stack[DEPOT_FULL].nr == 17);
	/* as long as it is worth the way */
	CHILD_CHECK(get_as(3) && depot.lanes[0].stack[DEPOT_FULL].nr == 1);
	CHILD_CHECK(!depot.rich[DEPOT_FULL]);
	CHILD_CHECK(!get_as(4));
	depot_check(&depot);
}

/* ... and these are no sheaves that it made itself: it does not seem to free. */
IN_CHILD(test_moved_sheaves_are_not_made)
{
	make_large();
	fill_as(1, 40);
	CHILD_CHECK(get_as(0) && !depot.lanes[0].stack[DEPOT_FULL].made);
	fill_as(5, 16);
	CHILD_CHECK(get_as(4) && !depot.lanes[4].stack[DEPOT_FULL].made);
	CHILD_CHECK(depot.lanes[1].stack[DEPOT_FULL].made == 40);
}

/* What slabs take or give in place of the depot counts, too: bursts of which they do a part. */
IN_CHILD(test_what_slabs_do_counts)
{
	make_large();
	os_act_as_cpu(1);
	depot_note_made(&depot, DEPOT_EMPTY, 20);
	fill_as(1, 40);
	forget_all();
	depot_note_made(&depot, DEPOT_FULL, 1);
	CHILD_CHECK(depot.rich[DEPOT_FULL] == 1u << 1); /* more than twice as many */
	forget_all();
	depot_note_made(&depot, DEPOT_EMPTY, 1);
	depot_note_made(&depot, DEPOT_FULL, 1);
	CHILD_CHECK(!depot.rich[DEPOT_FULL] && !get_as(0));
	os_act_as_cpu(1);
	depot_note_made(&depot, DEPOT_FULL, 1);
	CHILD_CHECK(depot.rich[DEPOT_FULL] == 1u << 1 && get_as(0));
	depot_check(&depot);
}

/* A lane that has just been made is no source: a burst begins with frees, as far as it can see. */
IN_CHILD(test_no_source_at_first)
{
	const struct depot_limits large = { CAPACITY, 64, 64 };

	floors_init(2, 1);
	depot_init(&depot, &large);
	fill_as(1, 32);
	CHILD_CHECK(!depot.rich[DEPOT_FULL] && !get_as(0));
	fill_as(1, 16); /* so often it looks */
	CHILD_CHECK(depot.rich[DEPOT_FULL] == 1u << 1 && get_as(0));
	depot_check(&depot);
}

/* Frees n sheaves and allocates them again, as a program does in bursts. */
static void burst_as(unsigned int cpu, unsigned int n)
{
	os_act_as_cpu(cpu);
	for (unsigned int i = 0; i < n; i++) {
		uintptr_t empty = depot_get(&depot, DEPOT_EMPTY);

		CHILD_CHECK(depot_put(&depot, DEPOT_FULL, sheaf_of(1, 1)));
		if (empty)
			sheaf_delete(empty);
	}
	for (unsigned int i = 0; i < n; i++) {
		CHILD_CHECK(depot_get(&depot, DEPOT_FULL));
		CHILD_CHECK(depot_put(&depot, DEPOT_EMPTY, sheaf_of(0, 0)));
	}
}

static void bursts_as(unsigned int cpu, unsigned int bursts, unsigned int n)
{
	while (bursts--)
		burst_as(cpu, n);
}

/* Allocates n sheaves, which there are, and frees them. */
static void take_and_give_as(unsigned int cpu, unsigned int n)
{
	uintptr_t sheaf[n];

	os_act_as_cpu(cpu);
	for (unsigned int i = 0; i < n; i++) {
		sheaf[i] = depot_get(&depot, DEPOT_FULL);
		CHILD_CHECK(sheaf[i]);
		depot_note_made(&depot, DEPOT_EMPTY, 1);
	}
	for (unsigned int i = 0; i < n; i++)
		CHILD_CHECK(depot_put(&depot, DEPOT_FULL, sheaf[i]));
}

/* A CPU that turns to one kind only has some for others, of both kinds, and says so. */
IN_CHILD(test_what_becomes_unbalanced_is_told)
{
	make_large();
	bursts_as(1, 4, 20);
	fill_as(1, 30);
	forget_all();
	os_act_as_cpu(1);
	for (unsigned int i = 0; i < 8; i++)
		sheaf_delete(depot_get(&depot, DEPOT_FULL));
	depot_note_made(&depot, DEPOT_EMPTY, 8);
	CHILD_CHECK(!depot.rich[DEPOT_FULL] && !depot.rich[DEPOT_EMPTY]);
	depot_note_made(&depot, DEPOT_EMPTY, 200);
	CHILD_CHECK(depot.rich[DEPOT_FULL] == 1u << 1 && depot.rich[DEPOT_EMPTY] == 1u << 1);
	CHILD_CHECK(get_as(0) && depot.lanes[1].stack[DEPOT_FULL].nr == 6);
	depot_check(&depot);
	/* and at the next look, without that it misses */
	forget_all();
	bursts_as(2, 1, 20);
	fill_as(2, 20);
	for (unsigned int i = 0; i < 40; i++) {
		os_act_as_cpu(2);
		CHILD_CHECK(depot_put(&depot, DEPOT_EMPTY, sheaf_of(0, 0)));
		sheaf_delete(depot_get(&depot, DEPOT_EMPTY));
	}
	CHILD_CHECK(depot.rich[DEPOT_FULL] & 1u << 2);
	depot_check(&depot);
}

/* Others do without what a CPU takes again itself, and do not make it write where they read. */
IN_CHILD(test_bursts_stay)
{
	make_large();
	bursts_as(1, 4, 20);
	forget_all();
	bursts_as(1, 4, 20);
	CHILD_CHECK(!depot.rich[DEPOT_FULL] && !depot.rich[DEPOT_EMPTY]);
	fill_as(1, 20);
	CHILD_CHECK(!depot.rich[DEPOT_FULL] && !get_as(0) && !get_as(2));
	depot_check(&depot);
	/* one that frees more and more is a source again */
	fill_as(1, 40);
	CHILD_CHECK(depot.rich[DEPOT_FULL] == 1u << 1 && get_as(0));
	CHILD_CHECK(depot.lanes[0].stack[DEPOT_FULL].nr == 59);
	depot_check(&depot);
}

/* ... unless there is no space for sheaves of their own: then all share those that there are, */
IN_CHILD(test_bursts_at_the_limit)
{
	make_large();
	bursts_as(1, 8, 64);
	fill_as(1, 63);
	forget_all();
	CHILD_CHECK(!get_as(0));
	fill_as(1, 1);
	forget_all();
	CHILD_CHECK(!depot_has_room(&depot) && get_as(0));
	CHILD_CHECK(depot.lanes[0].stack[DEPOT_FULL].nr == 15);
	CHILD_CHECK(depot.lanes[1].stack[DEPOT_FULL].nr == 48);
	depot_check(&depot);
}

/* ... or it has not used them in this epoch, */
IN_CHILD(test_what_nobody_uses_is_for_all)
{
	make_large();
	bursts_as(1, 4, 20);
	fill_as(1, 20);
	forget_all();
	CHILD_CHECK(!get_as(0));
	depot_next_epoch(&depot);
	os_act_as_cpu(1);
	for (unsigned int i = 0; i < 15; i++)
		CHILD_CHECK(depot_get(&depot, DEPOT_FULL));
	fill_as(1, 15); /* these it has used */
	forget_all();
	for (unsigned int i = 0; i < 5; i++)
		CHILD_CHECK(get_as(i % 2 ? 0 : 2));
	CHILD_CHECK(!get_as(0) && depot_count(&depot, DEPOT_FULL) == 15);
	depot_check(&depot);
}

/* ... or has many times what depots hold at first: in parts. */
IN_CHILD(test_much_is_for_all)
{
	const struct depot_limits small = { CAPACITY, 1, 1 };

	make();
	init_as(&small);
	depot_raise(&depot, 200);
	bursts_as(1, 6, 60);
	forget_all();
	fill_as(1, 32);
	CHILD_CHECK(!depot.rich[DEPOT_FULL] && !get_as(0));
	fill_as(1, 16);
	CHILD_CHECK(depot.rich[DEPOT_FULL] && get_as(0));
	CHILD_CHECK(depot.lanes[0].stack[DEPOT_FULL].nr == 15);
	CHILD_CHECK(depot.lanes[1].stack[DEPOT_FULL].nr == 32 && !depot.rich[DEPOT_FULL]);
	depot_check(&depot);
	CHILD_CHECK(depot_next_epoch(&depot).unused == 201 - 60); /* the most of them goes, too */
}

/* Two CPUs that run short in turn soon have what each needs, and take nothing from each other. */
IN_CHILD(test_two_run_short_in_turn)
{
	const struct depot_limits small = { CAPACITY, 1, 1 };
	uint32_t moves;

	make();
	init_as(&small);
	depot_raise(&depot, 400);
	bursts_as(1, 6, 150);
	fill_as(1, 150);
	for (unsigned int round = 0; round < 8; round++) {
		moves = depot.nr_moves;
		for (unsigned int cpu = 0; cpu < 2; cpu++)
			take_and_give_as(cpu, 70);
	}
	CHILD_CHECK(depot.nr_moves == moves && depot_count(&depot, DEPOT_FULL) == 150);
	CHILD_CHECK(depot.lanes[0].stack[DEPOT_FULL].nr >= 70);
	CHILD_CHECK(depot.lanes[1].stack[DEPOT_FULL].nr >= 70);
	depot_check(&depot);
}

/* All lanes together hold as many as one could, whoever put how many there and took them. */
IN_CHILD(test_quotas)
{
	uintptr_t one;

	make_large();
	for (unsigned int round = 0; round < 20; round++) {
		for (unsigned int i = 0; i < 64; i++)
			put_as((i * 5 + round) % 8, sheaf_of(1, 1));
		os_act_as_cpu(round % 8);
		CHILD_CHECK(!depot_has_room(&depot));
		CHILD_CHECK(!depot_put(&depot, DEPOT_FULL, one = sheaf_of(1, 1)));
		CHILD_CHECK(depot.nr_overflows == round + 1);
		depot_check(&depot);
		for (unsigned int i = 0; i < 64; i++)
			CHILD_CHECK(depot_take(&depot, DEPOT_FULL));
		CHILD_CHECK(!depot_take(&depot, DEPOT_FULL) && depot_has_room(&depot));
		for (unsigned int i = 0; i < 64; i++)
			put_as(round % 8, sheaf_of(1, 1));
		CHILD_CHECK(!depot_put(&depot, DEPOT_FULL, one) && depot.nr_overflows == round + 2);
		depot.nr_overflows = round + 1;
		while (depot_take(&depot, DEPOT_FULL)) {}
		depot_check(&depot);
	}
}

/* Lanes are made when the first sheaf comes, as many as there are CPUs, up to eight. */
IN_CHILD(test_lanes_are_made)
{
	const unsigned int lanes[] = { 0, 1, 2, 4, 4, 8, 8, 8, 8, 8 };
	size_t used;

	for (unsigned int cpus = 1; cpus < sizeof(lanes) / sizeof(*lanes); cpus++) {
		floors_init(cpus, 1);
		depot = (struct depot){ 0 };
		depot_init(&depot, &limits);
		used = meta_counters.used;
		CHILD_CHECK(depot.nr_lanes == lanes[cpus] && !depot.lanes);
		CHILD_CHECK(!depot_get(&depot, DEPOT_FULL) && !depot_take(&depot, DEPOT_EMPTY));
		CHILD_CHECK(depot_has_room(&depot) && !depot_count(&depot, DEPOT_FULL));
		depot_next_epoch(&depot);
		depot_check(&depot);
		CHILD_CHECK(!depot.lanes);
		CHILD_CHECK(depot_put(&depot, DEPOT_FULL, sheaf_of(1, 1)) && depot.lanes);
		sheaf_delete(depot_get(&depot, DEPOT_FULL));
		depot_destroy(&depot);
		CHILD_CHECK(meta_counters.used == used);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lanes),
		cmocka_unit_test(test_lanes_are_shared),
		cmocka_unit_test(test_exchanges_by_lane),
		cmocka_unit_test(test_sheaves_move_in_batches),
		cmocka_unit_test(test_a_batch_is_told_when_it_is_there),
		cmocka_unit_test(test_sheaves_in_many_lanes),
		cmocka_unit_test(test_empty_sheaves_move_in_batches),
		cmocka_unit_test(test_moved_sheaves_are_for_others),
		cmocka_unit_test(test_moved_sheaves_are_not_made),
		cmocka_unit_test(test_what_slabs_do_counts),
		cmocka_unit_test(test_what_becomes_unbalanced_is_told),
		cmocka_unit_test(test_no_source_at_first),
		cmocka_unit_test(test_high_moves),
		cmocka_unit_test(test_bursts_stay),
		cmocka_unit_test(test_bursts_at_the_limit),
		cmocka_unit_test(test_what_nobody_uses_is_for_all),
		cmocka_unit_test(test_much_is_for_all),
		cmocka_unit_test(test_two_run_short_in_turn),
		cmocka_unit_test(test_quotas),
		cmocka_unit_test(test_lanes_are_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
