/* SPDX-License-Identifier: MIT */
/*
 * unit/report/usage_test.c - the cheap count of slab bytes against a snapshot
 */
#include "report/usage.h"
#include "report/snapshot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <uslab/slab.h>

#include <cmocka.h>

#define NR_OBJECTS 20000u

static struct snapshot snapshot;
static void *objects[NR_OBJECTS];

static void assert_agrees(void)
{
	struct usage usage;
	uint64_t slabs = 0;

	usage_read(&usage);
	assert_int_equal(snapshot_take(&snapshot, &reader_local, (uintptr_t)&uslab_root), 0);
	for (unsigned int i = 0; i < snapshot.nr_caches; i++)
		if (snapshot.cache[i].id)
			slabs += snapshot.cache[i].slab_bytes;
	assert_int_equal(usage.slab_bytes, snapshot.totals.slab_bytes);
	assert_int_equal(usage.slab_bytes, slabs);
	assert_int_equal(usage.large_bytes, snapshot.totals.run_bytes);
}

/* First of all: the library is not initialised yet. */
static void nothing_allocated(void **state)
{
	struct usage usage = { 1, 1 };

	(void)state;
	usage_read(&usage);
	assert_int_equal(usage.slab_bytes, 0);
	assert_int_equal(usage.large_bytes, 0);
}

static void slabs_come_and_go(void **state)
{
	struct kmem_cache *s = kmem_cache_create("usage", 500, 0, 0, NULL);
	struct usage before, full, after;

	(void)state;
	assert_non_null(s);
	usage_read(&before);
	for (unsigned int i = 0; i < NR_OBJECTS; i++) {
		objects[i] = kmem_cache_alloc(s, GFP_KERNEL);
		assert_non_null(objects[i]);
		if (i % 1000 == 0)
			assert_agrees();
	}
	usage_read(&full);
	assert_true(full.slab_bytes - before.slab_bytes >= 500ul * NR_OBJECTS);
	assert_true(full.slab_bytes - before.slab_bytes < 700ul * NR_OBJECTS);
	for (unsigned int i = 0; i < NR_OBJECTS; i++)
		kmem_cache_free(s, objects[i]);
	assert_agrees();
	kmem_cache_destroy(s);
	usage_read(&after);
	assert_int_equal(after.slab_bytes, before.slab_bytes);
	assert_agrees();
}

static void large_kmallocs_are_apart(void **state)
{
	struct usage before, with, after;
	void *p;

	(void)state;
	usage_read(&before);
	p = kmalloc(100000, GFP_KERNEL);
	assert_non_null(p);
	usage_read(&with);
	assert_agrees();
	assert_int_equal(with.slab_bytes, before.slab_bytes);
	assert_int_equal(with.large_bytes - before.large_bytes, ksize(p));
	kfree(p);
	usage_read(&after);
	assert_int_equal(after.large_bytes, before.large_bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_allocated),
		cmocka_unit_test(slabs_come_and_go),
		cmocka_unit_test(large_kmallocs_are_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
