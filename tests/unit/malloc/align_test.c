/* SPDX-License-Identifier: MIT */
/*
 * unit/malloc/align_test.c - every alignment with every kind of size, and
 * the rules of each function
 *
 * ctest: sanitize=no (the sanitizers bring a malloc of their own)
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "malloc/internal.h"
#include "malloc/libc.h"
#include "replaced.h"

static int (*volatile posix)(void **, size_t, size_t) = posix_memalign;
static void *(*volatile c11)(size_t, size_t) = aligned_alloc;
static void *(*volatile old)(size_t, size_t) = memalign;
static void *(*volatile page)(size_t) = valloc;
static void *(*volatile pages)(size_t) = pvalloc;
static void (*volatile give)(void *) = free;

static void test_alignments(void **state)
{
	enum { NR = 8 };
	char *objects[NR];

	(void)state;
	for (size_t align = 8; align <= 8 << 20; align *= 2)
		for (size_t size = 0; size <= 9 << 20; size = size * 3 + 17) {
			for (unsigned int i = 0; i < NR; i++) {
				assert_int_equal(posix((void **)&objects[i], align, size), 0);
				assert_int_equal((uintptr_t)objects[i] % align, 0);
				assert_true(malloc_usable_size(objects[i]) >= size);
				if (size)
					objects[i][0] = objects[i][size - 1] = (char)i;
			}
			for (unsigned int i = 0; i < NR; i++) {
				if (size)
					assert_int_equal(objects[i][size - 1], i);
				give(objects[i]);
			}
		}
}

/* Nothing smaller would be aligned; hits take the same class as misses. */
static void test_smallest_class(void **state)
{
	(void)state;
	for (size_t align = 8; align <= 4 * PAGE_SIZE; align *= 2)
		for (size_t size = 0; size <= MALLOC_MAX_TABLE + 100; size += 1 + size / 256) {
			unsigned int class = malloc_class_aligned(size, align);
			void *p;

			assert_int_equal(posix(&p, align, size), 0);
			if (class)
				assert_int_equal(malloc_usable_size(p), malloc_class_size(class));
			give(p);
		}
}

static void test_posix_rules(void **state)
{
	static const size_t wrong[] = { 0, 1, 2, 4, 3, 12, 24, 100, SIZE_MAX };
	void *p = state;

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(wrong); i++) {
		assert_int_equal(posix(&p, wrong[i], 100), EINVAL);
		assert_ptr_equal(p, state);
	}
	assert_int_equal(posix(&p, 64, SIZE_MAX - 64), ENOMEM);
	assert_int_equal(posix(&p, (size_t)1 << 62, 1), ENOMEM);
	assert_ptr_equal(p, state);
}

static void test_c11_rules(void **state)
{
	void *p;

	(void)state;
	errno = 0;
	assert_null(c11(24, 48));
	assert_int_equal(errno, EINVAL);
	errno = 0;
	assert_null(c11(0, 48));
	assert_int_equal(errno, EINVAL);
	errno = 0;
	assert_null(c11(64, PTRDIFF_MAX));
	assert_int_equal(errno, ENOMEM);
	p = c11(64, 100); /* no multiple of the alignment: allowed since C17 */
	assert_int_equal((uintptr_t)p % 64, 0);
	give(p);
}

static void test_old_functions(void **state)
{
	void *p;

	(void)state;
	p = old(48, 10);
	assert_int_equal((uintptr_t)p % 64, 0);
	give(p);
	p = old(0, 10);
	assert_non_null(p);
	give(p);
	assert_null(old(SIZE_MAX, 10));
	assert_int_equal(errno, EINVAL);
	for (unsigned long align = (1ul << 62) + 1; align <= 1ul << 63; align += (1ul << 62) - 1) {
		errno = 0;
		assert_null(old(align, 10));
		assert_int_equal(errno, ENOMEM);
	}
	p = page(10);
	assert_int_equal((uintptr_t)p % PAGE_SIZE, 0);
	give(p);
	p = pages(PAGE_SIZE + 1);
	assert_int_equal((uintptr_t)p % PAGE_SIZE, 0);
	assert_true(malloc_usable_size(p) >= 2 * PAGE_SIZE);
	give(p);
	p = pages(0);
	assert_true(malloc_usable_size(p) >= PAGE_SIZE);
	give(p);
	assert_null(pages(SIZE_MAX));
}

/* realloc of an aligned block promises its bytes, not its alignment. */
static void test_realloc_of_aligned(void **state)
{
	void *(*volatile resize)(void *, size_t) = realloc;
	char *p;

	(void)state;
	for (size_t align = 16; align <= 1 << 20; align *= 4) {
		p = c11(align, 500);
		memset(p, 'x', 500);
		p = resize(p, 50000);
		for (unsigned int i = 0; i < 500; i++)
			assert_int_equal(p[i], 'x');
		give(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alignments),    cmocka_unit_test(test_smallest_class),
		cmocka_unit_test(test_posix_rules),   cmocka_unit_test(test_c11_rules),
		cmocka_unit_test(test_old_functions), cmocka_unit_test(test_realloc_of_aligned),
	};

	if (malloc_is_replaced())
		return TEST_SKIPPED;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
