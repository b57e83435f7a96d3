/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/heaps_test.c - heaps of a made-up process: rows, pages,
 * caches that live in them, lies
 */

#include "fake_snapshot.h"

static struct engine_heap_counters *counters(unsigned int i)
{
	return (struct engine_heap_counters *)fake_at(&f, FAKE_GLOBALS + FAKE_HEAP_COUNTERS) + i;
}

static struct engine_heap *heap(void)
{
	return fake_at(&f, FAKE_GLOBALS + FAKE_HEAP);
}

/* The second engine of the table is "slob" and has a heap. */
static int setup(void **state)
{
	struct engine_ops *ops;

	fake_setup(state);
	*(uint64_t *)fake_at(&f, FAKE_GLOBALS + FAKE_ENGINES + 8) = FAKE_GLOBALS + FAKE_HEAP_OPS;
	ops = fake_at(&f, FAKE_GLOBALS + FAKE_HEAP_OPS);
	ops->heap = (void *)(FAKE_GLOBALS + FAKE_HEAP);
	heap()->counters = (void *)(FAKE_GLOBALS + FAKE_HEAP_COUNTERS);
	return 0;
}

static void heap_page(unsigned long index, unsigned int free_bytes)
{
	struct page *page = fake_page(&f, index);

	page->type = PAGE_HEAP;
	page->heap = (void *)(FAKE_GLOBALS + FAKE_HEAP);
	page->counters = free_bytes;
}

static const struct snapshot_cache *row(void)
{
	const struct snapshot_cache *c = &s->cache[s->nr_caches - 1];

	return strcmp(c->name, "slob-heap") ? NULL : c;
}

static void test_row(void **state)
{
	(void)state;
	heap_page(3, 0);
	heap_page(5, 96);
	heap_page(9, 1000);
	*counters(0) = (struct engine_heap_counters){
		.pages = 3, .objects = 40, .blocks = 30, .bytes = 3 * 4096 - 1096
	};
	fake_take();
	assert_non_null(row());
	assert_int_equal(s->nr_caches, SNAPSHOT_EXTRA_ROWS + 1);
	assert_string_equal(row()->engine, "slob");
	assert_string_equal(row()->front, "");
	assert_int_equal(row()->id, 0);
	assert_int_equal(row()->objects, 30);
	assert_int_equal(row()->slabs, 3);
	assert_int_equal(row()->partial, 2);
	assert_int_equal(row()->slab_bytes, 3 * 4096);
	assert_int_equal(row()->object_bytes, 3 * 4096 - 1096);
	assert_int_equal(row()->object_size, (3 * 4096 - 1096) / 40);
	assert_int_equal(s->totals.slab_bytes, 3 * 4096);
	assert_int_equal(s->totals.inconsistent, 0);
}

/* A heap that was never used has no row. */
static void test_unused(void **state)
{
	(void)state;
	fake_take();
	assert_null(row());
	assert_int_equal(s->nr_caches, SNAPSHOT_EXTRA_ROWS);
}

/* Several counters are one heap. */
static void test_sum(void **state)
{
	(void)state;
	heap_page(0, 0);
	heap_page(1, 0);
	heap()->more_counters = 2;
	for (unsigned int i = 0; i < 3; i++)
		*counters(i) = (struct engine_heap_counters){ .objects = 10 + i,
							      .blocks = i,
							      .bytes = 1000 };
	fake_take();
	assert_int_equal(row()->objects, 3);
	assert_int_equal(row()->object_bytes, 3000);
	assert_int_equal(row()->object_size, 3000 / 33);
}

/* Objects of a cache are its own, less what the front holds; the pages are the heap's. */
static void test_cache(void **state)
{
	const struct snapshot_cache *c;

	(void)state;
	heap_page(0, 0);
	fake_cache(&f, 192, "a", 64, 8)->engine.heap_objects = 25;
	*fake_word(&f, 192, 0, 0) = 0x66660000ul + (USLAB_SHEAF_CAPACITY - 8 + 5) * sizeof(void *);
	fake_take();
	c = fake_result(s, 192);
	assert_int_equal(c->objects, 20);
	assert_int_equal(c->objects_held, 5);
	assert_int_equal(c->object_bytes, 20 * 64);
	assert_int_equal(c->slabs, 0);
	assert_int_equal(c->slab_bytes, 0);
	assert_int_equal(s->totals.slab_bytes, 4096);
	/* pages of its own count too */
	fake_slab(&f, 10, 192, 64, 10, false);
	fake_take();
	assert_int_equal(fake_result(s, 192)->objects, 30);
	assert_int_equal(fake_result(s, 192)->slabs, 1);
}

static void test_lies(void **state)
{
	(void)state;
	/* more bytes in use than pages have */
	heap_page(0, 0);
	*counters(0) = (struct engine_heap_counters){ .objects = 0, .blocks = 7, .bytes = ~0ul };
	fake_take();
	assert_int_equal(row()->object_bytes, 4096);
	assert_int_equal(row()->object_size, 0);
	/* a page of no heap */
	fake_page(&f, 1)->type = PAGE_HEAP;
	fake_page(&f, 1)->heap = (void *)0xdeadbeef;
	fake_take();
	assert_int_equal(s->totals.inconsistent, 1);
	assert_int_equal(row()->slabs, 1);
	/* far too many counters, and counters that are not there */
	heap()->more_counters = ~0u;
	fake_take();
	assert_int_equal(s->totals.inconsistent, 2);
	assert_int_equal(row()->objects, 0);
	heap()->more_counters = 0;
	heap()->counters = (void *)8;
	fake_take();
	assert_int_equal(s->totals.inconsistent, 2);
	/* a heap that is not there: then its pages are nobody's */
	((struct engine_ops *)fake_at(&f, FAKE_GLOBALS + FAKE_HEAP_OPS))->heap = (void *)16;
	fake_take();
	assert_null(row());
	assert_int_equal(s->totals.inconsistent, 3);
	/* no table of engines */
	fake_root(&f)->engines = 24;
	fake_take();
	assert_null(row());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_row, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_unused, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_sum, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_cache, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_lies, setup, fake_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
