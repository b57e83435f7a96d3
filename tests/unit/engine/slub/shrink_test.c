/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slub/shrink_test.c - spec 4.14 and vector 5 of spec 14
 */
#include "fixture.h"

#define MAX_SLABS 8

static void *objs[MAX_SLABS][64];

/* Partial slabs with these numbers of free objects, in list order. */
static void make_list(struct engine *e, const unsigned int *free, struct page **slabs,
		      unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		slabs[i] = fill_slab(e, objs[i]);
	for (i = 0; i < nr; i++)
		free_one(e, objs[i][0]);
	for (i = 0; i < nr; i++)
		slub_flush(e, objs[i] + 1, free[i] - 1);
	for (i = 0; i < nr; i++)
		assert_ptr_equal(partial_at(e, i), slabs[i]);
}

static void free_the_rest(struct engine *e, const unsigned int *free, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		slub_flush(e, objs[i] + free[i], 64 - free[i]);
}

static void vector_5(__attribute__((unused)) void **state)
{
	static const unsigned int free[] = { 10, 40, 1, 3, 64, 33 };
	static const unsigned int order[] = { 2, 3, 0, 1, 5 };
	struct engine e = make_plain(64);
	struct page *slabs[6];
	unsigned int i;

	slub_of(&e)->min_partial = 10; /* so that the empty slab stays until then */
	make_list(&e, free, slabs, 6);
	assert_int_equal(nr_slabs(&e), 6);
	assert_int_equal(slub_shrink(&e), 1);
	assert_int_equal(nr_slabs(&e), 5);
	assert_int_equal(nr_partial(&e), 5);
	for (i = 0; i < 5; i++)
		assert_ptr_equal(partial_at(&e, i), slabs[order[i]]);
	slub_check(&e);
	free_the_rest(&e, free, 6);
	assert_int_equal(slub_shrink(&e), 0);
	assert_int_equal(nr_slabs(&e), 0);
	END_ENGINE(&e);
}

/* Within one number of free objects the order is reversed; beyond 32 it stays. */
static void equal_ones_are_reversed(__attribute__((unused)) void **state)
{
	static const unsigned int free[] = { 32, 33, 5, 32, 50, 5, 33 };
	static const unsigned int order[] = { 5, 2, 3, 0, 1, 4, 6 };
	struct engine e = make_plain(64);
	struct page *slabs[7];
	unsigned int i;

	make_list(&e, free, slabs, 7);
	assert_int_equal(slub_shrink(&e), 1);
	for (i = 0; i < 7; i++)
		assert_ptr_equal(partial_at(&e, i), slabs[order[i]]);
	free_the_rest(&e, free, 7);
	END_ENGINE(&e);
}

/* Those that were kept empty go; others stay as they are, and where they are. */
static void reap_takes_empty_ones(__attribute__((unused)) void **state)
{
	static const unsigned int free[] = { 64, 10, 64, 3 };
	struct engine e = make_plain(64);
	struct page *slabs[4];

	slub_of(&e)->min_partial = 10;
	assert_int_equal(slub_reap(&e, 0), 0);
	make_list(&e, free, slabs, 4);
	assert_int_equal(nr_slabs(&e), 4);
	assert_int_equal(slub_reap(&e, 0), 2);
	assert_int_equal(nr_slabs(&e), 2);
	assert_ptr_equal(partial_at(&e, 0), slabs[1]);
	assert_ptr_equal(partial_at(&e, 1), slabs[3]);
	assert_int_equal(slub_reap(&e, 0), 0);
	slub_check(&e);
	free_the_rest(&e, free, 4);
	assert_int_equal(slub_reap(&e, 0), 2);
	assert_int_equal(nr_slabs(&e), 0);
	END_ENGINE(&e);
}

static void full_slabs_remain(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);

	assert_int_equal(slub_shrink(&e), 0);
	fill_slab(&e, objs[0]);
	assert_int_equal(slub_shrink(&e), 1); /* on no list, and yet there */
	slub_flush(&e, objs[0], 64);
	assert_int_equal(slub_shrink(&e), 0);
	END_ENGINE(&e);
}

/* What was never formatted counts as free. */
static void pack_slabs_too(__attribute__((unused)) void **state)
{
	struct engine e = make_pack(64);
	void *two[2];

	assert_int_equal(slub_refill(&e, two, 2, 0, -1), 2);
	assert_int_equal(slub_shrink(&e), 1);
	slub_flush(&e, two, 2);
	assert_int_equal(nr_slabs(&e), 1);
	assert_int_equal(slub_shrink(&e), 0);
	assert_int_equal(nr_slabs(&e), 0);
	END_ENGINE(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vector_5),
		cmocka_unit_test(equal_ones_are_reversed),
		cmocka_unit_test(reap_takes_empty_ones),
		cmocka_unit_test(full_slabs_remain),
		cmocka_unit_test(pack_slabs_too),
	};

	return cmocka_run_group_tests(tests, slub_group_setup, NULL);
}
