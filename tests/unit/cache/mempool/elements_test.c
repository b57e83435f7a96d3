/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/mempool/elements_test.c - what a pool keeps: order, all or none, limits, wakeups
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cache/mempool/elements.h"

#define SLOTS 100
#define ELEMENT(n) ((void *)(0x1000ul * (n))) /* no memory of ours */

static void *table[SLOTS];

static mempool_t pool_of(int min_nr)
{
	return (mempool_t){ .min_nr = min_nr, .elements = table };
}

static void give_some(mempool_t *pool, unsigned int nr)
{
	for (unsigned int i = 1; i <= nr; i++)
		assert_int_equal(elements_give(pool, ELEMENT(i), ELEMENTS_LOOK_ALL), ELEMENTS_KEPT);
	elements_check(pool);
}

static void *take_one(mempool_t *pool)
{
	void *element = NULL;

	bool taken = elements_take(pool, &element, 1, NULL);

	assert_int_equal(taken, element != NULL);
	elements_check(pool);
	return element;
}

/* Up to min_nr; the last one comes out first (spec 5.12). */
static void test_order(void **state)
{
	mempool_t pool = pool_of(3);

	(void)state;
	assert_true(elements_wanted(&pool));
	give_some(&pool, 3);
	assert_false(elements_wanted(&pool));
	assert_int_equal(elements_give(&pool, ELEMENT(4), ELEMENTS_LOOK_ALL), ELEMENTS_ENOUGH);
	assert_ptr_equal(take_one(&pool), ELEMENT(3));
	assert_ptr_equal(take_one(&pool), ELEMENT(2));
	assert_true(elements_wanted(&pool));
	assert_int_equal(elements_give(&pool, ELEMENT(3), ELEMENTS_LOOK_ALL), ELEMENTS_KEPT);
	assert_ptr_equal(take_one(&pool), ELEMENT(3));
	assert_ptr_equal(take_one(&pool), ELEMENT(1));
	assert_null(take_one(&pool));
	assert_int_equal(pool.wait.wakeups, 0);
}

/* Slots that are filled stay; too few elements: nothing is taken. */
static void test_all_or_none(void **state)
{
	mempool_t pool = pool_of(3);
	void *slots[5] = { [1] = ELEMENT(50) };
	unsigned int wakeups = 99;

	(void)state;
	give_some(&pool, 3);
	assert_false(elements_take(&pool, slots, 5, &wakeups));
	assert_null(slots[0]);
	assert_int_equal(pool.curr_nr, 3);
	assert_int_equal(wakeups, 0);
	slots[4] = ELEMENT(51);
	assert_true(elements_take(&pool, slots, 5, NULL));
	assert_ptr_equal(slots[0], ELEMENT(3));
	assert_ptr_equal(slots[1], ELEMENT(50));
	assert_ptr_equal(slots[2], ELEMENT(2));
	assert_ptr_equal(slots[3], ELEMENT(1));
	assert_ptr_equal(slots[4], ELEMENT(51));
	assert_true(elements_take(&pool, slots, 5, NULL)); /* none is missing */
	elements_check(&pool);
}

static void test_twice(void **state)
{
	mempool_t pool = pool_of(SLOTS);

	(void)state;
	give_some(&pool, 50);
	assert_int_equal(elements_give(&pool, ELEMENT(50), ELEMENTS_LOOK_SHORT), ELEMENTS_TWICE);
	assert_int_equal(elements_give(&pool, ELEMENT(19), ELEMENTS_LOOK_SHORT), ELEMENTS_TWICE);
	assert_int_equal(elements_give(&pool, ELEMENT(1), ELEMENTS_LOOK_ALL), ELEMENTS_TWICE);
	assert_int_equal(pool.curr_nr, 50);
	assert_int_equal(elements_give(&pool, ELEMENT(18), ELEMENTS_LOOK_SHORT), ELEMENTS_KEPT);
	assert_int_equal(elements_give(&pool, ELEMENT(18), ELEMENTS_LOOK_NONE), ELEMENTS_KEPT);
	assert_int_equal(pool.curr_nr, 52);
}

/* Each element that is kept while somebody waits is a wakeup; so is one that is left behind. */
static void test_wakeups(void **state)
{
	mempool_t pool = pool_of(3);

	(void)state;
	elements_enter(&pool, 1);
	elements_enter(&pool, 2);
	assert_int_equal(pool.wait.threads, 2);
	assert_int_equal(pool.wait.several, 1);
	give_some(&pool, 3);
	assert_int_equal(pool.wait.wakeups, 3);
	assert_int_equal(elements_give(&pool, ELEMENT(9), ELEMENTS_LOOK_ALL), ELEMENTS_ENOUGH);
	assert_int_equal(pool.wait.wakeups, 3);
	elements_leave(&pool, 2);
	assert_int_equal(pool.wait.wakeups, 4);
	elements_leave(&pool, 1);
	assert_int_equal(pool.wait.wakeups, 4);
	assert_int_equal(pool.wait.threads + pool.wait.several, 0);
	elements_check(&pool);
}

/* A pool that keeps none takes one for who waits. */
static void test_none(void **state)
{
	mempool_t pool = pool_of(0);

	(void)state;
	assert_true(elements_wanted(&pool));
	assert_int_equal(elements_give(&pool, ELEMENT(1), ELEMENTS_LOOK_ALL), ELEMENTS_ENOUGH);
	elements_enter(&pool, 1);
	assert_int_equal(elements_give(&pool, ELEMENT(1), ELEMENTS_LOOK_ALL), ELEMENTS_KEPT);
	assert_int_equal(elements_give(&pool, ELEMENT(2), ELEMENTS_LOOK_ALL), ELEMENTS_ENOUGH);
	assert_ptr_equal(take_one(&pool), ELEMENT(1));
	elements_leave(&pool, 1);
}

static void test_resize(void **state)
{
	static void *larger[SLOTS];
	mempool_t pool = pool_of(3);
	void **other = NULL;

	(void)state;
	give_some(&pool, 3);
	assert_false(elements_resize(&pool, 4, &other)); /* a table is needed */
	assert_int_equal(pool.min_nr, 3);
	other = larger;
	assert_true(elements_resize(&pool, 4, &other));
	assert_ptr_equal(other, table);
	assert_ptr_equal(pool.elements, larger);
	assert_int_equal(elements_give(&pool, ELEMENT(4), ELEMENTS_LOOK_ALL), ELEMENTS_KEPT);
	assert_null(elements_take_surplus(&pool));
	assert_true(elements_resize(&pool, 2, &other)); /* the table that it has will do */
	assert_ptr_equal(other, table);
	assert_false(elements_wanted(&pool));
	assert_ptr_equal(elements_take_surplus(&pool), ELEMENT(4));
	assert_ptr_equal(elements_take_surplus(&pool), ELEMENT(3));
	assert_null(elements_take_surplus(&pool));
	assert_ptr_equal(take_one(&pool), ELEMENT(2));
}

static unsigned int nr_locks;

static void count_free(struct lock *l)
{
	assert_int_equal(l->word, 0);
	assert_int_equal(l->rank, RANK_POOL);
	nr_locks++;
}

static void test_locks(void **state)
{
	(void)state;
	elements_each_lock(count_free);
	assert_int_equal(nr_locks, 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order), cmocka_unit_test(test_all_or_none),
		cmocka_unit_test(test_twice), cmocka_unit_test(test_wakeups),
		cmocka_unit_test(test_none),  cmocka_unit_test(test_resize),
		cmocka_unit_test(test_locks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
