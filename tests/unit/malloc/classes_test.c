/* SPDX-License-Identifier: MIT */
/*
 * unit/malloc/classes_test.c - the size classes: every request of every class, one by one
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "malloc/classes.h"

static void test_sizes_grow(void **state)
{
	(void)state;
	assert_int_equal(malloc_class_size(1), 16);
	assert_int_equal(malloc_class_size(8), 128);
	assert_int_equal(malloc_class_size(9), 144);
	assert_int_equal(malloc_class_size(16), 256);
	assert_int_equal(malloc_class_size(17), 288);
	assert_int_equal(malloc_class_size(MALLOC_CLASSES), MALLOC_MAX_SMALL);
	for (unsigned int class = 2; class <= MALLOC_CLASSES; class += 1)
		assert_true(malloc_class_size(class) > malloc_class_size(class - 1));
}

static void test_doublings(void **state)
{
	static const size_t header_sizes[] = { 560, 1104, 2192, 4368, 8720, 17424 };
	unsigned int class = MALLOC_FINE_CLASSES;

	(void)state;
	for (size_t base = 128, i = 0; base < MALLOC_MAX_SMALL; base *= 2) {
		if (base >= 512)
			assert_int_equal(malloc_class_size(++class), header_sizes[i++]);
		for (size_t eighth = 1; eighth <= 8; eighth++)
			assert_int_equal(malloc_class_size(++class), base + base / 8 * eighth);
	}
	assert_int_equal(class, MALLOC_CLASSES);
}

/* The smallest class that is large enough, for every size there is. */
static void test_class_of_is_tight(void **state)
{
	unsigned int expect = 1;

	(void)state;
	for (size_t size = 0; size <= MALLOC_MAX_SMALL; size++) {
		while (malloc_class_size(expect) < size)
			expect++;
		assert_int_equal(malloc_class_of(size), expect);
	}
}

/* At most 1/8 of the request, or what rounding up to 16 costs. */
static void test_waste(void **state)
{
	(void)state;
	for (size_t size = 1; size <= MALLOC_MAX_SMALL; size++) {
		size_t waste = malloc_class_size(malloc_class_of(size)) - size;

		assert_true(waste < MALLOC_ALIGN || waste * 8 <= size);
	}
}

static void test_alignment(void **state)
{
	(void)state;
	for (unsigned int class = 1; class <= MALLOC_CLASSES; class += 1) {
		size_t size = malloc_class_size(class);
		size_t align = malloc_class_align(class);

		assert_int_equal(size % MALLOC_ALIGN, 0);
		assert_int_equal(size % align, 0);
		assert_true(is_pow2(align) && align >= MALLOC_ALIGN && align <= PAGE_SIZE);
		if (is_pow2(size))
			assert_int_equal(align, MIN(size, PAGE_SIZE));
	}
}

/* Against a search over all classes. */
static void test_aligned_class(void **state)
{
	(void)state;
	for (size_t align = 1; align <= 2 * PAGE_SIZE; align *= 2)
		for (size_t size = 0; size <= MALLOC_MAX_SMALL + 16; size += 7) {
			unsigned int expect = 0;

			for (unsigned int class = 1; class <= MALLOC_CLASSES && !expect; class += 1)
				if (malloc_class_size(class) >= size &&
				    malloc_class_align(class) >= align)
					expect = class;
			assert_int_equal(malloc_class_aligned(size, align), expect);
		}
	assert_int_equal(malloc_class_aligned(SIZE_MAX, 16), 0);
	assert_int_equal(malloc_class_aligned(16, SIZE_MAX / 2 + 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes_grow),	  cmocka_unit_test(test_doublings),
		cmocka_unit_test(test_class_of_is_tight), cmocka_unit_test(test_waste),
		cmocka_unit_test(test_alignment),	  cmocka_unit_test(test_aligned_class),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
