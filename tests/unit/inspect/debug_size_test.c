/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/debug_size_test.c - what debug flags may take: real debug slabs as foretold, to the
 * byte; sums, whole pages, heaps and lies of made-up processes
 */
#include "base/bits.h"
#include "cache/internal.h"
#include "debug/pages/blocks.h"
#include "fake_slabs.h"
#include "fake_snapshot.h"
#include "inspect/debug_size.h"
#include "manual_rcu.h"

#include <uslab/kmalloc.h>
#include <uslab/slab.h>

#define F SLAB_CONSISTENCY_CHECKS
#define Z SLAB_RED_ZONE
#define P SLAB_POISON
#define U SLAB_STORE_USER
#define FZPU (F | Z | P | U)

/* ---- real ones ------------------------------------------------------------------------------- */

#define NR 1000u

static void *objects[NR];

static void construct(void *obj)
{
	*(char *)obj = 1;
}

static unsigned int take_own(const char *name)
{
	assert_int_equal(snapshot_take(s, &reader_local, (uintptr_t)&uslab_root), 0);
	for (unsigned int i = 0; i < s->nr_caches; i++)
		if (!strcmp(s->cache[i].name, name))
			return i;
	print_message("no cache %s\n", name);
	abort();
}

static const char *letters(slab_flags_t flags)
{
	static char text[8];

	snprintf(text, sizeof(text), "%s%s%s%s", flags & F ? "F" : "", flags & Z ? "Z" : "",
		 flags & P ? "P" : "", flags & U ? "U" : "");
	return text;
}

/* cache NULL: kmalloc's of so many bytes. */
static void take_objects(struct kmem_cache *cache, size_t size)
{
	for (unsigned int i = 0; i < NR; i++) {
		objects[i] = cache ? kmem_cache_alloc(cache, GFP_KERNEL)
				   : kmalloc(size, GFP_KERNEL);
		assert_non_null(objects[i]);
	}
}

static void give_objects(struct kmem_cache *cache)
{
	for (unsigned int i = 0; i < NR; i++)
		if (cache)
			kmem_cache_free(cache, objects[i]);
		else
			kfree(objects[i]);
}

/* Before there is any debug slab of the cache; then its objects are replaced. */
static void check_slabs(struct kmem_cache *cache, const char *name, size_t bytes,
			slab_flags_t flags)
{
	struct slab_layout foretold;
	struct debug_size size;
	unsigned int index;
	uint64_t took;

	print_message("%s %s\n", name, letters(flags));
	take_objects(cache, bytes);
	index = take_own(name);
	assert_true(debug_size_layout(s, index, flags, &foretold));
	size = debug_size_more(s, index, flags);
	assert_int_equal(size.objects, s->cache[index].objects);
	assert_in_range(size.objects, NR, NR + 100); /* of kmalloc there may be more */
	give_objects(cache);
	assert_int_equal(uslab_set_debug(name, letters(flags)), 1);
	take_objects(cache, bytes);
	index = take_own(name);
	assert_int_equal(s->cache[index].slab_size, foretold.stride);
	assert_int_equal(s->cache[index].order, foretold.order);
	assert_int_equal(s->cache[index].objs_per_slab, foretold.objects);
	took = s->cache[index].debug_slabs * (PAGE_SIZE << foretold.order);
	if (size.objects == NR && s->totals.nodes == 1)
		assert_int_equal(size.bytes, took);
	assert_in_range(took, size.bytes * NR / size.objects * 9 / 10,
			size.bytes + (s->totals.nodes - 1) * (PAGE_SIZE << foretold.order));
	/* it has them; the layout is the one that it has made */
	assert_int_equal(debug_size_more(s, index, flags).bytes, 0);
	assert_int_equal(debug_size_more(s, index, flags | SLAB_TRACE).bytes, 0);
	assert_true(debug_size_layout(s, index, flags, &foretold));
	assert_int_equal(foretold.stride, s->cache[index].slab_size);
	/* off, and on again: the slabs are there */
	assert_int_equal(uslab_set_debug(name, "-"), 1);
	index = take_own(name);
	assert_in_range(debug_size_more(s, index, flags).objects, 0, size.objects - NR);
	give_objects(cache);
}

static void test_own_caches(void **state)
{
	static const slab_flags_t combinations[] = { Z, P, U, Z | P, Z | U, P | U, FZPU };
	static const struct {
		unsigned int size, align;
		slab_flags_t flags;
		void (*ctor)(void *obj);
		const char *engine; /* the end of its name */
	} kinds[] = {
		{ 1, 0, 0, NULL, "" },
		{ 20, 0, 0, NULL, "" },
		{ 64, 0, 0, NULL, "" },
		{ 64, 64, 0, construct, "" },
		{ 100, 0, SLAB_TYPESAFE_BY_RCU, NULL, "" },
		{ 192, 0, SLAB_HWCACHE_ALIGN, NULL, "" },
		{ 700, 256, 0, NULL, "" },
		{ 3000, 0, 0, NULL, "" },
		{ 20000, 0, 0, NULL, "" },
		{ 64, 0, 0, NULL, "-slab" },
		{ 200, 0, 0, NULL, "-slob" },
	};

	(void)state;
	rcu_bind_at_once();
	assert_true(cache_add_engine_rule("*-slab", "slab"));
	assert_true(cache_add_engine_rule("*-slob", "slob"));
	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (unsigned int j = 0; j < sizeof(combinations) / sizeof(slab_flags_t); j++) {
			struct kmem_cache *cache;
			char name[32];

			snprintf(name, sizeof(name), "size-%u-%u%s", i, j, kinds[i].engine);
			cache = kmem_cache_create(name, kinds[i].size, kinds[i].align,
						  kinds[i].flags | SLAB_NO_MERGE, kinds[i].ctor);
			assert_non_null(cache);
			check_slabs(cache, name, 0, combinations[j]);
			if (kinds[i].engine[0])
				assert_string_equal(s->cache[take_own(name)].engine,
						    kinds[i].engine + 1);
			kmem_cache_destroy(cache);
		}
}

/* Their objects remember how many bytes were asked for. */
static void test_kmalloc(void **state)
{
	static const struct {
		const char *name;
		unsigned int size;
		slab_flags_t flags;
	} classes[] = {
		{ "kmalloc-8", 8, FZPU },   { "kmalloc-32", 32, Z | U },
		{ "kmalloc-64", 64, FZPU }, { "kmalloc-96", 96, U },
		{ "kmalloc-192", 192, P },  { "kmalloc-1k", 1024, FZPU },
		{ "kmalloc-4k", 4096, Z },  { "kmalloc-8k", 8192, Z | P | U },
	};

	(void)state;
	for (unsigned int i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		check_slabs(NULL, classes[i].name, classes[i].size, classes[i].flags);
}

/* ---- made-up ones ---------------------------------------------------------------------------- */

static unsigned int index_of(unsigned int id)
{
	return (unsigned int)(fake_result(s, id) - s->cache);
}

static void test_sums(void **state)
{
	struct cache *c = fake_cache(&f, 200, "some", 64, 0);
	struct debug_size size;

	(void)state;
	fake_slab(&f, 0, 200, 64, 60, false);
	fake_slab(&f, 1, 200, 64, 41, false);
	fake_take();
	size = debug_size_more(s, index_of(200), FZPU); /* 160 bytes, 25 in a page */
	assert_int_equal(size.objects, 101);
	assert_int_equal(size.bytes, 5 * PAGE_SIZE);
	assert_int_equal(size.freed, 0);
	assert_int_equal(size.heap, -1);
	/* as large as before, 64 in a page, but in slabs of their own */
	assert_int_equal(debug_size_more(s, index_of(200), F).bytes, 2 * PAGE_SIZE);
	assert_int_equal(debug_size_more(s, index_of(200), SLAB_TRACE).bytes, 2 * PAGE_SIZE);
	assert_int_equal(debug_size_more(s, index_of(200), SLAB_FAILSLAB).bytes, 0);
	assert_int_equal(debug_size_pending(s, index_of(200)), 0);
	assert_int_equal(debug_size_more(s, index_of(200), 0).bytes, 0);
	c->flags = FZPU; /* on already: they are to be replaced yet */
	fake_take();
	assert_int_equal(debug_size_more(s, index_of(200), FZPU).bytes, 0);
	assert_int_equal(debug_size_pending(s, index_of(200)), 5 * PAGE_SIZE);
	assert_int_equal(debug_size_back(s, index_of(200), 0), 0);
	c->flags = Z | P;
	fake_take();
	assert_int_equal(debug_size_more(s, index_of(200), FZPU).bytes, 5 * PAGE_SIZE);
}

/* Objects of debug slabs count but for those of the very layout. */
static void test_on_before(void **state)
{
	struct debug *d;

	(void)state;
	fake_cache(&f, 200, "some", 64, 0);
	d = fake_debug(&f, 200, Z | P | U, false);
	d->layouts[7].objects = PAGE_SIZE / d->layouts[7].stride;
	d->flags = 0;
	fake_slab(&f, 0, 200, 64, 30, false);
	fake_slab(&f, 1, 200, 25, 25, false)->layout = d->layout;
	fake_slab(&f, 2, 200, 25, 20, false)->layout = d->layout;
	fake_take();
	assert_int_equal(debug_size_more(s, index_of(200), FZPU).objects, 30);
	assert_int_equal(debug_size_more(s, index_of(200), FZPU).bytes, 2 * PAGE_SIZE);
	assert_int_equal(debug_size_more(s, index_of(200), U).objects, 75);
	/* and off again: 45 of them want slabs without */
	assert_int_equal(debug_size_back(s, index_of(200), 0), 0); /* they are off */
	s->cache[index_of(200)].flags = FZPU;
	assert_int_equal(debug_size_back(s, index_of(200), 0), PAGE_SIZE);
	assert_int_equal(debug_size_back(s, index_of(200), F), 0);
	assert_int_equal(debug_size_pending(s, index_of(200)), 2 * PAGE_SIZE);
}

/* Of the fake machine's three blocks with mappings of their own; there are none in the arena. */
static void test_whole_pages(void **state)
{
	const uint64_t records = 3 * sizeof(struct block_record);
	struct debug_size size;

	(void)state;
	fake_take();
	size = debug_size_more(s, s->blocks_row, FZPU);
	assert_int_equal(size.objects, 3);
	assert_int_equal(size.freed, BLOCKS_FREED_BYTES);
	assert_int_equal(size.bytes, records + 6 * PAGE_SIZE + BLOCKS_FREED_BYTES);
	assert_int_equal(debug_size_more(s, s->blocks_row, U).bytes, records);
	assert_int_equal(debug_size_more(s, s->blocks_row, F).bytes, 0);
	s->cache[s->blocks_row].flags = F | Z;
	assert_int_equal(debug_size_more(s, s->blocks_row, FZPU).bytes, BLOCKS_FREED_BYTES);
	/* other rows that are no caches */
	for (unsigned int i = 0; i < s->nr_caches; i++)
		if (i != s->blocks_row)
			assert_int_equal(debug_size_more(s, i, FZPU).bytes, 0);
}

/* Blocks of a heap are no cache's: each over it may get all that can be of its class. */
static void test_heap(void **state)
{
	struct engine_ops *ops = fake_at(&f, FAKE_GLOBALS + FAKE_HEAP_OPS);
	struct engine_heap *heap = fake_at(&f, FAKE_GLOBALS + FAKE_HEAP);
	struct page *page = fake_page(&f, 3);
	struct cache *small = fake_cache(&f, 140, "kmalloc-64", 64, 0);
	struct cache *large = fake_cache(&f, 150, "kmalloc-2k", 2048, 0);
	struct debug_size size;

	(void)state;
	*(uint64_t *)fake_at(&f, FAKE_GLOBALS + FAKE_ENGINES + 8) = FAKE_GLOBALS + FAKE_HEAP_OPS;
	ops->heap = (void *)(FAKE_GLOBALS + FAKE_HEAP);
	heap->counters = (void *)(FAKE_GLOBALS + FAKE_HEAP_COUNTERS);
	*(struct engine_heap_counters *)fake_at(&f, FAKE_GLOBALS + FAKE_HEAP_COUNTERS) =
		(struct engine_heap_counters){
			.pages = 1, .objects = 30, .blocks = 30, .bytes = 3075
		};
	page->type = PAGE_HEAP;
	page->heap = (void *)(FAKE_GLOBALS + FAKE_HEAP);
	small->engine.ops = large->engine.ops = (void *)(FAKE_GLOBALS + FAKE_HEAP_OPS);
	small->takes_blocks = large->takes_blocks = true;
	fake_take();
	size = debug_size_more(s, index_of(140), Z); /* 88 bytes: one page */
	assert_int_equal(size.objects, 30);
	assert_int_equal(size.bytes, PAGE_SIZE);
	assert_string_equal(s->cache[size.heap].name, "slob-heap");
	size = debug_size_more(s, index_of(150), Z);
	assert_int_equal(size.objects, 3); /* of 1025 bytes at least */
	assert_true(size.heap >= 0);
}

static void test_lies(void **state)
{
	struct cache *c = fake_cache(&f, 200, "liar", 64, 0);
	static const unsigned int sizes[] = { 0, 1, 64, 5000000, UINT32_MAX - 6, UINT32_MAX };
	static const unsigned int aligns[] = { 0, 3, 8, 1u << 22, 1u << 31, UINT32_MAX };
	struct topology *machine = fake_at(&f, FAKE_GLOBALS + FAKE_TOPOLOGY);
	struct slab_layout layout;

	(void)state;
	fake_slab(&f, 0, 200, 64, 60, false);
	machine->nr_cpus = UINT32_MAX;
	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (unsigned int j = 0; j < sizeof(aligns) / sizeof(aligns[0]); j++) {
			c->engine.object_size = sizes[i];
			c->engine.align = aligns[j];
			fake_take();
			if (!debug_size_layout(s, index_of(200), FZPU, &layout))
				assert_int_equal(debug_size_more(s, index_of(200), FZPU).bytes, 0);
			else
				assert_in_range(layout.stride, sizes[i] + 1,
						PAGE_SIZE << layout.order);
		}
	c->engine.object_size = 64;
	c->engine.align = 8;
	c->engine.debug = (void *)(FAKE_CACHES + 0x80000); /* all 0, then a layout of nonsense */
	fake_take();
	assert_true(debug_size_layout(s, index_of(200), FZPU, &layout));
	assert_int_equal(layout.stride, 160);
	memset(fake_at(&f, FAKE_CACHES + 0x80000), 0xff, sizeof(struct debug));
	fake_take();
	assert_true(debug_size_layout(s, index_of(200), FZPU, &layout));
	assert_in_range(layout.stride, 160, 168);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(test_own_caches), FAKE_TEST(test_kmalloc),	 FAKE_TEST(test_sums),
		FAKE_TEST(test_on_before),  FAKE_TEST(test_whole_pages), FAKE_TEST(test_heap),
		FAKE_TEST(test_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
