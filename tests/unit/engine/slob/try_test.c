/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slob/try_test.c - objects and blocks of both heaps without waiting
 */
#include "fixture.h"

/* Blocks of a size class beside objects of a cache; the last one of a page does not go so. */
static void test_use(__attribute__((unused)) void **state)
{
	buddy_provide(0, 0);
	for (size_t f = 0; f < ARRAY_SIZE(forms); f++) {
		const struct engine_heap *heap = forms[f].ops->heap;
		struct engine e = make_engine(forms[f].ops, plain_params(100));
		void *block = heap->try_alloc(heap, 40, 8, -1);
		void *obj = slob_try_alloc(&e, -1);

		assert_non_null(block);
		assert_int_equal(heap->size(block), 40);
		assert_non_null(obj);
		assert_int_equal(e.heap_objects, 1);
		assert_int_equal(forms[f].heap->counters.objects, 2);
		assert_int_equal(forms[f].heap->counters.blocks, 1);
		slob_heap_check(forms[f].heap);
		assert_true(heap->try_free(heap, block));
		assert_false(slob_try_free(&e, obj)); /* the page would be empty */
		assert_int_equal(e.heap_objects, 1);
		slob_heap_check(forms[f].heap);
		e.ops->flush(&e, &obj, 1);
		assert_heap_is_empty(forms[f].heap);
		END_ENGINE(&e);
	}
}

static void test_direct(__attribute__((unused)) void **state)
{
	struct engine e = make_engine(&slob_ops, plain_params(2 * PAGE_SIZE));
	void *obj;

	buddy_provide(0, 1);
	obj = slob_try_alloc(&e, -1);
	assert_non_null(obj);
	assert_int_equal(slob_of(&e)->nr_direct, 1);
	lock_fork_prepare(&buddy_zones[0].lock); /* as if another thread held it */
	assert_null(slob_try_alloc(&e, -1));
	assert_false(slob_try_free(&e, obj));
	lock_fork_parent(&buddy_zones[0].lock);
	assert_false(slob_try_free(&e, (char *)obj + PAGE_SIZE));
	assert_true(slob_try_free(&e, obj));
	assert_false(slob_try_free(&e, obj));
	assert_int_equal(slob_of(&e)->nr_direct, 0);
	END_ENGINE(&e);
}

static void test_locks(__attribute__((unused)) void **state)
{
	const struct engine_heap *heap = slob_ops.heap;
	struct engine e = make_engine(&slob_ops, plain_params(100));
	void *p[2] = { heap->alloc(heap, 40, 8, 0, -1), heap->alloc(heap, 40, 8, 0, -1) };
	void *obj;

	lock_fork_prepare(&slob_heap.lock);
	assert_null(heap->try_alloc(heap, 40, 8, -1));
	assert_false(heap->try_free(heap, p[0]));
	assert_null(slob_try_alloc(&e, -1));
	lock_fork_parent(&slob_heap.lock);
	lock_fork_prepare(&buddy_zones[0].lock); /* there is space in a page */
	obj = slob_try_alloc(&e, -1);
	assert_ptr_equal(page_of(obj), page_of(p[0]));
	lock_fork_parent(&buddy_zones[0].lock);
	assert_true(heap->try_free(heap, p[0]));
	assert_false(heap->try_free(heap, p[0])); /* for an ordinary call to report */
	heap->free(p[1]);
	e.ops->flush(&e, &obj, 1);
	assert_heap_is_empty(&slob_heap);
	END_ENGINE(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_use),
		cmocka_unit_test(test_direct),
		cmocka_unit_test(test_locks),
	};

	return cmocka_run_group_tests(tests, slob_group_setup, NULL);
}
