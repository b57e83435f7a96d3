/* SPDX-License-Identifier: MIT */
/*
 * unit/debug/element_test.c - an object that a pool keeps is poisoned, and checked then
 */
#include "fixture.h"

static void construct(void *obj)
{
	memset(obj, 'c', 64);
}

/* As far as the program asked for it: what is behind that is red zone. */
static void test_kept(__attribute__((unused)) void **state)
{
	struct engine e;
	unsigned char *obj;

	make_kmalloc(&e, 64, FZPU);
	obj = get_size(&e, 48);
	memset(obj, 1, 48);
	debug_poison_kept(slab_of(obj), obj);
	assert_true(all_bytes(obj, 47, POISON_FREE));
	assert_int_equal(obj[47], POISON_END);
	debug_check_kept(slab_of(obj), obj);
	report_deliver();
	assert_true(all_bytes(obj, 48, POISON_INUSE));
	put(&e, obj);
	assert_int_equal(errors(), 0); /* the red zones are whole */
	END_ENGINE(&e);
}

static void test_written(__attribute__((unused)) void **state)
{
	static const unsigned int places[] = { 0, 20, 39 };
	struct engine e;
	unsigned char *obj;

	make(&e, 40, FZPU);
	obj = get_size(&e, 0);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		debug_poison_kept(slab_of(obj), obj);
		obj[places[i]] = 'x';
		debug_check_kept(slab_of(obj), obj);
		report_deliver();
		assert_true(
			said(places[i] == 39 ? "End Poison overwritten" : "Poison overwritten"));
		assert_true(all_bytes(obj, 40, POISON_INUSE));
		assert_int_equal(errors(), 2);
	}
	put(&e, obj);
	assert_int_equal(errors(), 0);
	END_ENGINE(&e);
}

static void stays(struct engine *e, void *obj, size_t size)
{
	memset(obj, 'p', size);
	debug_poison_kept(slab_of(obj), obj);
	debug_check_kept(slab_of(obj), obj);
	report_deliver();
	assert_true(all_bytes(obj, size, 'p'));
	assert_int_equal(errors(), 0);
	put(e, obj);
}

/* Without P, with a constructor, and where no object begins. */
static void test_not_poisoned(__attribute__((unused)) void **state)
{
	struct engine_params params = params_of(64);
	struct engine e;
	char *obj;

	make(&e, 64, F | Z | U);
	stays(&e, get_size(&e, 0), 64);
	END_ENGINE(&e);

	params.ctor = construct;
	make_with(&e, &slub_ops, params, FZPU, false);
	stays(&e, get_size(&e, 0), 64);
	END_ENGINE(&e);

	make(&e, 64, FZPU);
	obj = get_size(&e, 0);
	memset(obj, 'p', 64);
	debug_poison_kept(slab_of(obj), obj + 8);
	debug_check_kept(slab_of(obj), obj + 8);
	assert_true(all_bytes(obj, 64, 'p'));
	put(&e, obj);
	END_ENGINE(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_written),
		cmocka_unit_test(test_not_poisoned),
	};

	return cmocka_run_group_tests(tests, debug_group_setup, NULL);
}
