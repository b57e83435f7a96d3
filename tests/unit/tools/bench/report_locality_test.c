/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/tools/bench/report_locality_test.c - distances and LIFO order, on lists made by hand
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/bench.h"

static void give(struct entry *e, const char *name, const long *values, size_t n)
{
	struct list *l = &e->lists[e->nr_lists++];

	strcpy(l->name, name);
	l->n = n;
	l->values = calloc(n + 1, sizeof(long));
	memcpy(l->values, values, n * sizeof(long));
}

#define GIVE(e, name, ...)                           \
	give(e, name, (const long[]){ __VA_ARGS__ }, \
	     sizeof((const long[]){ __VA_ARGS__ }) / sizeof(long))

static void drop(struct entry *e)
{
	for (size_t i = 0; i < e->nr_lists; i++)
		free(e->lists[i].values);
	free(e);
}

static struct entry *new_entry(void)
{
	struct entry *e = calloc(1, sizeof(*e));

	assert_non_null(e);
	return e;
}

static void test_in_a_row(void **state)
{
	struct entry *e = new_entry();
	struct distances d;

	(void)state;
	GIVE(e, "offsets", 0, 40, 80, 120, 160);
	distances_of(&d, &e->lists[0]);
	assert_int_equal(d.steps, 4);
	assert_int_equal(d.stride, 40);
	assert_int_equal(d.next_to, 4);
	assert_int_equal(d.within_page, 0);
	assert_int_equal(d.median, 40);
	drop(e);
}

/* Down counts as up; the stride is a slot even if no single step is one. */
static void test_scattered(void **state)
{
	struct entry *e = new_entry();
	struct distances d;

	(void)state;
	GIVE(e, "offsets", 64, 0, 640, 128, 100000);
	distances_of(&d, &e->lists[0]);
	assert_int_equal(d.stride, 64);
	assert_int_equal(d.next_to, 1);	    /* 64 -> 0 */
	assert_int_equal(d.within_page, 2); /* 640, 512 */
	assert_int_equal(d.median, 640);
	drop(e);
}

static void test_nothing(void **state)
{
	struct entry *e = new_entry();
	struct distances d;

	(void)state;
	distances_of(&d, NULL);
	assert_int_equal(d.steps, 0);
	GIVE(e, "offsets", 7);
	distances_of(&d, &e->lists[0]);
	assert_int_equal(d.steps, 0);
	drop(e);
}

static struct entry *stack_like(void)
{
	struct entry *e = new_entry();

	GIVE(e, "reuse.4", 4);
	GIVE(e, "reuse.1.8", 8, 1);
	GIVE(e, "reuse.all", 9, 7, 6, 5, 3, 2, 0, 1, 8, 4);
	GIVE(e, "reuse.4.1.8", 8, 1, 4);
	return e;
}

static void test_lifo(void **state)
{
	struct entry *e = stack_like();

	(void)state;
	assert_true(reuse_is_lifo(e));
	e->lists[3].values[0] = 4; /* a queue's answer */
	assert_false(reuse_is_lifo(e));
	drop(e);
	e = stack_like();
	e->lists[2].values[9] = -1;
	assert_false(reuse_is_lifo(e));
	drop(e);
	e = stack_like();
	strcpy(e->lists[1].name, "other"); /* a part is missing */
	assert_false(reuse_is_lifo(e));
	drop(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_a_row),
		cmocka_unit_test(test_scattered),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_lifo),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
