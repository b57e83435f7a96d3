/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slub/sparse_test.c - which slabs are worth emptying: those that the others
 * have room for
 */
#include "engine/evacuation.h"
#include "fixture.h"

#define SLABS 6
#define OBJECTS 64 /* in a slab */

static void *objs[SLABS][OBJECTS];
static const unsigned int used[SLABS] = { 20, 60, 10, 45, 50, 30 }; /* 215: four are enough */

/* A question makes one look at the first, and again after as many as there are slabs. */
static void the_fullest_stay(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	struct page *slabs[SLABS];
	void *taken;

	slub_of(&e)->min_partial = 10;
	for (unsigned int i = 0; i < SLABS; i++)
		slabs[i] = fill_slab(&e, objs[i]);
	assert_false(slub_is_sparse(&e, slabs[0], ULONG_MAX)); /* all are full */
	for (unsigned int i = 0; i < SLABS; i++)
		slub_flush(&e, objs[i] + used[i], OBJECTS - used[i]);
	for (unsigned int i = 0; i < 300; i++)
		slub_is_sparse(&e, slabs[0], ULONG_MAX);
	for (unsigned int i = 0; i < SLABS; i++)
		assert_int_equal(slub_is_sparse(&e, slabs[i], ULONG_MAX), i == 0 || i == 2);
	assert_ptr_equal(partial_at(&e, 0), slabs[1]);
	assert_ptr_equal(partial_at(&e, 1), slabs[4]);
	assert_ptr_equal(partial_at(&e, 5), slabs[2]);
	slub_check(&e);

	/* what is allocated now lies in one that stays */
	assert_int_equal(slub_refill(&e, &taken, 1, 0, -1), 1);
	assert_ptr_equal(slab_of(taken), slabs[1]);
	slub_flush(&e, &taken, 1);
	for (unsigned int i = 0; i < SLABS; i++)
		slub_flush(&e, objs[i], used[i]);
	END_ENGINE(&e);
}

/* Neither a full slab, nor one of a CPU, nor a new one in the place of a marked one. */
static void others_are_not(__attribute__((unused)) void **state)
{
	struct evacuation_choice choice = { .use = EVACUATED_WHOLE, .look = 1, .far = ULONG_MAX };
	struct engine e = make_plain(64);
	struct evacuated set = { .nr = 0 };
	struct page *slabs[2];
	struct page *again;

	for (unsigned int i = 0; i < 2; i++)
		slabs[i] = fill_slab(&e, objs[i]);
	slub_flush(&e, objs[0] + 30, OBJECTS - 30);
	slub_flush(&e, objs[1] + 10, OBJECTS - 10);
	for (unsigned int i = 0; i < 300; i++)
		slub_is_sparse(&e, slabs[0], ULONG_MAX);
	assert_true(slub_is_sparse(&e, slabs[1], ULONG_MAX));
	assert_int_equal(slub_evacuation.choose(&e, &choice, &set), 1);
	assert_ptr_equal(set.slab[0], slabs[1]);
	assert_false(slub_is_sparse(&e, slabs[1], ULONG_MAX));
	slub_flush(&e, objs[1], 10);
	slub_evacuation.end(&e, &set, 0, true);

	/* full again, then its pages are another slab's */
	assert_int_equal(slub_refill(&e, objs[0] + 30, OBJECTS - 30, 0, -1), OBJECTS - 30);
	again = fill_slab(&e, objs[1]);
	slub_flush(&e, objs[1] + 1, OBJECTS - 1);
	assert_false(again->stamp);
	slub_flush(&e, objs[1], 1);
	slub_flush(&e, objs[0], OBJECTS);
	END_ENGINE(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_fullest_stay),
		cmocka_unit_test(others_are_not),
	};

	return cmocka_run_group_tests(tests, slub_group_setup, NULL);
}
