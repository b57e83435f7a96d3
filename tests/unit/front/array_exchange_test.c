/* SPDX-License-Identifier: MIT */
/*
 * unit/front/array_exchange_test.c - a CPU's array in exchange for its spare, or for a sheaf of its
 * lane
 */
#include "array_fixture.h"
#include "front/array_sheaf.h"
#include "front/depot.h"
#include "os/time/clock.h"

/* All that an exchange may change. */
struct state {
	uintptr_t array;
	uintptr_t spare;
	uintptr_t top[DEPOT_KINDS];
	unsigned int nr[DEPOT_KINDS];
	unsigned int made[DEPOT_KINDS];
};

static int cpu;
static void *objects[4 * CAP];

static struct depot *depot_here(void)
{
	return &front.depot[os_current_node()];
}

static struct depot_lane *lane_here(void)
{
	struct depot *d = depot_here();

	return &d->lanes[(unsigned int)cpu & (d->nr_lanes - 1)];
}

static struct state look(void)
{
	struct state now = { .array = *percpu_word(ID, cpu), .spare = *percpu_spare(ID, cpu) };

	for (unsigned int kind = 0; kind < DEPOT_KINDS; kind++) {
		now.top[kind] = lane_here()->stack[kind].top;
		now.nr[kind] = lane_here()->stack[kind].nr;
		now.made[kind] = lane_here()->stack[kind].made;
	}
	return now;
}

static bool is_same(struct state before)
{
	struct state now = look();

	return !memcmp(&before, &now, sizeof(now));
}

static void get_some(unsigned int from, unsigned int to)
{
	for (unsigned int i = from; i < to; i++)
		CHILD_CHECK((objects[i] = get()));
}

static void put_some(unsigned int from, unsigned int to)
{
	for (unsigned int i = from; i < to; i++)
		put(objects[i]);
}

/* Array and spare are full, the lane has two full sheaves. */
static void fill(void)
{
	cpu = here();
	make(CAP);
	get_some(0, 4 * CAP);
	put_some(0, 4 * CAP);
	CHILD_CHECK(lane_here()->stack[DEPOT_FULL].nr == 2);
	fake.refills = fake.flushes = 0;
}

/* There are sequences, so that something is exchanged. */
static bool is_done(bool done, struct state before)
{
	CHILD_CHECK(done == percpu_rseq);
	CHILD_CHECK(done || is_same(before));
	return done;
}

BOTH_MODES(test_full_sheaf_of_the_lane)
{
	struct state before, now;
	void *obj;

	fill();
	get_some(0, 2 * CAP);
	before = look();
	CHILD_CHECK(sheaf_count(before.array) == 0 && sheaf_count(before.spare) == 0);
	obj = array_exchange_empty(&front, cpu);
	if (!is_done(obj, before))
		return;
	now = look();
	CHILD_CHECK(obj == *(void **)before.top[DEPOT_FULL]);
	CHILD_CHECK(now.array == before.top[DEPOT_FULL] - sizeof(void *));
	CHILD_CHECK(now.spare == before.spare && now.top[DEPOT_EMPTY] == before.array);
	CHILD_CHECK(now.nr[DEPOT_FULL] == 1 && now.nr[DEPOT_EMPTY] == before.nr[DEPOT_EMPTY] + 1);
	balance(2 * CAP + 1);
	CHILD_CHECK(fake.refills == 0);
}

BOTH_MODES(test_empty_sheaf_of_the_lane)
{
	struct state before, now;

	fill();
	get_some(0, 4 * CAP);
	put_some(0, 2 * CAP);
	before = look();
	CHILD_CHECK(!sheaf_room(before.array) && !sheaf_room(before.spare));
	CHILD_CHECK(before.nr[DEPOT_EMPTY] && !before.nr[DEPOT_FULL]);
	if (!is_done(array_exchange_full(&front, cpu, objects[2 * CAP]), before))
		return;
	now = look();
	CHILD_CHECK(sheaf_count(now.array) == 1 && *(void **)now.array == objects[2 * CAP]);
	CHILD_CHECK(now.array - sizeof(void *) == before.top[DEPOT_EMPTY]);
	CHILD_CHECK(now.spare == before.array && now.top[DEPOT_FULL] == before.spare);
	CHILD_CHECK(now.nr[DEPOT_FULL] == 1 && now.nr[DEPOT_EMPTY] == before.nr[DEPOT_EMPTY] - 1);
	balance(2 * CAP - 1);
	CHILD_CHECK(fake.flushes == 0);
}

BOTH_MODES(test_spare_with_objects)
{
	struct state before, now;
	void *obj;

	fill();
	get_some(0, CAP);
	before = look();
	CHILD_CHECK(!sheaf_count(before.array) && sheaf_count(before.spare) == CAP);
	obj = array_exchange_empty(&front, cpu);
	if (!is_done(obj, before))
		return;
	now = look();
	CHILD_CHECK(obj == *(void **)before.spare && now.array == before.spare - sizeof(void *));
	CHILD_CHECK(now.spare == before.array && now.nr[DEPOT_FULL] == 2);
	balance(CAP + 1);
}

BOTH_MODES(test_spare_with_space)
{
	struct state before, now;

	fill();
	get_some(0, 2 * CAP);
	put_some(0, CAP);
	before = look();
	CHILD_CHECK(!sheaf_room(before.array) && sheaf_room(before.spare) == CAP);
	if (!is_done(array_exchange_full(&front, cpu, objects[CAP]), before))
		return;
	now = look();
	CHILD_CHECK(*(void **)now.array == objects[CAP]);
	CHILD_CHECK(now.array - sizeof(void *) == before.spare && now.spare == before.array);
	balance(CAP - 1);
}

/* Neither is there anything to do for the array as it is. */
BOTH_MODES(test_array_is_in_use)
{
	struct state before;

	fill();
	get_some(0, 1);
	before = look();
	CHILD_CHECK(!array_exchange_empty(&front, cpu) && is_same(before));
	CHILD_CHECK(!array_exchange_full(&front, cpu, objects[0]) && is_same(before));
	front_close(&front);
	CHILD_CHECK(!array_exchange_empty(&front, cpu));
	CHILD_CHECK(!array_exchange_full(&front, cpu, objects[0]));
	front_open(&front); /* the words are still stopped */
	CHILD_CHECK(!array_exchange_empty(&front, cpu));
	CHILD_CHECK(!array_exchange_full(&front, cpu, objects[0]));
	balance(1);
}

/* No more sheaves of that kind fit into the depot; or again as many as before. */
static void set_space(enum depot_kind kind, uint32_t quota, int32_t left)
{
	lane_here()->stack[kind].quota = quota;
	depot_here()->left[kind] = left;
}

/* The lane has none, no space, or another capacity. */
BOTH_MODES(test_lane_says_no)
{
	struct depot_stack *stack;
	struct state before;
	uint32_t quota;
	int32_t left;

	fill();
	stack = lane_here()->stack;
	CHILD_CHECK(!array_exchange_full(&front, cpu, &fake) && !stack[DEPOT_EMPTY].nr);
	get_some(0, 2 * CAP);
	before = look();

	quota = stack[DEPOT_EMPTY].quota;
	left = depot_here()->left[DEPOT_EMPTY];
	set_space(DEPOT_EMPTY, stack[DEPOT_EMPTY].nr, 0);
	CHILD_CHECK(!array_exchange_empty(&front, cpu) && is_same(before));
	set_space(DEPOT_EMPTY, quota, left);

	lane_here()->capacity = CAP - 1;
	CHILD_CHECK(!array_exchange_empty(&front, cpu) && is_same(before));
	lane_here()->capacity = CAP;

	get_some(2 * CAP, 4 * CAP);
	CHILD_CHECK(!array_exchange_empty(&front, cpu) && !stack[DEPOT_FULL].nr);
	put_some(0, 2 * CAP);
	before = look();
	quota = stack[DEPOT_FULL].quota;
	left = depot_here()->left[DEPOT_FULL];
	set_space(DEPOT_FULL, 0, 0);
	CHILD_CHECK(!array_exchange_full(&front, cpu, objects[2 * CAP]) && is_same(before));
	set_space(DEPOT_FULL, quota, left);
	balance(2 * CAP);
}

/* While use falls a CPU gives up what it holds, and puts nothing into its lane. */
BOTH_MODES(test_use_falls)
{
	uint32_t *until = &buddy_zones[os_current_node()].falls_until;
	struct state before;

	fill();
	get_some(0, 4 * CAP);
	put_some(0, 2 * CAP);
	before = look();
	store_relaxed(until, (uint32_t)(os_clock_ms() >> 4) + 1000);
	CHILD_CHECK(!array_exchange_full(&front, cpu, objects[2 * CAP]) && is_same(before));
	put(objects[2 * CAP]);
	CHILD_CHECK(fake.flushes >= 1);
	store_relaxed(until, 0);
	balance(2 * CAP - 1);
}

/* What both have in their stacks. */
static void swap_lanes(struct depot_lane *a, struct depot_lane *b)
{
	struct depot_lane was = *a;

	if (a == b) /* their numbers are congruent */
		return;
	memcpy(a->stack, b->stack, sizeof(a->stack));
	memcpy(b->stack, was.stack, sizeof(b->stack));
	a->nr_objects = b->nr_objects;
	b->nr_objects = was.nr_objects;
}

/* A sheaf that the thread cannot put into that CPU's word goes back, and counts as nothing made. */
static void check_put_back(int other)
{
	struct depot_lane *mine = lane_here();
	struct depot *d = depot_here();
	struct depot_lane *lane = &d->lanes[(unsigned int)other & (d->nr_lanes - 1)];
	struct depot_lane was;

	swap_lanes(mine, lane);
	was = *lane;
	CHILD_CHECK(was.stack[DEPOT_FULL].nr == 2 && !array_exchange_empty(&front, other));
	for (unsigned int kind = 0; kind < DEPOT_KINDS; kind++) {
		CHILD_CHECK(lane->stack[kind].top == was.stack[kind].top);
		CHILD_CHECK(lane->stack[kind].nr == was.stack[kind].nr);
		CHILD_CHECK(lane->stack[kind].made == was.stack[kind].made);
	}
	CHILD_CHECK(lane->nr_objects == was.nr_objects);
	swap_lanes(mine, lane);
}

/* A thread that has moved meanwhile changes nothing of the CPU that it was on. */
BOTH_MODES(test_other_cpu)
{
	struct state before;
	int other = cpu;

	fill();
	get_some(0, 2 * CAP);
	before = look();
	other = cpu ? 0 : 1;
	if (os_topology.nr_cpu_ids < 2 || !percpu_rseq)
		return;
	*percpu_spare(ID, other) = before.spare; /* it seems to be as this one */
	*percpu_word(ID, other) = before.array;
	CHILD_CHECK(!array_exchange_empty(&front, other) && is_same(before));
	check_put_back(other);
	*percpu_word(ID, other) = front_stop_word;
	*percpu_spare(ID, other) = 0;
	balance(2 * CAP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full_sheaf_of_the_lane),
		cmocka_unit_test(test_empty_sheaf_of_the_lane),
		cmocka_unit_test(test_spare_with_objects),
		cmocka_unit_test(test_spare_with_space),
		cmocka_unit_test(test_array_is_in_use),
		cmocka_unit_test(test_lane_says_no),
		cmocka_unit_test(test_use_falls),
		cmocka_unit_test(test_other_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
