/* SPDX-License-Identifier: MIT */
/*
 * unit/malloc/early_test.c - the memory for requests that come too early
 *
 * ctest: sanitize=no (the sanitizers bring a malloc of their own)
 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "malloc/internal.h"
#include "replaced.h"

static void test_blocks(void **state)
{
	char *last = NULL;

	(void)state;
	for (size_t size = 0; size < 2000; size += 111) {
		char *p = early_alloc(size, MALLOC_ALIGN);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % MALLOC_ALIGN, 0);
		assert_true(early_size(p) >= size);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xff, size);
		if (last)
			assert_true(p >= last + early_size(last));
		last = p;
	}
}

static void test_alignment(void **state)
{
	(void)state;
	for (size_t align = 16; align <= 4096; align *= 2)
		assert_int_equal((uintptr_t)early_alloc(24, align) % align, 0);
}

/* The rest of the library takes such blocks: their size is known, free ignores them. */
static void test_is_accepted(void **state)
{
	void (*volatile give)(void *) = free;
	void *(*volatile resize)(void *, size_t) = realloc;
	char *p = early_alloc(100, MALLOC_ALIGN);
	char *q;

	(void)state;
	strcpy(p, "early");
	assert_true(malloc_usable_size(p) >= 100);
	q = resize(p, 5000);
	assert_ptr_not_equal(p, q);
	assert_string_equal(q, "early");
	give(q);
	give(p);
	give(p);
}

static void test_not_early(void **state)
{
	void *p = calloc(1, 100);

	assert_int_equal(early_size(p), 0);
	assert_int_equal(early_size(NULL), 0);
	assert_int_equal(early_size(state), 0);
	free(p);
}

/* Runs dry, does not run over. Last, because nothing is given back. */
static void test_end(void **state)
{
	size_t total = 0;

	(void)state;
	assert_null(early_alloc(1 << 20, MALLOC_ALIGN));
	assert_null(early_alloc(SIZE_MAX, MALLOC_ALIGN));
	assert_null(early_alloc(1, 1ul << 40));
	while (early_alloc(1000, MALLOC_ALIGN))
		total += 1000;
	assert_true(total > 20000 && total < 64 << 10);
	while (early_alloc(1, MALLOC_ALIGN))
		;
	assert_null(early_alloc(0, MALLOC_ALIGN));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks),	    cmocka_unit_test(test_alignment),
		cmocka_unit_test(test_is_accepted), cmocka_unit_test(test_not_early),
		cmocka_unit_test(test_end),
	};

	if (malloc_is_replaced())
		return TEST_SKIPPED;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
