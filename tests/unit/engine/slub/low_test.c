/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slub/low_test.c - objects of slabs that lie below a page, and of new ones there
 */
#include <limits.h>

#include "ballast.h"
#include "engine/evacuation.h"
#include "engine/limit.h"
#include "fixture.h"

#define OBJECTS 64 /* in a slab */

static void *objs[2][OBJECTS];
static void *taken[3 * OBJECTS];

/* A slab with 4 objects free, and, far up and at the list's head, one with 60. */
static void make_two(struct engine *e, struct page **near, struct page **far)
{
	*near = fill_slab(e, objs[0]);
	ballast(true);
	*far = fill_slab(e, objs[1]);
	ballast(false);
	slub_flush(e, objs[0], 4);
	slub_flush(e, objs[1], 60);
	assert_true(*near < *far);
	if (partial_at(e, 0) == *near) { /* freed slabs join the list at its tail, or its head */
		engine_node_remove_partial_locked(slub_of(e)->node[0], *near);
		engine_node_add_partial_locked(slub_of(e)->node[0], *near, true);
	}
}

static void end_two(struct engine *e, unsigned int nr)
{
	slub_flush(e, taken, nr);
	slub_flush(e, objs[0] + 4, OBJECTS - 4);
	slub_flush(e, objs[1] + 60, OBJECTS - 60);
	END_ENGINE(e);
}

/* What lies far up at the list's head is left; then there are new slabs, if there may be. */
static void not_from_far_up(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	struct page *near, *far;
	unsigned long bound;

	make_two(&e, &near, &far);
	bound = evacuation_index(far);
	assert_int_equal(slub_take_below(&e, 0, taken, 9, bound, false), 4);
	for (unsigned int i = 0; i < 4; i++)
		assert_ptr_equal(slab_of(taken[i]), near);
	assert_int_equal(slub_take_below(&e, 0, taken + 4, 3, bound, false), 0);
	assert_int_equal(nr_slabs(&e), 2);
	assert_int_equal(slub_take_below(&e, 0, taken + 4, 3, bound, true), 3);
	assert_int_equal(nr_slabs(&e), 3);
	for (unsigned int i = 4; i < 7; i++)
		assert_true(evacuation_index(slab_of(taken[i])) < bound);
	assert_ptr_equal(partial_at(&e, 0), slab_of(taken[4]));
	slub_check(&e);
	end_two(&e, 7);
}

/* A slab far up that comes to the head does not hide those behind it: no other one is made. */
static void from_behind_the_head(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	struct page *near, *far;
	unsigned long bound;

	make_two(&e, &near, &far);
	bound = evacuation_index(far);
	for (unsigned int i = 0; i < 40; i++) {
		assert_int_equal(slub_take_below(&e, 0, taken + i, 1, bound, true), 1);
		engine_node_remove_partial_locked(slub_of(&e)->node[0], far);
		engine_node_add_partial_locked(slub_of(&e)->node[0], far, false);
	}
	assert_int_equal(nr_slabs(&e), 3);
	slub_check(&e);
	end_two(&e, 40);
}

/* As many new ones as are needed. */
static void several_new_ones(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	struct page *near, *far;
	unsigned long bound;

	make_two(&e, &near, &far);
	bound = evacuation_index(far);
	assert_int_equal(slub_take_below(&e, 0, taken, 2 * OBJECTS + 9, bound, true),
			 2 * OBJECTS + 9);
	assert_int_equal(nr_slabs(&e), 2 + 3); /* 4 objects were there */
	for (unsigned int i = 0; i < 2 * OBJECTS + 9; i++)
		assert_true(evacuation_index(slab_of(taken[i])) < bound);
	slub_check(&e);
	end_two(&e, 2 * OBJECTS + 9);
}

/* Without a bound it is the partial slabs, from the list's head on, and no new one. */
static void without_a_bound(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	struct page *near, *far;

	make_two(&e, &near, &far);
	assert_int_equal(slub_take_below(&e, 0, taken, OBJECTS, ULONG_MAX, false), 64);
	assert_ptr_equal(slab_of(taken[0]), far);
	assert_ptr_equal(slab_of(taken[63]), near);
	assert_int_equal(slub_take_below(&e, 0, taken, 1, ULONG_MAX, false), 0);
	assert_int_equal(nr_slabs(&e), 2);
	slub_check(&e);
	end_two(&e, 64);
}

/* Where no page is free below, any partial slab is better than none. */
static void nothing_free_below(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	struct page *near, *far;

	make_two(&e, &near, &far);
	assert_int_equal(slub_take_below(&e, 0, taken, 9, 0, false), 0);
	assert_int_equal(slub_take_below(&e, 0, taken, 9, 0, true), 9);
	assert_ptr_equal(slab_of(taken[0]), far);
	assert_int_equal(nr_slabs(&e), 2);
	end_two(&e, 9);
}

/* A cache at its limit gets no new slab. */
static void at_the_limit(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	struct page *near, *far;

	make_two(&e, &near, &far);
	engine_limits[e.id].most = engine_limits[e.id].pages;
	assert_int_equal(slub_take_below(&e, 0, taken, 9, evacuation_index(far), true), 4);
	assert_int_equal(slub_take_below(&e, 0, taken + 4, 5, evacuation_index(far), true), 5);
	assert_ptr_equal(slab_of(taken[4]), far);
	assert_int_equal(nr_slabs(&e), 2);
	assert_true(engine_far(&e, 0) == ULONG_MAX);
	engine_limits[e.id].most = 0;
	end_two(&e, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(not_from_far_up),    cmocka_unit_test(from_behind_the_head),
		cmocka_unit_test(several_new_ones),   cmocka_unit_test(without_a_bound),
		cmocka_unit_test(nothing_free_below), cmocka_unit_test(at_the_limit),
	};

	return cmocka_run_group_tests(tests, slub_group_setup, NULL);
}
