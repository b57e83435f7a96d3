/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/root_test.c - uslab_root, and the structures that it leads to in this very process
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cache/control/control.h"
#include "cache/lent.h"
#include "debug/kfence/kfence.h"
#include "debug/report/report.h"
#include "debug/stacks.h"
#include "os/cpu/cpu.h"
#include "os/process/filter.h"
#include "page/arena.h"
#include "page/reserve.h"
#include "page/run.h"
#include "inspect/snapshot.h"

static struct snapshot *take(void)
{
	struct snapshot *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	assert_int_equal(snapshot_take(s, &reader_local, (uintptr_t)&uslab_root), 0);
	return s;
}

static const struct snapshot_cache *find(const struct snapshot *s, const char *name)
{
	for (unsigned int i = 0; i < s->nr_caches; i++)
		if (!strcmp(s->cache[i].name, name))
			return &s->cache[i];
	return NULL;
}

static void test_fields(void **state)
{
	(void)state;
	assert_memory_equal(&uslab_root.magic, "slabroot", 8);
	assert_int_equal(uslab_root.version, USLAB_ROOT_VERSION);
	assert_int_equal(uslab_root.ready, 1);
	assert_int_equal(uslab_root.page_size, sizeof(struct page));
	assert_ptr_equal((void *)uslab_root.page_map, &page_map);
	assert_ptr_equal((void *)uslab_root.cache_list, &cache_list);
	assert_ptr_equal((void *)uslab_root.control, &control);
	assert_ptr_equal((void *)uslab_root.stacks, &stacks_depot);
	assert_ptr_equal((void *)uslab_root.reports, &report_counters);
	assert_ptr_equal((void *)uslab_root.kfence, &kfence_counters);
	assert_ptr_equal((void *)uslab_root.reserve, &reserve_counters);
	assert_ptr_equal((void *)uslab_root.lent, &lent_sheaves);
	assert_ptr_equal((void *)uslab_root.filters, &os_filters);
	assert_string_equal(uslab_root.version_text, uslab_version());
	assert_string_equal((const char *)uslab_root.large_name, "kmalloc-large");
}

static void test_name(void **state)
{
	(void)state;
	root_init("malloc-large");
	assert_string_equal((const char *)uslab_root.large_name, "malloc-large");
	root_init("kmalloc-large");
	assert_string_equal((const char *)uslab_root.large_name, "kmalloc-large");
}

/* Live objects are those that this program holds, whatever the front has cached. */
static void check_live(const char *front)
{
	enum { COUNT = 1000, FREED = 437 };
	const struct kmem_cache_args args = { .front = front };
	struct kmem_cache *cache = kmem_cache_create_args("root-live", 72, &args, 0);
	static void *objects[COUNT];
	const struct snapshot_cache *c;
	struct snapshot *s;

	assert_non_null(cache);
	for (int i = 0; i < COUNT; i++)
		assert_non_null(objects[i] = kmem_cache_alloc(cache, GFP_KERNEL));
	for (int i = 0; i < FREED; i++)
		kmem_cache_free(cache, objects[i * 2]);
	s = take();
	c = find(s, "root-live");
	assert_non_null(c);
	assert_int_equal(c->objects, COUNT - FREED);
	assert_int_equal(c->object_size, 72);
	assert_string_equal(c->unique_id, ":0000072");
	assert_string_equal(c->engine, "slub");
	assert_string_equal(c->front, front);
	assert_true(c->total_objects >= c->objects + c->objects_held);
	assert_true(c->slab_bytes >= c->total_objects * 72);
	assert_int_equal(s->totals.inconsistent, 0);
	free(s);
	for (int i = 0; i < COUNT; i++)
		if (i % 2 || i / 2 >= FREED)
			kmem_cache_free(cache, objects[i]);
	kmem_cache_destroy(cache);
	s = take();
	assert_null(find(s, "root-live"));
	free(s);
}

static void test_live(void **state)
{
	(void)state;
	check_live("array");
	check_live("cpuslab");
	check_live("none");
}

static void test_lent(void **state)
{
	struct kmem_cache *cache = kmem_cache_create("root-lent", 72, 0, 0, NULL);
	struct slab_sheaf *sheaf = kmem_cache_prefill_sheaf(cache, GFP_KERNEL, 50);
	void *obj = kmem_cache_alloc_from_sheaf(cache, GFP_KERNEL, sheaf);
	struct snapshot *s = take();
	const struct snapshot_cache *c = find(s, "root-lent");

	(void)state;
	assert_int_equal(c->objects, 1);
	assert_int_equal(c->objects_lent, 49);
	free(s);
	kmem_cache_return_sheaf(cache, GFP_KERNEL, sheaf);
	s = take();
	c = find(s, "root-lent");
	assert_int_equal(c->objects, 1);
	assert_int_equal(c->objects_lent, 0);
	assert_int_equal(s->totals.inconsistent, 0);
	free(s);
	kmem_cache_free(cache, obj);
	kmem_cache_destroy(cache);
}

static void test_alias(void **state)
{
	struct kmem_cache *a = kmem_cache_create("root-a", 104, 0, 0, NULL);
	struct kmem_cache *b = kmem_cache_create("root-b", 104, 0, 0, NULL);
	const struct snapshot_cache *c;
	struct snapshot *s = take();

	(void)state;
	assert_ptr_equal(a, b);
	c = find(s, "root-a");
	assert_non_null(c);
	assert_int_equal(c->refcount, 2);
	assert_int_equal(c->nr_aliases, 1);
	assert_string_equal(s->alias[c->first_alias], "root-b");
	assert_string_equal(c->unique_id, ":0000104");
	assert_null(find(s, "root-b"));
	free(s);
	kmem_cache_destroy(b);
	kmem_cache_destroy(a);
}

static void test_totals(void **state)
{
	void *run = kmalloc(32 * PAGE_SIZE, GFP_KERNEL);
	struct snapshot *s = take();

	(void)state;
	assert_non_null(run);
	assert_int_equal(s->totals.arena_base, (uintptr_t)page_map.base);
	assert_int_equal(s->totals.arena_bytes, arena_size());
	assert_int_equal(s->totals.cpus, os_topology.nr_cpu_ids);
	assert_int_equal(s->totals.runs, 1);
	assert_int_equal(s->totals.run_bytes, 32 * PAGE_SIZE);
	assert_int_equal(s->totals.unknown_bytes, 0);
	assert_true(s->totals.meta_bytes > 0);
	/* every page is in a slab, a run or free */
	assert_int_equal(s->totals.slab_bytes + s->totals.run_bytes + s->totals.free_bytes,
			 s->totals.arena_bytes);
	assert_non_null(find(s, "kmalloc-64"));
	assert_string_equal(find(s, "kmalloc-64")->unique_id, "");
	assert_int_equal(find(s, "kmalloc-large")->objects, 1);
	assert_int_equal(find(s, "kmalloc-large")->slab_bytes, 32 * PAGE_SIZE);
	free(s);
	kfree(run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields), cmocka_unit_test(test_name),
		cmocka_unit_test(test_live),   cmocka_unit_test(test_lent),
		cmocka_unit_test(test_alias),  cmocka_unit_test(test_totals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
