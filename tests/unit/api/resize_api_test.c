/* SPDX-License-Identifier: MIT */
/*
 * unit/api/resize_api_test.c - kvmalloc, and krealloc with alignment and node
 *
 * krealloc() itself is tested with kmalloc().
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <uslab/slab.h>
#include <cmocka.h>

#include "bare.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "cache/cache.h"
#include "blocks.h"
#include "bytes.h"
#include "child.h"
#include "debug/report/report.h"
#include "os/cpu/cpu.h"
#include "page/page.h"

/* A cache's object up to 8 KiB; then pages, above 128 KiB a few more than are needed. */
static void test_kvmalloc(void **state)
{
	static const struct {
		size_t size;
		size_t usable;
		const char *name;
	} v[] = {
		{ 100, 128, "kmalloc-128" },
		{ 8192, 8192, "kmalloc-8k" },
		{ 8193, 3 * 4096, "none" },
		{ 100000, 25 * 4096, "none" },
		{ 33 * 4096, 34 * 4096, "none" },
		{ KMALLOC_MAX_SIZE, KMALLOC_MAX_SIZE, "none" },
		{ KMALLOC_MAX_SIZE + 1, KMALLOC_MAX_SIZE + 4096, "none" },
		{ 9ul << 20, 9ul << 20, "none" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		unsigned char *p = hide(kvmalloc(v[i].size, GFP_KERNEL));
		unsigned char *q = hide(kvzalloc(v[i].size, GFP_KERNEL));
		size_t page = v[i].size > KMALLOC_MAX_CACHE_SIZE ? PAGE_SIZE : 1;

		assert_non_null(p);
		assert_non_null(q);
		assert_int_equal(ksize(p), v[i].usable);
		assert_int_equal((uintptr_t)p % page, 0);
		assert_string_equal(class_of(p), v[i].name);
		assert_true(all_bytes(q, v[i].usable, 0));
		memset(p, 0x31, v[i].usable);
		memset(q, 0x32, v[i].usable);
		assert_true(all_bytes(p, v[i].usable, 0x31));
		kvfree(p);
		kvfree_sensitive(q, v[i].size);
	}
	kvfree(NULL);
	kvfree_sensitive(NULL, 0);
}

/* No bytes, more than INT_MAX, products that overflow, alignments that are none. */
static void test_kvmalloc_absurd(void **state)
{
	volatile size_t huge = SIZE_MAX / 2 + 1;
	volatile size_t sizes[] = { (size_t)INT32_MAX + 1, SIZE_MAX - 4095, SIZE_MAX };
	volatile size_t aligns[] = { 3, 24, KMALLOC_MAX_SIZE * 2, SIZE_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		assert_null(kvmalloc(sizes[i], GFP_KERNEL));
		assert_null(kvzalloc_node(sizes[i], GFP_KERNEL, 0));
		assert_null(kvmalloc_node_align(sizes[i], 4096, GFP_KERNEL, NUMA_NO_NODE));
	}
	for (size_t i = 0; i < ARRAY_SIZE(aligns); i++)
		assert_null(kvmalloc_node_align(100, aligns[i], GFP_KERNEL, NUMA_NO_NODE));
	assert_null(kvmalloc_array(huge, 2, GFP_KERNEL));
	assert_null(kvcalloc(3, huge, GFP_KERNEL));
	assert_null(kvmalloc_array_node(huge, 4, GFP_KERNEL, 0));
	assert_null(kvcalloc_node(huge, 4, GFP_KERNEL, 0));
	assert_ptr_equal(kvmalloc(0, GFP_KERNEL), ZERO_SIZE_PTR);
	assert_ptr_equal(kvcalloc(huge, 0, GFP_KERNEL), ZERO_SIZE_PTR);
	assert_ptr_equal(kvmalloc_node_align(0, 64, GFP_KERNEL, NUMA_NO_NODE), ZERO_SIZE_PTR);
}

/* A node that does not exist counts as none, unless it has to be that one (spec 5.10). */
static void test_kvmalloc_node(void **state)
{
	static const size_t sizes[] = { 100, 20000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		void *p = kvmalloc_node(sizes[i], GFP_KERNEL, 0);
		void *q = kvmalloc_node(sizes[i], GFP_KERNEL, 1000);

		assert_int_equal(page_head_of(p)->node, 0);
		assert_non_null(q);
		assert_null(kvmalloc_node(sizes[i], GFP_KERNEL | __GFP_THISNODE, 1000));
		kvfree(p);
		kvfree(q);
	}
}

static void test_arrays(void **state)
{
	unsigned char *p = hide(kvmalloc_array(5, 20, GFP_KERNEL));
	unsigned char *q = hide(kvcalloc(1000, 100, GFP_KERNEL));

	(void)state;
	assert_int_equal(ksize(p), 128);
	assert_int_equal(ksize(q), 25 * 4096);
	assert_true(all_bytes(q, ksize(q), 0));
	kvfree(p);
	kvfree(q);
}

static void test_alignment(void **state)
{
	static const size_t sizes[] = { 1, 24, 100, 5000, 20000, 5ul << 20 };

	(void)state;
	for (size_t align = 1; align <= KMALLOC_MAX_SIZE; align *= 2)
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
			void *p = kvmalloc_node_align(sizes[i], align, GFP_KERNEL, NUMA_NO_NODE);
			void *q = i == 5 ? NULL
					 : krealloc_node_align(NULL, sizes[i], align, GFP_KERNEL,
							       NUMA_NO_NODE);

			assert_non_null(p);
			assert_true(ksize(p) >= sizes[i]);
			assert_int_equal((uintptr_t)p % align, 0);
			assert_int_equal((uintptr_t)q % align, 0);
			assert_true(i == 5 || ksize(q) >= sizes[i]);
			kvfree(p);
			kfree(q);
		}
}

/* From object to pages and back, past what kmalloc() gives; the first bytes are kept. */
static void test_kvrealloc(void **state)
{
	static const size_t sizes[] = { 64, 65, 9000, 40000, 5ul << 20, 6ul << 20 };
	unsigned char *p = kvrealloc(NULL, 33, GFP_KERNEL);
	size_t kept = 33;

	(void)state;
	memset(p, 0x21, kept);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		p = hide(kvrealloc(p, sizes[i], GFP_KERNEL));
		assert_non_null(p);
		assert_true(ksize(p) >= sizes[i]);
		assert_true(all_bytes(p, kept, 0x21));
		kept = sizes[i];
		memset(p, 0x21, kept);
	}
	assert_null(kvrealloc(p, (size_t)INT32_MAX + 1, GFP_KERNEL));
	assert_true(all_bytes(p, kept, 0x21));
	p = hide(kvrealloc(p, 1000, GFP_KERNEL | __GFP_ZERO));
	assert_true(all_bytes(p, 1000, 0x21));
	assert_true(all_bytes(p + 1000, ksize(p) - 1000, 0));
	assert_ptr_equal(kvrealloc(p, 0, GFP_KERNEL), ZERO_SIZE_PTR);
	/* kmalloc's may become one, and the other way round */
	p = kmalloc(100, GFP_KERNEL);
	p = hide(kvrealloc(p, 5ul << 20, GFP_KERNEL));
	p[0] = 7;
	assert_null(krealloc(p, (5ul << 20) + 8192, GFP_KERNEL));
	assert_int_equal(p[0], 7);
	kfree(p);
}

/* It stays where it has the alignment, and moves where it has not. */
static void test_krealloc_align(void **state)
{
	volatile size_t wrong = 48;
	unsigned char *all[16];
	unsigned char *odd = NULL;
	unsigned char *p;

	(void)state;
	for (unsigned int i = 0; i < 16; i++) {
		all[i] = hide(kmalloc(8, GFP_KERNEL));
		odd = (uintptr_t)all[i] % 64 ? all[i] : odd;
	}
	for (unsigned int i = 0; i < 16; i++)
		if (all[i] != odd)
			kfree(all[i]);
	if (!odd)
		skip_because("objects of 8 bytes lie 64 bytes apart here");
	memset(odd, 0x44, 8);
	assert_ptr_equal(krealloc_node_align(odd, 7, 8, GFP_KERNEL, NUMA_NO_NODE), odd);
	assert_ptr_equal(krealloc_node_align(odd, 8, 0, GFP_KERNEL, NUMA_NO_NODE), odd);
	assert_null(krealloc_node_align(odd, 8, wrong, GFP_KERNEL, NUMA_NO_NODE));
	assert_null(krealloc_node_align(odd, 0, wrong, GFP_KERNEL, NUMA_NO_NODE));
	p = hide(krealloc_node_align(odd, 8, 64, GFP_KERNEL, NUMA_NO_NODE));
	assert_ptr_not_equal(p, odd);
	assert_int_equal((uintptr_t)p % 64, 0);
	assert_true(all_bytes(p, 8, 0x44));
	assert_ptr_equal(krealloc_node_align(p, 64, 64, GFP_KERNEL, NUMA_NO_NODE), p);
	kfree(p);
}

/* A block of another node moves; to one that does not exist it need not. */
IN_CHILD(test_krealloc_node)
{
	unsigned char *p;
	unsigned char *q;

	if (os_topology.nr_nodes < 2)
		child_cannot("a second node");
	p = hide(kmalloc_node(1000, GFP_KERNEL, 0));
	CHILD_CHECK(page_head_of(p)->node == 0);
	memset(p, 0x55, 1000);
	CHILD_CHECK(krealloc_node(p, 900, GFP_KERNEL, 0) == p);
	CHILD_CHECK(krealloc_node(p, 900, GFP_KERNEL, NUMA_NO_NODE) == p);
	CHILD_CHECK(krealloc_node(p, 900, GFP_KERNEL, 1000) == p);
	CHILD_CHECK(!krealloc_node(p, 5000, GFP_KERNEL | __GFP_THISNODE, 1000));
	q = hide(krealloc_node(p, 900, GFP_KERNEL, 1));
	CHILD_CHECK(q && q != p && page_head_of(q)->node == 1 && all_bytes(q, 900, 0x55));
	q = hide(kvrealloc_node_align(q, 900, 4096, GFP_KERNEL, 0));
	CHILD_CHECK(q && page_head_of(q)->node == 0 && all_bytes(q, 900, 0x55));
	kfree(q);
}

/* Whether there are two nodes or one: the arguments that mean none. */
static void test_krealloc_any_node(void **state)
{
	void *p = hide(kmalloc(1000, GFP_KERNEL));

	(void)state;
	assert_ptr_equal(krealloc_node(p, 900, GFP_KERNEL, NUMA_NO_NODE), p);
	assert_ptr_equal(krealloc_node(p, 900, GFP_KERNEL, 1000), p);
	assert_null(krealloc_node(p, 5000, GFP_KERNEL | __GFP_THISNODE, 1000));
	assert_ptr_equal(krealloc_node(p, 0, GFP_KERNEL, 0), ZERO_SIZE_PTR);
}

static void without_memory(void *arg)
{
	const struct rlimit none = { 0, 0 };
	unsigned char *p = kvmalloc(100000, GFP_KERNEL);

	(void)arg;
	memset(p, 0x44, 100000);
	child_limit(RLIMIT_DATA, &none);
	CHILD_CHECK(!kvmalloc(64ul << 20, GFP_KERNEL));
	CHILD_CHECK(!kvrealloc(p, 64ul << 20, GFP_KERNEL));
	CHILD_CHECK(all_bytes(p, 100000, 0x44) && ksize(p) == 25 * 4096);
	kvfree(p);
}

static void test_without_memory(void **state)
{
	struct child c;

	if (!bare_process())
		skip();
	c = child_run(without_memory, state);
	assert_true(child_passed(&c));
}

/* Reports name the function, and nothing is done. */
IN_CHILD(test_no_block)
{
	unsigned char *p = hide(kvmalloc(20000, GFP_KERNEL));

	CHILD_CHECK(!kvrealloc(hide(p + 16), 100, GFP_KERNEL));
	CHILD_CHECK(load_relaxed(&report_counters.reports) == 1);
	CHILD_CHECK(!krealloc_node_align(hide(p + 4096), 100, 64, GFP_KERNEL, 0));
	CHILD_CHECK(load_relaxed(&report_counters.reports) == 2);
	kvfree(p);
	CHILD_CHECK(load_relaxed(&report_counters.reports) == 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kvmalloc),	  cmocka_unit_test(test_kvmalloc_absurd),
		cmocka_unit_test(test_kvmalloc_node),	  cmocka_unit_test(test_arrays),
		cmocka_unit_test(test_alignment),	  cmocka_unit_test(test_kvrealloc),
		cmocka_unit_test(test_krealloc_align),	  cmocka_unit_test(test_krealloc_node),
		cmocka_unit_test(test_krealloc_any_node), cmocka_unit_test(test_without_memory),
		cmocka_unit_test(test_no_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
