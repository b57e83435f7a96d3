/* SPDX-License-Identifier: MIT */
/*
 * unit/malloc/init_test.c - the start of the drop-in; the caches of the classes, and when they come
 *
 * ctest: sanitize=no (the sanitizers bring a malloc of their own)
 */
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cache/control/control.h"
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

static bool is_made(unsigned int class)
{
	return cache_of(percpu_handle(class)) != NULL;
}

/* The last class that nobody has used so far; 0: all are made. */
static unsigned int unused_class(void)
{
	unsigned int class = MALLOC_CLASSES;

	while (class && is_made(class))
		class -= 1;
	return class;
}

static void test_made_by_the_first_request(void **state)
{
	unsigned int class = unused_class();
	size_t size = malloc_class_size(class);
	void *p;

	(void)state;
	if (!class)
		skip_because("all classes are in use already");
	/* a block of another class that shrinks or grows into it, then itself */
	p = realloc(malloc(1), size);
	assert_non_null(p);
	assert_true(is_made(class));
	assert_true(malloc_usable_size(p) >= size);
	memset(p, 1, size);
	free(p);
	malloc_check();
	class = unused_class();
	if (!class)
		return;
	p = aligned_alloc(malloc_class_align(class), malloc_class_size(class));
	assert_int_equal((uintptr_t)p % malloc_class_align(class), 0);
	assert_true(is_made(class));
	free(p);
}

#define RACERS 4

static pthread_barrier_t line;

static void *race(void *arg)
{
	for (unsigned int class = 1; class <= MALLOC_CLASSES / 2; class += 1) {
		void *p;

		pthread_barrier_wait(&line);
		p = malloc(malloc_class_size(class));
		if (!p || malloc_usable_size(p) < malloc_class_size(class))
			return NULL;
		free(p);
	}
	return arg;
}

static void test_made_once(void **state)
{
	pthread_t threads[RACERS];
	void *result;

	(void)state;
	pthread_barrier_init(&line, NULL, RACERS);
	for (int i = 0; i < RACERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, race, threads), 0);
	for (int i = 0; i < RACERS; i++) {
		assert_int_equal(pthread_join(threads[i], &result), 0);
		assert_ptr_equal(result, threads);
	}
	malloc_check();
}

/* A command for all of them finds also those that nobody has used. */
static void test_made_for_commands(void **state)
{
	(void)state;
	if (!unused_class())
		skip_because("all classes are in use already");
	assert_true(control.unprepared);
	control.command = CONTROL_SHRINK;
	memcpy(control.patterns, "malloc-*\0", sizeof("malloc-*\0"));
	control.state = CONTROL_PENDING;
	malloc_poll_mailbox();
	assert_int_equal(control.state, CONTROL_DONE);
	assert_int_equal(control.result, 0);
	assert_int_equal(control.matched, MALLOC_CLASSES);
	control.state = CONTROL_IDLE;
	assert_int_equal(unused_class(), 0);
	assert_false(control.unprepared);
}

/* After the one before. */
static void test_caches(void **state)
{
	(void)state;
	malloc_check();
	for (unsigned int class = 1; class <= MALLOC_CLASSES; class += 1) {
		const struct cache *c = cache_of(percpu_handle(class));
		char name[32];

		assert_non_null(c);

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
		cmocka_unit_test(test_made_by_the_first_request),
		cmocka_unit_test(test_made_once),
		cmocka_unit_test(test_made_for_commands),
		cmocka_unit_test(test_caches),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_hit_paths_open),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_report_name),
	};

	if (malloc_is_replaced())
		return TEST_SKIPPED;
	malloc_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
