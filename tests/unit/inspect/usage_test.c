/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/usage_test.c - the cheap count of slab bytes against a snapshot
 */
#include "inspect/usage.h"
#include "base/bits.h"
#include "cache/cache.h"
#include "inspect/snapshot.h"

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
		if (snapshot.cache[i].id || strstr(snapshot.cache[i].name, "-heap"))
			slabs += snapshot.cache[i].slab_bytes;
	assert_int_equal(usage.slab_bytes, snapshot.totals.slab_bytes);
	assert_int_equal(usage.slab_bytes, slabs);
	assert_int_equal(usage.large_bytes, snapshot.totals.run_bytes);
}

/* First of all: the library is not initialised yet. */
static void nothing_allocated(void **state)
{
	struct usage usage = { 1, 1, 1 };

	(void)state;
	usage_read(&usage);
	assert_int_equal(usage.slab_bytes, 0);
	assert_int_equal(usage.large_bytes, 0);
	assert_int_equal(usage.mapped_bytes, 0);
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

/* Slabs, shared pages and objects of whole pages, under every engine. */
static void every_engine(void **state)
{
	static const char *const fronts[] = { "none", "array", "queues", "sheaves" };

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(fronts) * CACHE_NR_ENGINES; i++) {
		struct kmem_cache_args args = { .engine =
							cache_engines[i / ARRAY_SIZE(fronts)]->name,
						.front = fronts[i % ARRAY_SIZE(fronts)] };
		struct kmem_cache *small = kmem_cache_create_args("small", 100, &args, 0);
		struct kmem_cache *large = kmem_cache_create_args("large", 5000, &args, 0);

		for (unsigned int j = 0; j < 500; j++)
			objects[j] = kmem_cache_alloc(j % 8 ? small : large, GFP_KERNEL);
		assert_agrees();
		for (unsigned int j = 0; j < 500; j++)
			kmem_cache_free(j % 8 ? small : large, objects[j]);
		assert_agrees();
		kmem_cache_destroy(small);
		kmem_cache_destroy(large);
		assert_agrees();
	}
}

/* What fronts hold, pages taken, metadata; and pages one by one. */
static void slow_counts(void **state)
{
	struct kmem_cache_args args = { .front = "array" };
	struct kmem_cache *s = kmem_cache_create_args("usage-slow", 2000, &args, 0);
	struct usage_slow before, full, after;
	struct usage usage;
	uint64_t pages = 0;

	(void)state;
	assert_non_null(s);
	uslab_trim();
	usage_read_slow(&before);
	for (unsigned int i = 0; i < 1000; i++)
		objects[i] = kmem_cache_alloc(s, GFP_KERNEL);
	usage_read_slow(&full);
	assert_true(full.page_blocks - before.page_blocks >= 1000 * 2000 / 32768);
	assert_true(full.page_blocks - before.page_blocks <= 1000);
	assert_true(full.meta_bytes >= before.meta_bytes && full.meta_bytes > 0);
	for (unsigned int i = 0; i < 1000; i++) {
		assert_true(usage_page_of(objects[i]) < usage_nr_pages());
		assert_true(usage_page_in_use(usage_page_of(objects[i])));
	}
	assert_true(usage_page_of(&before) >= usage_nr_pages());
	usage_read(&usage);
	for (uint64_t page = 0; page < usage_nr_pages(); page++)
		pages += usage_page_in_use(page);
	assert_int_equal(pages * 4096, usage.slab_bytes + usage.large_bytes);
	kmem_cache_free(s, objects[0]);
	usage_read_slow(&after);
	assert_int_equal(after.queue_bytes - full.queue_bytes, 2000);
	assert_int_equal(after.cpu_slab_bytes, full.cpu_slab_bytes);
	for (unsigned int i = 1; i < 1000; i++)
		kmem_cache_free(s, objects[i]);
	kmem_cache_destroy(s);
}

/* Blocks are those that slabs were made of, not what a list of the CPU took for later ones. */
static void asked_blocks(void **state)
{
	struct kmem_cache_args args = { .engine = "slub", .front = "cpuslab" };
	struct kmem_cache *s = kmem_cache_create_args("usage-blocks", 2048, &args, 0);
	struct usage_slow before, first, all, again;

	(void)state;
	assert_non_null(s);
	usage_read_slow(&before);
	objects[0] = kmem_cache_alloc(s, GFP_KERNEL);
	usage_read_slow(&first);
	assert_int_equal(first.page_blocks - before.page_blocks, 1);
	for (unsigned int i = 1; i < 1000; i++)
		objects[i] = kmem_cache_alloc(s, GFP_KERNEL);
	usage_read_slow(&all);
	/* no slab has less than 4 objects of that size, nor more than 16 */
	assert_in_range(all.page_blocks - before.page_blocks, 1000 / 16, 1000 / 4);
	for (unsigned int i = 0; i < 1000; i++)
		kmem_cache_free(s, objects[i]);
	usage_read_slow(&again);
	assert_int_equal(again.page_blocks, all.page_blocks);
	kmem_cache_destroy(s);
}

/* By the front: arrays and queues are queues, slabs of CPUs are not, and "none" holds nothing. */
static void held_by_front(void **state)
{
	static const char *const fronts[] = { "none", "array", "queues", "cpuslab" };

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct kmem_cache_args args = { .engine = "slub", .front = fronts[i] };
		struct kmem_cache *s = kmem_cache_create_args("usage-held", 1000, &args, 0);
		struct usage_slow before, after;

		assert_non_null(s);
		usage_read_slow(&before);
		objects[0] = kmem_cache_alloc(s, GFP_KERNEL);
		kmem_cache_free(s, objects[0]);
		usage_read_slow(&after);
		assert_int_equal(after.queue_bytes > before.queue_bytes, i == 1 || i == 2);
		assert_int_equal(after.cpu_slab_bytes > before.cpu_slab_bytes, i == 3);
		kmem_cache_destroy(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_allocated),
		cmocka_unit_test(slabs_come_and_go),
		cmocka_unit_test(large_kmallocs_are_apart),
		cmocka_unit_test(slow_counts),
		cmocka_unit_test(asked_blocks),
		cmocka_unit_test(held_by_front),
		cmocka_unit_test(every_engine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
