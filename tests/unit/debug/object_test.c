/* SPDX-License-Identifier: MIT */
/*
 * unit/debug/object_test.c - how many bytes an object has, and what is red
 * behind them (spec 5.7; Linux 6.2 and later)
 */
#include "fixture.h"

static void size_known(__attribute__((unused)) void **state)
{
	struct engine e;
	char *obj;

	make_kmalloc(&e, 64, FZPU);
	obj = get_size(&e, 48);
	assert_int_equal(debug_usable_size(slab_of(obj), obj), 48);
	put(&e, obj);
	obj = get_size(&e, 0);
	assert_int_equal(debug_usable_size(slab_of(obj), obj), 64);
	put(&e, obj);
	obj = get_size(&e, 1000); /* as much as there is */
	assert_int_equal(debug_usable_size(slab_of(obj), obj), 64);
	put(&e, obj);
	END_ENGINE(&e);
}

static void size_not_known(__attribute__((unused)) void **state)
{
	static const struct {
		slab_flags_t flags;
		unsigned int usable;
	} rows[] = { { Z, 20 }, { P, 20 }, { FZPU, 20 }, { U, 24 }, { F, 24 } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct engine e;
		void *obj;

		make(&e, 20, rows[i].flags);
		obj = get_size(&e, 10);
		assert_int_equal(debug_usable_size(slab_of(obj), obj), rows[i].usable);
		assert_false(debug_resize(slab_of(obj), obj, 5));
		memset(obj, 1, rows[i].usable);
		put(&e, obj);
		assert_int_equal(errors(), 0);
		END_ENGINE(&e);
	}
}

/* Without U nothing remembers it. */
static void kmalloc_without_tracks(__attribute__((unused)) void **state)
{
	struct engine e;
	void *obj;

	make_kmalloc(&e, 64, F | Z | P);
	obj = get_size(&e, 48);
	assert_int_equal(debug_usable_size(slab_of(obj), obj), 64);
	assert_false(debug_resize(slab_of(obj), obj, 40));
	put(&e, obj);
	END_ENGINE(&e);
}

/* Red from the first byte that was not asked for, poison before that. */
static void red_from_the_first_byte(__attribute__((unused)) void **state)
{
	struct engine e;
	unsigned char *obj;

	make_kmalloc(&e, 64, FZPU);
	obj = get_size(&e, 48);
	assert_true(all_bytes(obj, 47, 0x6b));
	assert_int_equal(obj[47], 0xa5);
	assert_true(all_bytes(obj + 48, 72 - 48, 0xcc));
	put(&e, obj);
	assert_true(all_bytes(obj, 63, 0x6b));
	assert_int_equal(obj[63], 0xa5);
	assert_true(all_bytes(obj + 64, 8, 0xbb));
	assert_int_equal(errors(), 0);
	END_ENGINE(&e);
}

/* test_krealloc_redzone_zeroing; what is zeroed is the caller's business. */
static void resize(__attribute__((unused)) void **state)
{
	struct engine e;
	char *obj;

	make_kmalloc(&e, 64, F | Z | U);
	obj = get_size(&e, 48);
	memset(obj, 0xff, 48);
	assert_true(debug_resize(slab_of(obj), obj, 40));
	assert_true(all_bytes(obj, 40, 0xff));
	assert_true(all_bytes(obj + 40, 24, 0xcc));
	assert_int_equal(debug_usable_size(slab_of(obj), obj), 40);
	assert_true(debug_resize(slab_of(obj), obj, 56));
	memset(obj + 40, 0, 16);
	assert_true(all_bytes(obj + 56, 8, 0xcc));
	assert_int_equal(debug_usable_size(slab_of(obj), obj), 56);
	VALIDATED(&e, 0);
	assert_true(debug_resize(slab_of(obj), obj, 64));
	put(&e, obj);
	assert_int_equal(errors(), 0);
	END_ENGINE(&e);
}

/* What was written behind the old end is not taken for the new object's. */
static void resize_finds_what_was_overrun(__attribute__((unused)) void **state)
{
	struct engine e;
	char *obj;

	make_kmalloc(&e, 64, F | Z | U);
	obj = get_size(&e, 48);
	obj[50] = 1;
	debug_resize(slab_of(obj), obj, 60);
	assert_true(said("kmalloc Redzone overwritten"));
	assert_int_equal(errors(), 2);
	put(&e, obj);
	assert_int_equal(errors(), 0);
	END_ENGINE(&e);
}

/* krealloc() of an address within the object, and of a free one: nothing is written anywhere. */
static void resize_of_no_object(__attribute__((unused)) void **state)
{
	char before[2 * PAGE_SIZE];
	struct engine e;
	size_t length;
	char *last;
	char *obj;

	make_kmalloc(&e, 64, F | Z | U);
	obj = get_size(&e, 48);
	last = debug_object(slab_of(obj), e.debug->layout->objects - 1);
	length = PAGE_SIZE << slab_of(obj)->order;
	assert_true(length <= sizeof(before));
	memcpy(before, page_address(slab_of(obj)), length);
	assert_true(debug_resize(slab_of(obj), obj + 8, 20));
	assert_true(said("Invalid object pointer"));
	assert_int_equal(errors(), 1);
	assert_true(debug_resize(slab_of(obj), last, 20));
	assert_true(said("Object already free"));
	assert_int_equal(errors(), 1);
	assert_memory_equal(before, page_address(slab_of(obj)), length);
	debug_set_flags(&e, Z | U, false);
	assert_true(debug_resize(slab_of(obj), obj + 8, 20));
	assert_memory_equal(before, page_address(slab_of(obj)), length);
	put(&e, obj);
	END_ENGINE(&e);
}

/*
 * A program that wrote far behind its object has spoilt the size, too: no harm beyond the object.
 */
static void spoilt_size(__attribute__((unused)) void **state)
{
	static const uint32_t sizes[] = { 0, 65, 0xffffffff };
	struct engine e;
	char *obj;

	make_kmalloc(&e, 64, Z | P | U);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		obj = get_size(&e, 48);
		*debug_orig_size(e.debug->layout, obj) = sizes[i];
		assert_int_equal(debug_usable_size(slab_of(obj), obj), 64);
		put(&e, obj);
	}
	END_ENGINE(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(size_known),
		cmocka_unit_test(size_not_known),
		cmocka_unit_test(kmalloc_without_tracks),
		cmocka_unit_test(red_from_the_first_byte),
		cmocka_unit_test(resize),
		cmocka_unit_test(resize_finds_what_was_overrun),
		cmocka_unit_test(resize_of_no_object),
		cmocka_unit_test(spoilt_size),
	};

	return cmocka_run_group_tests(tests, debug_group_setup, NULL);
}
