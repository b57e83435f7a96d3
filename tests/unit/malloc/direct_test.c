/* SPDX-License-Identifier: MIT */
/*
 * unit/malloc/direct_test.c - a program with many blocks of many sizes moves them by itself
 *
 * ctest: sanitize=no (the sanitizers bring a malloc of their own)
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <uslab/group.h>
#include <uslab/malloc.h>

#include "malloc/internal.h"
#include "page/page.h"
#include "replaced.h"

#define BLOCKS 30000

static unsigned char *block[BLOCKS];
static size_t size_of[BLOCKS];

/* Bytes of slabs and free objects in them. */
static size_t slab_bytes(void)
{
	size_t bytes = 0;

	for (unsigned int class = 1; class <= MALLOC_CLASSES; class += 1) {
		struct cache *c = cache_of(percpu_handle(class));
		struct engine_stats stats;

		if (!c) /* nobody has used the class */
			continue;
		c->engine.ops->stats(&c->engine, &stats);
		bytes += stats.slab_bytes;
	}
	return bytes;
}

static void pass(void)
{
	for (unsigned int i = 0; i < BLOCKS; i++) {
		unsigned char *to;

		if (!block[i] || !uslab_malloc_should_move(block[i]))
			continue;
		to = uslab_malloc_direct(size_of[i]);
		assert_non_null(to);
		assert_true(page_slab_of(to) != page_slab_of(block[i]));
		memcpy(to, block[i], size_of[i]);
		uslab_free_direct(block[i]);
		block[i] = to;
	}
}

/* What a second CPU holds after a migration is as much again, and lies in slabs of its own. */
static void stay_here(void)
{
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	sched_setaffinity(0, sizeof(here), &here);
}

static void test_packs(void **state)
{
	unsigned int seed = 3;
	size_t live = 0;

	(void)state;
	stay_here();
	for (unsigned int i = 0; i < BLOCKS; i++) {
		size_of[i] = 16 + (unsigned int)rand_r(&seed) % 1000;
		block[i] = malloc(size_of[i]);
		memset(block[i], (int)i, size_of[i]);
	}
	for (unsigned int i = 0; i < BLOCKS; i++) {
		if (rand_r(&seed) % 4) {
			free(block[i]);
			block[i] = NULL;
		} else {
			live += size_of[i];
		}
	}
	for (unsigned int i = 0; i < 3; i++)
		pass();
	/* from four times that down; with hardened or another engine as it was */
	if (cache_of(percpu_handle(1))->engine.ops == &slub_ops)
		assert_true(slab_bytes() * 10 < live * 15);
	for (unsigned int i = 0; i < BLOCKS; i++) {
		for (size_t n = 0; block[i] && n < size_of[i]; n++)
			assert_int_equal(block[i][n], i % 256);
		free(block[i]);
	}
}

/* What is no object of a class. */
static void test_others(void **state)
{
	char *large = uslab_malloc_direct(100000);
	char *none = uslab_malloc_direct(0);

	(void)state;
	assert_non_null(large);
	memset(large, 1, 100000);
	assert_false(uslab_malloc_should_move(large));
	assert_false(uslab_malloc_should_move(&large));
	assert_false(uslab_malloc_should_move(NULL));
	uslab_free_direct(large);
	assert_non_null(none);
	uslab_free_direct(none);
	uslab_free_direct(NULL);
	assert_null(uslab_malloc_direct(SIZE_MAX));
}

/* What a thread in a group moves is charged to that group. */
static void test_charged(void **state)
{
	struct uslab_group *group = uslab_group_create("g", 0, NULL);
	char *p[2];
	size_t one;

	(void)state;
	assert_non_null(group);
	assert_null(uslab_group_enter(group));
	p[0] = malloc(100);
	one = uslab_group_usage(group);
	assert_true(one >= 100);
	p[1] = uslab_malloc_direct(100);
	assert_non_null(p[1]);
	assert_int_equal(uslab_group_usage(group), 2 * one);
	uslab_free_direct(p[0]);
	assert_int_equal(uslab_group_usage(group), one);
	assert_ptr_equal(uslab_group_enter(NULL), group);
	uslab_free_direct(p[1]);
	assert_int_equal(uslab_group_usage(group), 0);
	uslab_group_destroy(group);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packs),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_charged),
	};

	if (malloc_is_replaced())
		return TEST_SKIPPED;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
