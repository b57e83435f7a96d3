/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slub/try_test.c - one object without waiting: which, and when there is none
 */
#include "fixture.h"

/* As refill.c: the same objects in the same order, of a slab that it makes if need be. */
static void test_order(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(1024);
	unsigned int n = e.layout->objects;
	void *p[2 * 64];
	struct page *slab;

	buddy_provide(0, 3);
	for (unsigned int i = 0; i < 2 * n; i++) {
		p[i] = slub_try_alloc(&e, -1);
		assert_non_null(p[i]);
		assert_ptr_equal(p[i], slub_object(slab_of(p[i - i % n]), i % n));
	}
	assert_int_equal(nr_slabs(&e), 2);
	assert_int_equal(nr_partial(&e), 0);
	slub_check(&e);
	/* a slab that was full is listed again, and the object freed last comes first */
	slab = slab_of(p[0]);
	assert_true(slub_try_free(&e, p[1]));
	assert_true(slub_try_free(&e, p[0]));
	assert_ptr_equal(partial_at(&e, 0), slab);
	assert_int_equal(counters_of(slab).inuse, n - 2);
	assert_ptr_equal(slub_try_alloc(&e, 0), p[0]);
	assert_ptr_equal(slub_try_alloc(&e, 7), p[1]); /* there is no such node */
	for (unsigned int i = 0; i < 2 * n; i++)
		assert_true(slub_try_free(&e, p[i]));
	assert_int_equal(nr_partial(&e), 2); /* empty ones are kept, as by free.c */
	END_ENGINE(&e);
}

/* Slabs beyond min_partial lose no last object: their pages would have to go. */
static void test_surplus(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(1024);
	unsigned int n = e.layout->objects;
	unsigned long kept = slub_of(&e)->min_partial;
	unsigned int slabs = (unsigned int)kept + 3;
	void **p = calloc(slabs, n * sizeof(*p));
	unsigned int left = 0;

	for (unsigned int i = 0; i < slabs * n; i++)
		assert_int_equal(slub_refill(&e, &p[i], 1, 0, -1), 1);
	for (unsigned int i = 0; i < slabs * n; i++)
		if (!slub_try_free(&e, p[i]))
			p[left++] = p[i];
	assert_in_range(left, 1, slabs);
	assert_int_equal(nr_slabs(&e), slabs);
	slub_check(&e);
	slub_flush(&e, p, left);
	assert_true(nr_slabs(&e) < slabs);
	free(p);
	END_ENGINE(&e);
}

static void test_locks(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	struct lock *list_lock = &slub_of(&e)->node[0]->list_lock;
	struct lock *zone_lock = &buddy_zones[0].lock;
	void *p[3];

	lock_fork_prepare(zone_lock); /* as if another thread held it */
	assert_null(slub_try_alloc(&e, -1));
	lock_fork_parent(zone_lock);
	assert_int_equal(nr_slabs(&e), 0);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(slub_refill(&e, &p[i], 1, 0, -1), 1);
	lock_fork_prepare(list_lock);
	assert_null(slub_try_alloc(&e, -1));
	/* a free that moves no slab needs no lock; the last one would */
	assert_true(slub_try_free(&e, p[1]));
	assert_true(slub_try_free(&e, p[2]));
	assert_false(slub_try_free(&e, p[0]));
	lock_fork_parent(list_lock);
	lock_fork_prepare(zone_lock); /* there are free objects */
	p[1] = slub_try_alloc(&e, -1);
	assert_non_null(p[1]);
	lock_fork_parent(zone_lock);
	slub_flush(&e, p, 2);
	END_ENGINE(&e);
}

/* Nothing is done, and nothing reported: that is for ordinary calls. */
static void test_mistakes(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	struct engine other = make_plain(64);
	void *p[3];
	void **link;
	void *next;

	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(slub_refill(&e, &p[i], 1, 0, -1), 1);
	assert_true(slub_try_free(&e, p[2]));
	assert_false(slub_try_free(&e, p[2]));
	assert_false(slub_try_free(&e, (char *)p[1] + 8));
	assert_false(slub_try_free(&other, p[1]));
	assert_false(slub_try_free(&e, &e));
	e.verify_frees = true; /* a drain looks at each */
	assert_false(slub_try_free(&e, p[1]));
	e.verify_frees = false;
	/* a link that the program overwrote */
	link = (void **)((char *)p[2] + e.layout->offset);
	next = *link;
	*link = &e;
	assert_null(slub_try_alloc(&e, -1));
	*link = next;
	assert_ptr_equal(slub_try_alloc(&e, -1), p[2]);
	slub_flush(&e, p, 3);
	END_ENGINE(&e);
	END_ENGINE(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_surplus),
		cmocka_unit_test(test_locks),
		cmocka_unit_test(test_mistakes),
	};

	return cmocka_run_group_tests(tests, slub_group_setup, NULL);
}
