/* SPDX-License-Identifier: MIT */
/*
 * unit/malloc/malloc_test.c - malloc and free as a program sees them
 *
 * ctest: sanitize=no (the sanitizers bring a malloc of their own)
 *
 * Called through volatile pointers: a compiler knows malloc and would leave calls out.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "child.h"
#include "malloc/internal.h"
#include "replaced.h"
#include "page/page.h"

void free_sized(void *p, size_t size);
void free_aligned_sized(void *p, size_t align, size_t size);

static void *(*volatile alloc)(size_t) = malloc;
static void (*volatile give)(void *) = free;

/* The test is about uslab's malloc, so it must be the one that was linked. */
static void test_is_ours(void **state)
{
	void *p = alloc(100);

	(void)state;
	assert_true(page_in_arena(p));
	assert_int_equal(page_map.class[page_index(p)], malloc_class_of(100));
	give(p);
}

static void test_every_size(void **state)
{
	(void)state;
	for (size_t size = 0; size <= MALLOC_MAX_SMALL + 3 * PAGE_SIZE; size += 1 + size / 64) {
		char *p = alloc(size);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % MALLOC_ALIGN, 0);
		memset(p, 0x5a, size);
		give(p);
	}
}

/* All live objects of one size are distinct and keep their content. */
static void test_distinct(void **state)
{
	enum { NR = 3000 };
	static unsigned int *objects[NR];

	(void)state;
	for (size_t size = sizeof(unsigned int); size <= 4096; size *= 4) {
		for (unsigned int i = 0; i < NR; i++) {
			objects[i] = alloc(size);
			assert_non_null(objects[i]);
			*objects[i] = i;
		}
		for (unsigned int i = 0; i < NR; i++) {
			assert_int_equal(*objects[i], i);
			give(objects[i]);
		}
	}
}

static void test_zero_bytes(void **state)
{
	void *a = alloc(0);
	void *b = alloc(0);

	(void)state;
	assert_non_null(a);
	assert_non_null(b);
	assert_ptr_not_equal(a, b);
	give(a);
	give(b);
	give(NULL);
}

/* What was freed last comes back first, while it is warm. */
static void test_lifo(void **state)
{
	void *a = alloc(200);
	void *b;

	(void)state;
	give(a);
	b = alloc(200);
	assert_ptr_equal(a, b);
	give(b);
}

static void test_power_of_two_alignment(void **state)
{
	void *objects[64];

	(void)state;
	for (size_t size = 16; size <= MALLOC_MAX_SMALL; size *= 2) {
		for (unsigned int i = 0; i < 64; i++) {
			objects[i] = alloc(size);
			assert_int_equal((uintptr_t)objects[i] % MIN(size, PAGE_SIZE), 0);
		}
		for (unsigned int i = 0; i < 64; i++)
			give(objects[i]);
	}
}

static void test_absurd_sizes(void **state)
{
	static const size_t sizes[] = { SIZE_MAX, SIZE_MAX - 15, (size_t)PTRDIFF_MAX + 1,
					PTRDIFF_MAX, (size_t)1 << 60 };

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
		errno = 0;
		assert_null(alloc(sizes[i]));
		assert_int_equal(errno, ENOMEM);
	}
}

static void test_free_keeps_errno(void **state)
{
	static const size_t sizes[] = { 1, 5000, 20000, 100000, 5 << 20, 64 << 20 };
	void *objects[200];

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
		unsigned int nr = sizes[i] > 100000 ? 2 : 200;

		for (unsigned int j = 0; j < nr; j++)
			assert_non_null(objects[j] = alloc(sizes[i]));
		errno = 77;
		for (unsigned int j = 0; j < nr; j++)
			give(objects[j]);
		assert_int_equal(errno, 77);
	}
}

static void test_sized_free(void **state)
{
	void *p = alloc(300);

	(void)state;
	free_sized(p, 300);
	assert_ptr_equal(alloc(300), p);
	free_aligned_sized(p, 16, 300);
	assert_ptr_equal(alloc(300), p);
	give(p);
	free_sized(NULL, 0);
	free_aligned_sized(NULL, 64, 0);
}

static void test_check(void **state)
{
	(void)state;
	malloc_check();
	cache_check_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is_ours),	     cmocka_unit_test(test_every_size),
		cmocka_unit_test(test_distinct),     cmocka_unit_test(test_zero_bytes),
		cmocka_unit_test(test_lifo),	     cmocka_unit_test(test_power_of_two_alignment),
		cmocka_unit_test(test_absurd_sizes), cmocka_unit_test(test_free_keeps_errno),
		cmocka_unit_test(test_sized_free),   cmocka_unit_test(test_check),
	};

	if (malloc_is_replaced())
		return TEST_SKIPPED;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
