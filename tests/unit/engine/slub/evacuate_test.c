/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slub/evacuate_test.c - slabs that are emptied: which, and what becomes of them
 */
#include "engine/evacuation.h"
#include "fixture.h"

#define SLABS 6
#define OBJECTS 64 /* in a slab */

static void *objs[SLABS][OBJECTS];

/* SLABS slabs in list order, with so many objects in use. */
static void make_list(struct engine *e, const unsigned int *used, struct page **slabs)
{
	for (unsigned int i = 0; i < SLABS; i++)
		slabs[i] = fill_slab(e, objs[i]);
	for (unsigned int i = 0; i < SLABS; i++)
		slub_flush(e, objs[i] + used[i], OBJECTS - used[i]);
}

static void free_the_rest(struct engine *e, const unsigned int *used)
{
	for (unsigned int i = 0; i < SLABS; i++)
		slub_flush(e, objs[i], used[i]);
}

static const unsigned int used[SLABS] = { 8, 9, 50, 1, 33, 3 };

/* From the tail: those of at most 1/8; the others are at the head, in the order of the looks. */
static void chooses(__attribute__((unused)) void **state)
{
	struct evacuation_choice choice = { .use = EVACUATED_WHOLE / 8,
					    .look = 5,
					    .far = ULONG_MAX };
	struct engine e = make_plain(64);
	struct evacuated set = { .nr = 0 };
	struct page *slabs[SLABS];

	slub_of(&e)->min_partial = 10;
	make_list(&e, used, slabs);
	assert_int_equal(slub_evacuation.listed(&e, 0), SLABS);
	assert_int_equal(slub_evacuation.choose(&e, &choice, &set), 5);
	assert_int_equal(set.nr, 2);
	assert_ptr_equal(set.slab[0], slabs[5]);
	assert_ptr_equal(set.slab[1], slabs[3]);
	assert_true(counters_of(slabs[3]).frozen);
	assert_ptr_equal(partial_at(&e, 0), slabs[1]);
	assert_ptr_equal(partial_at(&e, 1), slabs[2]);
	assert_ptr_equal(partial_at(&e, 2), slabs[4]);
	assert_ptr_equal(partial_at(&e, 3), slabs[0]);
	slub_check(&e);

	assert_int_equal(slub_evacuation.end(&e, &set, 0, true), 0);
	assert_int_equal(slub_evacuation.end(&e, &set, 0, false), 0);
	assert_int_equal(set.nr, 0);
	assert_ptr_equal(partial_at(&e, 0), slabs[3]);
	assert_ptr_equal(partial_at(&e, 5), slabs[5]);
	assert_false(counters_of(slabs[3]).frozen);
	free_the_rest(&e, used);
	END_ENGINE(&e);
}

/* What is freed comes back to it; nothing is handed out; the last one does not free it. */
static void is_emptied(__attribute__((unused)) void **state)
{
	struct evacuation_choice choice = { .use = EVACUATED_WHOLE / 8,
					    .look = 1,
					    .far = ULONG_MAX };
	struct engine e = make_plain(64);
	struct evacuated set = { .nr = 0 };
	struct page *slabs[SLABS];
	void *taken[OBJECTS];

	slub_of(&e)->min_partial = 0;
	make_list(&e, used, slabs);
	assert_int_equal(slub_evacuation.choose(&e, &choice, &set), 1);
	assert_int_equal(slub_evacuation.take(&e, 0, taken, OBJECTS, ULONG_MAX, false), OBJECTS);
	for (unsigned int i = 0; i < OBJECTS; i++)
		assert_ptr_not_equal(slab_of(taken[i]), slabs[5]);
	slub_flush(&e, objs[5], 2);
	slub_flush(&e, objs[5] + 2, 1);
	assert_int_equal(counters_of(slabs[5]).inuse, 0);
	assert_int_equal(nr_slabs(&e), SLABS);
	assert_int_equal(slub_evacuation.end(&e, &set, 0, false), slabs[5]->nr_pages);
	assert_int_equal(nr_slabs(&e), SLABS - 1);
	assert_null(page_head_of(page_address(slabs[5])));
	slub_flush(&e, taken, OBJECTS);
	for (unsigned int i = 0; i < 5; i++)
		slub_flush(&e, objs[i], used[i]);
	END_ENGINE(&e);
}

/* Of other partial slabs only: no new one is made. */
static void takes_no_more_than_there_is(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	void *all[OBJECTS];
	void *taken[OBJECTS];

	assert_int_equal(slub_evacuation.take(&e, 0, taken, 1, ULONG_MAX, false), 0);
	fill_slab(&e, all);
	assert_int_equal(slub_evacuation.take(&e, 0, taken, 1, ULONG_MAX, false), 0);
	slub_flush(&e, all, 3);
	assert_int_equal(slub_evacuation.take(&e, 0, taken, OBJECTS, ULONG_MAX, false), 3);
	assert_int_equal(nr_slabs(&e), 1);
	slub_flush(&e, taken, 3);
	slub_flush(&e, all + 3, OBJECTS - 3);
	END_ENGINE(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chooses),
		cmocka_unit_test(is_emptied),
		cmocka_unit_test(takes_no_more_than_there_is),
	};

	return cmocka_run_group_tests(tests, slub_group_setup, NULL);
}
