/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slobseg/pow2_test.c - pages by power of two that all caches
 * and blocks share (spec 2.1)
 */
#include <sys/wait.h>

#include "fixture.h"

static const struct engine_heap *heap;

/* Rounded up to a power of two, and to the alignment; a page at most lies in the pools. */
static void strides(UNUSED_STATE)
{
	static const unsigned int cases[][4] = {
		/* size, align, stride, of a pool */
		{ 1, 8, 8, 1 },		{ 8, 8, 8, 1 },		 { 9, 8, 16, 1 },
		{ 96, 8, 128, 1 },	{ 192, 8, 256, 1 },	 { 20, 64, 64, 1 },
		{ 2049, 8, 4096, 1 },	{ 4096, 4096, 4096, 1 }, { 4097, 8, 8192, 0 },
		{ 20000, 8, 32768, 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct engine_params params = plain_params(cases[i][0]);
		struct engine e;

		params.align = cases[i][1];
		params.page_class = 5;
		make_with(&e, &slobseg_pow2_ops, params);
		assert_int_equal(e.size, cases[i][2]);
		assert_int_equal(e.object_size, cases[i][0]);
		assert_int_equal(e.layout->stride, cases[i][2]);
		assert_int_equal(slobseg_is_pool(slobseg_of(&e)), cases[i][3]);
		END_ENGINE(&e);
	}
}

static void caches_and_blocks_share_pages(UNUSED_STATE)
{
	struct engine_heap_counters before = heap_sum(heap);
	unsigned long pages = arena_pages_out();
	struct engine_heap_counters now;
	struct engine a, b;
	char *x, *y, *z;

	make(&a, &slobseg_pow2_ops, 100);
	make(&b, &slobseg_pow2_ops, 128);
	x = take(&a);
	y = take(&b);
	z = heap->alloc(heap, 65, 8, 0, -1);
	assert_ptr_equal(y, x + 128);
	assert_ptr_equal(z, x + 256);
	assert_int_equal(arena_pages_out(), pages + 1);
	assert_int_equal(a.heap_objects, 1);
	assert_int_equal(b.heap_objects, 1);
	assert_int_equal((uint32_t)page_head_of(x)->counters, PAGE_SIZE - 3 * 128);

	now = heap_sum(heap);
	assert_int_equal(now.pages - before.pages, 1);
	assert_int_equal(now.objects - before.objects, 3);
	assert_int_equal(now.blocks - before.blocks, 1);
	assert_int_equal(now.bytes - before.bytes, 3 * 128);

	free_one(&a, x);
	assert_ptr_equal(take(&b), x); /* freed last, whoever had it */
	assert_int_equal(a.heap_objects, 0);
	assert_int_equal(b.heap_objects, 2);
	heap->free(z);
	b.ops->flush(&b, (void *[]){ x, y }, 2);
	now = heap_sum(heap);
	assert_memory_equal(&now, &before, sizeof(now));
	assert_int_equal(arena_pages_out(), pages);
	END_ENGINE(&a);
	END_ENGINE(&b);
}

/* One list per size: another size never takes from it. */
static void sizes_have_pages_of_their_own(UNUSED_STATE)
{
	void *small = heap->alloc(heap, 64, 8, 0, -1);
	void *large = heap->alloc(heap, 128, 8, 0, -1);
	void *page = heap->alloc(heap, PAGE_SIZE, 8, 0, -1);

	assert_ptr_not_equal(page_head_of(small), page_head_of(large));
	assert_int_equal((uintptr_t)page % PAGE_SIZE, 0);
	assert_int_equal((uint32_t)page_head_of(page)->counters, 0);
	heap->check(heap);
	heap->free(small);
	heap->free(page);
	heap->free(large);
	heap->check(heap);
}

/* kmalloc of exact sizes: rounded, aligned to the size if it is a power of two (vector 17). */
static void blocks(UNUSED_STATE)
{
	struct engine_heap_counters before = heap_sum(heap);
	unsigned long pages = arena_pages_out();
	static void *p[2 * PAGE_SIZE];
	unsigned int n = 0;
	unsigned int i;

	for (i = 1; i <= PAGE_SIZE; i++) {
		size_t align = 8u << (i % 10);
		size_t size;

		p[n] = heap->alloc(heap, i, 8, 0, -1);
		size = heap->size(p[n]);
		assert_true(size >= i && size >= 8 && is_pow2(size));
		assert_true(size < 2ul * i || size == 8);
		assert_int_equal(heap->usable(i), size);
		assert_int_equal((uintptr_t)p[n] % size, 0);
		assert_ptr_equal(page_head_of(p[n])->heap, heap);
		assert_int_equal(heap->owner(p[n]), 0);
		memset(p[n++], 0x5a, size);
		p[n] = heap->alloc(heap, i, align, 0, -1);
		assert_int_equal((uintptr_t)p[n] % align, 0);
		assert_int_equal(heap->size(p[n]) % align, 0);
		memset(p[n++], 0x5a, i);
	}
	heap->check(heap);
	assert_int_equal(heap_sum(heap).blocks - before.blocks, n);
	assert_int_equal((heap_sum(heap).pages - before.pages), arena_pages_out() - pages);
	while (n)
		heap->free(p[--n]);
	heap->check(heap);
	assert_int_equal(arena_pages_out(), pages);
	assert_int_equal(heap_sum(heap).bytes, before.bytes);
}

static void blocks_from_nodes(UNUSED_STATE)
{
	void *there = heap->alloc(heap, 64, 8, __GFP_THISNODE, 1);
	void *here = heap->alloc(heap, 64, 8, 0, -1);

	assert_int_equal(page_head_of(there)->node, 1);
	assert_int_equal(page_head_of(here)->node, 0);
	heap->free(there);
	heap->free(here);
}

/* What kfree() gets must name its cache: pages that are nobody else's. */
static void by_address_has_private_pages(UNUSED_STATE)
{
	static const unsigned int sizes[] = { 8, 96, 512, 4096, 8192 };
	struct engine_heap_counters before = heap_sum(heap);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct engine_params params = plain_params(sizes[i]);
		struct engine_stats stats;
		struct engine a, b;
		struct page *page;
		void *x, *y;

		params.by_address = true;
		params.page_class = 6;
		make_with(&a, &slobseg_pow2_ops, params);
		make_with(&b, &slobseg_pow2_ops, params);
		assert_true(is_pow2(a.size) && a.size >= sizes[i]);
		x = take(&a);
		y = take(&b);
		page = page_head_of(x);
		assert_int_equal(page->type, PAGE_SLAB);
		assert_ptr_equal(page->engine, &a);
		assert_ptr_equal(page_head_of(y)->engine, &b);
		assert_int_equal(page_map.class[page_index(x)], 6);
		assert_int_equal((uintptr_t)x % MIN(a.size, PAGE_SIZE), 0);
		assert_int_equal(a.heap_objects, 0);
		stats = stats_of(&a);
		assert_int_equal(stats.nr_slabs, 1);
		assert_int_equal(stats.total_objects, MAX(PAGE_SIZE / a.size, 1));
		assert_int_equal(stats.free_objects, stats.total_objects - 1);
		assert_int_equal(stats.slab_bytes, MAX(PAGE_SIZE, a.size));
		assert_int_equal(a.ops->shrink(&a), 1);
		assert_int_equal(a.ops->destroy(&a), 1);
		free_one(&a, x);
		free_one(&b, y);
		END_ENGINE(&a);
		END_ENGINE(&b);
	}
	assert_int_equal(heap_sum(heap).pages, before.pages);
}

static void stats_of_a_sharing_cache(UNUSED_STATE)
{
	struct engine_stats stats;
	struct engine e;
	void *objs[100];

	make(&e, &slobseg_pow2_ops, 200);
	assert_int_equal(e.ops->shrink(&e), 0);
	assert_int_equal(e.ops->refill(&e, objs, 100, 0, -1), 100);
	stats = stats_of(&e);
	assert_int_equal(stats.nr_slabs, 0);
	assert_int_equal(stats.nr_partial, 0);
	assert_int_equal(stats.total_objects, 100);
	assert_int_equal(stats.free_objects, 0);
	assert_int_equal(stats.slab_bytes, 0);
	assert_int_equal(e.ops->shrink(&e), 1);
	assert_int_equal(e.ops->destroy(&e), 100);
	e.ops->flush(&e, objs + 1, 99);
	assert_int_equal(e.ops->destroy(&e), 1);
	free_one(&e, objs[0]);
	END_ENGINE(&e);
	assert_null(e.state);
}

static void never(__attribute__((unused)) void *slab, __attribute__((unused)) void *obj,
		  __attribute__((unused)) void *arg)
{
	fail();
}

static unsigned int met;

static void meet(__attribute__((unused)) void *slab, __attribute__((unused)) void *obj,
		 __attribute__((unused)) void *arg)
{
	met++;
}

/* A shared page does not say whose its objects are; a private one does. */
static void walk_knows_private_pages_only(UNUSED_STATE)
{
	struct engine_params params = plain_params(64);
	struct engine e;
	void *obj;

	make_with(&e, &slobseg_pow2_ops, params);
	obj = take(&e);
	e.ops->walk(&e, never, NULL);
	free_one(&e, obj);
	END_ENGINE(&e);
	params.by_address = true;
	make_with(&e, &slobseg_pow2_ops, params);
	obj = take(&e);
	e.ops->walk(&e, meet, NULL);
	assert_int_equal(met, 1);
	free_one(&e, obj);
	END_ENGINE(&e);
}

static void fork_leaves_usable_locks(UNUSED_STATE)
{
	struct engine_params params = plain_params(64);
	struct engine shared, own;
	void *objs[10], *mine[10];
	int status;
	pid_t pid;

	make_with(&shared, &slobseg_pow2_ops, params);
	params.by_address = true;
	make_with(&own, &slobseg_pow2_ops, params);
	assert_int_equal(shared.ops->refill(&shared, objs, 10, 0, -1), 10);
	assert_int_equal(own.ops->refill(&own, mine, 10, 0, -1), 10);
	/* engines first, then what they share */
	shared.ops->each_lock(&shared, lock_fork_prepare);
	own.ops->each_lock(&own, lock_fork_prepare);
	heap->each_lock(heap, lock_fork_prepare);
	assert_false(lock_try(&slobseg_of(&shared)->lock));
	assert_false(lock_try(&slobseg_of(&own)->lock));
	pid = fork();
	if (pid == 0) {
		alarm(120);
		heap->each_lock(heap, lock_fork_child);
		shared.ops->each_lock(&shared, lock_fork_child);
		own.ops->each_lock(&own, lock_fork_child);
		shared.ops->flush(&shared, objs, 10);
		own.ops->flush(&own, mine, 10);
		heap->free(heap->alloc(heap, 8, 8, 0, -1));
		heap->check(heap);
		_exit(shared.ops->destroy(&shared) || own.ops->destroy(&own));
	}
	heap->each_lock(heap, lock_fork_parent);
	shared.ops->each_lock(&shared, lock_fork_parent);
	own.ops->each_lock(&own, lock_fork_parent);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	shared.ops->flush(&shared, objs, 10);
	own.ops->flush(&own, mine, 10);
	END_ENGINE(&shared);
	END_ENGINE(&own);
}

IN_CHILD(no_memory_is_null)
{
	no_more_memory();
	while (buddy_alloc(0, 0, false, NULL)) {}
	CHILD_CHECK(!heap->alloc(heap, 64, 8, 0, -1));
	heap->check(heap);
}

static void the_table(UNUSED_STATE)
{
	assert_string_equal(slobseg_pow2_ops.name, "slobseg:pow2");
	assert_string_equal(slobseg_pow2_ops.front, "none");
	assert_string_equal(heap->name, "slobseg:pow2");
	assert_int_equal(heap->max_size, PAGE_SIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strides),
		cmocka_unit_test(caches_and_blocks_share_pages),
		cmocka_unit_test(sizes_have_pages_of_their_own),
		cmocka_unit_test(blocks),
		cmocka_unit_test(blocks_from_nodes),
		cmocka_unit_test(by_address_has_private_pages),
		cmocka_unit_test(stats_of_a_sharing_cache),
		cmocka_unit_test(walk_knows_private_pages_only),
		cmocka_unit_test(fork_leaves_usable_locks),
		cmocka_unit_test(no_memory_is_null),
		cmocka_unit_test(the_table),
	};

	heap = slobseg_pow2_ops.heap;
	return cmocka_run_group_tests(tests, slobseg_group_setup, NULL);
}
