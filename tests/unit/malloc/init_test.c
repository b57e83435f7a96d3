/* SPDX-License-Identifier: MIT */
/*
 * unit/malloc/init_test.c - the caches of the classes, and when they come
 *
 * ctest: sanitize=no (the sanitizers bring a malloc of their own)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "front/percpu.h"
#include "malloc/internal.h"
#include "bare.h"
#include "replaced.h"
#include "os/cpu/rseq.h"
#include "page/page.h"
#include "inspect/root.h"

/* .preinit_array runs before every constructor: the allocator cannot rely on one of its own. */
static void *first;
static char *copy;

static void before_constructors(void)
{
	first = malloc(1000);
	copy = strdup("before any constructor");
}

__attribute__((section(".preinit_array"), used)) static void (*preinit)(void) = before_constructors;

static void test_before_constructors(void **state)
{
	(void)state;
	if (!copy)
		skip_because("this C library does not call what is in .preinit_array");
	assert_true(page_in_arena(first));
	assert_string_equal(copy, "before any constructor");
	free(first);
	free(copy);
}

static void test_caches(void **state)
{
	(void)state;
	malloc_check();
	for (unsigned int class = 1; class <= MALLOC_CLASSES; class += 1) {
		const struct cache *c = cache_of(percpu_handle(class));
		char name[32];

		snprintf(name, sizeof(name), "malloc-%zu", malloc_class_size(class));
		assert_string_equal(c->name, name);
		assert_int_equal(c->engine.size, malloc_class_size(class));
		assert_int_equal(c->refcount, 1);
	}
}

static void test_tables(void **state)
{
	const unsigned char *table = (unsigned char *)page_windows() + USLAB_WINDOW_TABLES;

	(void)state;
	for (size_t size = 0; size <= MALLOC_MAX_TABLE; size++)
		assert_int_equal(table[size], malloc_class_of(size));
	for (unsigned int class = 1; class <= MALLOC_CLASSES; class += 1) {
		assert_int_equal(malloc_shape[class].size, malloc_class_size(class));
		assert_int_equal(malloc_shape[class].align, malloc_class_align(class));
	}
}

static void test_hit_paths_open(void **state)
{
	(void)state;
	if (!os_rseq_on) {
		assert_int_equal(malloc_hot.size_limit, 0);
		assert_int_equal(malloc_hot.page_limit, 0);
		return;
	}
	assert_ptr_equal(malloc_hot.base, page_map.base);
	assert_int_equal(malloc_hot.size_limit, MALLOC_MAX_TABLE + 1);
}

static void test_again(void **state)
{
	struct kmem_cache *handle = percpu_handle(1);
	struct cache *c = cache_of(handle);

	(void)state;
	assert_true(malloc_init());
	assert_ptr_equal(cache_of(handle), c);
}

static void test_report_name(void **state)
{
	(void)state;
	assert_string_equal((const char *)uslab_root.large_name, "malloc-large");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_before_constructors),
		cmocka_unit_test(test_caches),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_hit_paths_open),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_report_name),
	};

	if (malloc_is_replaced())
		return TEST_SKIPPED;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
