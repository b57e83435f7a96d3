/* SPDX-License-Identifier: MIT */
/*
 * unit/api/buckets_api_test.c - caches by size for one user: apart, and freed by kfree()
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <uslab/slab.h>

#include "base/bits.h"
#include "blocks.h"
#include "bytes.h"
#include "cache/cache.h"
#include "child.h"
#include "debug/report/report.h"

static volatile size_t absurd = SIZE_MAX; /* which the compiler must not see */

/* The kernel's sizes and names; whole pages beyond. */
IN_CHILD(test_sizes)
{
	static const struct {
		size_t size;
		size_t usable;
		const char *name;
	} v[] = {
		{ 1, 8, "user-8" },	  { 8, 8, "user-8" },	     { 9, 16, "user-16" },
		{ 65, 96, "user-96" },	  { 97, 128, "user-128" },   { 129, 192, "user-192" },
		{ 193, 256, "user-256" }, { 1000, 1024, "user-1k" }, { 8192, 8192, "user-8k" },
		{ 8193, 16384, "none" },
	};
	kmem_buckets *b = kmem_buckets_create("user", SLAB_ACCOUNT, 0, 0, NULL);

	CHILD_CHECK(!ZERO_OR_NULL_PTR(b));
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		void *p = hide(kmem_buckets_alloc(b, v[i].size, GFP_KERNEL));
		void *q = hide(
			kmem_buckets_alloc_track_caller(b, v[i].size, GFP_KERNEL | __GFP_ZERO));
		void *other = hide(kmalloc(v[i].size, GFP_KERNEL));

		CHILD_CHECK(p && q && !strcmp(class_of(p), v[i].name));
		CHILD_CHECK(ksize(p) == v[i].usable && all_bytes(q, v[i].size, 0));
		CHILD_CHECK(cache_of_object(q) == cache_of_object(p));
		CHILD_CHECK(strcmp(v[i].name, "none") == 0 ||
			    cache_of_object(other) != cache_of_object(p));
		memset(p, 0x31, v[i].usable);
		kfree(p);
		kfree(q);
		kfree(other);
	}
	CHILD_CHECK(kmem_buckets_alloc(b, 0, GFP_KERNEL) == ZERO_SIZE_PTR);
	CHILD_CHECK(!kmem_buckets_alloc(b, KMALLOC_MAX_SIZE + 1, GFP_KERNEL));
	CHILD_CHECK(!kmem_buckets_alloc(b, absurd, GFP_KERNEL));
	CHILD_CHECK(report_counters.reports == 0);
	cache_check_all();
}

IN_CHILD(test_valloc)
{
	kmem_buckets *b = kmem_buckets_create("user", 0, 0, 0, NULL);
	void *p = hide(kmem_buckets_valloc(b, 100, GFP_KERNEL));
	void *q = hide(kmem_buckets_valloc(b, 8193, GFP_KERNEL));

	CHILD_CHECK(!strcmp(class_of(p), "user-128") && ksize(q) == 3 * 4096);
	CHILD_CHECK(!kmem_buckets_valloc(b, (size_t)INT32_MAX + 1, GFP_KERNEL));
	CHILD_CHECK(!kmem_buckets_valloc(b, absurd, GFP_KERNEL));
	kvfree(p);
	kvfree(q);
}

/* Two users do not share, though all else is equal; each size has its part of the window. */
IN_CHILD(test_apart)
{
	kmem_buckets *b = kmem_buckets_create("same", 0, 16, 100, NULL);
	kmem_buckets *d = kmem_buckets_create("same", 0, 16, 100, NULL);
	static const struct {
		size_t size;
		unsigned int usersize;
	} v[] = { { 8, 0 }, { 16, 0 }, { 32, 16 }, { 96, 80 }, { 128, 100 }, { 8192, 100 } };

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		void *p = kmem_buckets_alloc(b, v[i].size, GFP_KERNEL);
		void *q = kmem_buckets_alloc(d, v[i].size, GFP_KERNEL);

		CHILD_CHECK(cache_of_object(p) && cache_of_object(p) != cache_of_object(q));
		CHILD_CHECK(cache_of_object(p)->usersize == v[i].usersize);
		kfree(p);
		kfree(q);
	}
}

static void construct(void *obj)
{
	*(char *)obj = 'c';
}

IN_CHILD(test_constructor)
{
	kmem_buckets *b = kmem_buckets_create("made", 0, 0, 0, construct);
	char *p = kmem_buckets_alloc(b, 50, GFP_KERNEL);

	CHILD_CHECK(*p == 'c');
	kfree(p);
}

/* No buckets: kmalloc. */
IN_CHILD(test_none)
{
	kmem_buckets *const none[] = { NULL, ZERO_SIZE_PTR };

	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		void *p = hide(kmem_buckets_alloc(none[i], 100, GFP_KERNEL));
		void *q = hide(kmem_buckets_valloc(none[i], 9000, GFP_KERNEL));

		CHILD_CHECK(!strcmp(class_of(p), "kmalloc-128") && ksize(q) == 3 * 4096);
		kfree(p);
		kfree(q);
	}
}

static void make_over_heap(void *arg)
{
	CHILD_CHECK(cache_set_option("engine", arg, NULL));
	CHILD_CHECK(kmem_buckets_create("user", 0, 0, 0, NULL) == ZERO_SIZE_PTR);
}

/* Over these kfree() does not know the cache of an object. */
static void test_heaps(void **state)
{
	static char *const engines[] = { "slob", "slob:1991", "slobseg:pow2" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
		struct child c = child_run(make_over_heap, engines[i]);

		assert_true(child_passed(&c));
	}
}

static void make_wrong(void *arg)
{
	char name[USLAB_MAX_NAME + 1] = { 0 };

	(void)arg;
	memset(name, 'n', sizeof(name) - 1);
	CHILD_CHECK(!kmem_buckets_create(name, 0, 0, 0, NULL) && errno == ENAMETOOLONG);
	CHILD_CHECK(!kmem_buckets_create(NULL, 0, 0, 0, NULL) && errno == EINVAL);
	CHILD_CHECK(!kmem_buckets_create("user", SLAB_TYPESAFE_BY_RCU, 0, 0, NULL));
	/* until there are no more caches: those of the last one are given back */
	while (!ZERO_OR_NULL_PTR(kmem_buckets_create("many", 0, 0, 0, NULL))) {}
	CHILD_CHECK(errno == ENOSPC && kmem_cache_create("one more", 8, 0, 0, NULL));
}

static void test_refused(void **state)
{
	struct child c = child_run(make_wrong, NULL);

	(void)state;
	assert_true(child_passed(&c));
	assert_non_null(strstr(c.text, "kmem_cache_create_args("));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),	cmocka_unit_test(test_valloc),
		cmocka_unit_test(test_apart),	cmocka_unit_test(test_constructor),
		cmocka_unit_test(test_none),	cmocka_unit_test(test_heaps),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
