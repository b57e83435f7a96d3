/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slab/try_test.c - one object without waiting: which, and when there is none
 */
#include "fixture.h"

static void *from_refill(struct engine *e)
{
	void *obj;

	assert_int_equal(slab_refill(e, &obj, 1, 0, -1), 1);
	return obj;
}

/* As refill.c; the books of the node are right. */
static void test_order(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(256);
	unsigned int n = geometry_of(&e)->num;
	void *p[2 * 64];

	buddy_provide(0, 3);
	for (unsigned int i = 0; i < 2 * n; i++) {
		p[i] = slab_try_alloc(&e, -1);
		assert_non_null(p[i]);
		assert_ptr_equal(p[i], object_at(slab_of(p[i - i % n]), i % n));
	}
	assert_int_equal(node_of(&e, 0)->total_slabs, 2);
	assert_int_equal(node_of(&e, 0)->free_objects, 0);
	slab_check(&e);
	assert_true(slab_try_free(&e, p[3]));
	assert_true(slab_try_free(&e, p[n + 1]));
	assert_ptr_equal(slab_try_alloc(&e, 0), p[3]);
	assert_ptr_equal(from_refill(&e), p[n + 1]);
	for (unsigned int i = 0; i < 2 * n; i++)
		assert_true(slab_try_free(&e, p[i]));
	slab_check(&e);
	assert_int_equal(node_of(&e, 0)->free_slabs, 2);
	slab_shrink(&e);
	END_ENGINE(&e);
}

/* With more free objects than the node keeps no slab becomes empty. */
static void test_surplus(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(256);
	unsigned int n = geometry_of(&e)->num;
	void *p[64];

	fill_slab(&e, p);
	node_of(&e, 0)->free_limit = n - 1;
	for (unsigned int i = 0; i + 1 < n; i++)
		assert_true(slab_try_free(&e, p[i]));
	assert_false(slab_try_free(&e, p[n - 1]));
	assert_int_equal(inuse_of(slab_of(p[n - 1])), 1);
	slab_check(&e);
	slab_flush(&e, &p[n - 1], 1);
	assert_int_equal(node_of(&e, 0)->total_slabs, 0);
	END_ENGINE(&e);
}

static void test_locks(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	struct lock *list_lock = &node_of(&e, 0)->list_lock;
	struct lock *zone_lock = &buddy_zones[0].lock;
	void *p;

	lock_fork_prepare(zone_lock); /* as if another thread held it */
	assert_null(slab_try_alloc(&e, -1));
	lock_fork_parent(zone_lock);
	assert_int_equal(node_of(&e, 0)->total_slabs, 0);
	p = from_refill(&e);
	lock_fork_prepare(list_lock);
	assert_null(slab_try_alloc(&e, -1));
	assert_false(slab_try_free(&e, p));
	lock_fork_parent(list_lock);
	assert_true(slab_try_free(&e, p));
	slab_shrink(&e);
	END_ENGINE(&e);
}

/* Nothing is done, and nothing reported: that is for ordinary calls. */
static void test_mistakes(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	void *p = from_refill(&e);
	void *last = from_refill(&e);
	uint8_t *index = slab_of(p)->freelist;
	uint8_t number;

	assert_true(slab_try_free(&e, last));
	assert_false(slab_try_free(&e, last));
	assert_false(slab_try_free(&e, (char *)p + 8));
	assert_false(slab_try_free(&e, &e));
	e.verify_frees = true; /* a drain looks at each */
	assert_false(slab_try_free(&e, p));
	e.verify_frees = false;
	/* a number that the program overwrote */
	number = index[inuse_of(slab_of(p))];
	index[inuse_of(slab_of(p))] = 255;
	assert_null(slab_try_alloc(&e, -1));
	index[inuse_of(slab_of(p))] = number;
	assert_ptr_equal(slab_try_alloc(&e, -1), last);
	assert_true(slab_try_free(&e, last));
	assert_true(slab_try_free(&e, p));
	slab_shrink(&e);
	END_ENGINE(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_surplus),
		cmocka_unit_test(test_locks),
		cmocka_unit_test(test_mistakes),
	};

	return cmocka_run_group_tests(tests, slab_group_setup, NULL);
}
