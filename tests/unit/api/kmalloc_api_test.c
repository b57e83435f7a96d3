/* SPDX-License-Identifier: MIT */
/*
 * unit/api/kmalloc_api_test.c - kmalloc and its relatives as a program sees them (spec 5.6, 5.7)
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <uslab/slab.h>
#include <cmocka.h>

#include "bare.h"
#include "base/atomic.h"
#include "cache/cache.h"
#include "blocks.h"
#include "child.h"
#include "debug/debug.h"
#include "debug/report/report.h"

/* Allocates, looks at the class and frees. Inline where size is a constant. */
#define ASSERT_CLASS(size, name)                              \
	do {                                                  \
		void *inlined = kmalloc(size, GFP_KERNEL);    \
		volatile size_t variable = size;              \
		void *called = kmalloc(variable, GFP_KERNEL); \
                                                              \
		assert_string_equal(class_of(inlined), name); \
		assert_string_equal(class_of(called), name);  \
		kfree(inlined);                               \
		kfree(called);                                \
	} while (0)

/* Vector 7. */
static void test_edges(void **state)
{
	void *p;

	(void)state;
	assert_ptr_equal(kmalloc(0, GFP_KERNEL), (void *)16);
	assert_ptr_equal(kmalloc(0, GFP_KERNEL), ZERO_SIZE_PTR);
	ASSERT_CLASS(1, "kmalloc-8");
	ASSERT_CLASS(8, "kmalloc-8");
	ASSERT_CLASS(9, "kmalloc-16");
	ASSERT_CLASS(16, "kmalloc-16");
	ASSERT_CLASS(64, "kmalloc-64");
	ASSERT_CLASS(65, "kmalloc-96");
	ASSERT_CLASS(96, "kmalloc-96");
	ASSERT_CLASS(97, "kmalloc-128");
	ASSERT_CLASS(128, "kmalloc-128");
	ASSERT_CLASS(129, "kmalloc-192");
	ASSERT_CLASS(192, "kmalloc-192");
	ASSERT_CLASS(193, "kmalloc-256");
	ASSERT_CLASS(256, "kmalloc-256");
	ASSERT_CLASS(1024, "kmalloc-1k");
	ASSERT_CLASS(8192, "kmalloc-8k");
	ASSERT_CLASS(8193, "none");
	p = kmalloc(8193, GFP_KERNEL);
	assert_int_equal(ksize(p), 4 * 4096);
	kfree(p);
}

static void test_types(void **state)
{
	static const struct {
		gfp_t gfp;
		const char *name;
	} v[] = {
		{ GFP_KERNEL, "kmalloc-1k" },
		{ GFP_KERNEL | __GFP_RECLAIMABLE, "kmalloc-rcl-1k" },
		{ GFP_KERNEL_ACCOUNT, "kmalloc-1k" }, /* no accounting: the cgroup type is normal */
		{ GFP_KERNEL | GFP_DMA, "kmalloc-1k" }, /* no such zone */
		{ GFP_ATOMIC, "kmalloc-1k" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		void *p = kmalloc(1000, v[i].gfp);

		assert_string_equal(class_of(p), v[i].name);
		kfree(p);
	}
}

/* Vector 8. */
static void test_ksize(void **state)
{
	void *p = kmalloc(100, GFP_KERNEL);

	(void)state;
	assert_int_equal(ksize(p), 128);
	kfree(p);
	assert_int_equal(ksize(NULL), 0);
	assert_int_equal(ksize(ZERO_SIZE_PTR), 0);
	assert_int_equal(kmalloc_size_roundup(0), 0);
	assert_int_equal(kmalloc_size_roundup(100), 128);
	assert_int_equal(kmalloc_size_roundup(65), 96);
	assert_int_equal(kmalloc_size_roundup(8193), 16384);
	assert_int_equal(kmalloc_size_roundup(SIZE_MAX), SIZE_MAX);
}

static void test_nothing_to_free(void **state)
{
	(void)state;
	kfree(NULL);
	kfree(ZERO_SIZE_PTR);
	kfree_sensitive(NULL);
	kfree_sensitive(ZERO_SIZE_PTR);
	assert_true(ZERO_OR_NULL_PTR(NULL) && ZERO_OR_NULL_PTR(ZERO_SIZE_PTR));
	assert_false(ZERO_OR_NULL_PTR((void *)17));
}

/* Vector 9. */
static void test_krealloc(void **state)
{
	unsigned char *p = hide(kmalloc(33, GFP_KERNEL));
	unsigned char *q;

	(void)state;
	for (unsigned int i = 0; i < 64; i++)
		p[i] = (unsigned char)i; /* to ksize: all of it is usable */
	q = hide(krealloc(p, 60, GFP_KERNEL));
	assert_ptr_equal(q, p);
	assert_ptr_equal(krealloc(p, 64, GFP_KERNEL), p);
	assert_ptr_equal(krealloc(p, 1, GFP_KERNEL), p); /* never into a smaller one */
	q = krealloc(p, 65, GFP_KERNEL);
	assert_ptr_not_equal(q, p);
	assert_string_equal(class_of(q), "kmalloc-96");
	for (unsigned int i = 0; i < 64; i++)
		assert_int_equal(q[i], i);
	/* to a large one and further */
	q = hide(krealloc(q, 10000, GFP_KERNEL));
	assert_int_equal(ksize(q), 16384);
	memset(q + 96, 0x77, 16384 - 96);
	p = hide(krealloc(q, 16385, GFP_KERNEL));
	assert_int_equal(ksize(p), 32768);
	for (unsigned int i = 0; i < 64; i++)
		assert_int_equal(p[i], i);
	assert_int_equal(p[16383], 0x77);
	assert_ptr_equal(krealloc(p, 0, GFP_KERNEL), ZERO_SIZE_PTR);
	p = krealloc(NULL, 10, GFP_KERNEL);
	assert_int_equal(ksize(p), 16);
	kfree(p);
	p = krealloc(ZERO_SIZE_PTR, 10, GFP_KERNEL);
	assert_int_equal(ksize(p), 16);
	kfree(p);
	assert_ptr_equal(krealloc(NULL, 0, GFP_KERNEL), ZERO_SIZE_PTR);
}

/* With __GFP_ZERO everything beyond the old contents reads as zero. */
static void test_krealloc_zero(void **state)
{
	unsigned char *p = kmalloc(64, GFP_KERNEL);

	(void)state;
	memset(p, 0xff, 64);
	assert_ptr_equal(krealloc(p, 40, GFP_KERNEL | __GFP_ZERO), p);
	for (unsigned int i = 0; i < 64; i++)
		assert_int_equal(p[i], i < 40 ? 0xff : 0);
	p = hide(krealloc(p, 200, GFP_KERNEL | __GFP_ZERO));
	for (unsigned int i = 0; i < 256; i++)
		assert_int_equal(p[i], i < 40 ? 0xff : 0);
	kfree(p);
}

static void krealloc_fails(void *arg)
{
	const struct rlimit none = { 0, 0 };
	unsigned char *p = kmalloc(100, GFP_KERNEL);

	(void)arg;
	memset(p, 0x44, 100);
	CHILD_CHECK(!krealloc(p, KMALLOC_MAX_SIZE + 1, GFP_KERNEL));
	child_limit(RLIMIT_DATA, &none);
	CHILD_CHECK(!krealloc(p, KMALLOC_MAX_SIZE, GFP_KERNEL));
	CHILD_CHECK(p[0] == 0x44 && p[99] == 0x44 && ksize(p) == 128);
	kfree(p);
}

/* It would fit where it is, and then have two owners. */
IN_CHILD(test_krealloc_of_freed)
{
	char *p = hide(kmalloc(64, GFP_KERNEL));
	char *q;

	kfree(p);
	q = hide(krealloc(hide(p), 60, GFP_KERNEL));
	CHILD_CHECK(q);
	CHILD_CHECK(load_relaxed(&report_counters.reports) == 1);
	CHILD_CHECK(hide(kmalloc(64, GFP_KERNEL)) != q);
}

static void test_krealloc_fails(void **state)
{
	struct child c;

	if (!bare_process())
		skip();
	c = child_run(krealloc_fails, state);
	assert_true(child_passed(&c));
}

/* A product that does not fit is NULL, and what was there stays. */
static void test_arrays(void **state)
{
	volatile size_t huge = SIZE_MAX / 2 + 1;
	unsigned char *p;

	(void)state;
	assert_null(kmalloc_array(huge, 2, GFP_KERNEL));
	assert_null(kcalloc(3, huge, GFP_KERNEL));
	p = hide(kmalloc_array(5, 20, GFP_KERNEL));
	assert_int_equal(ksize(p), 128);
	memset(p, 0x99, 128);
	assert_null(krealloc_array(p, huge, 4, GFP_KERNEL));
	assert_ptr_equal(krealloc_array(p, 8, 16, GFP_KERNEL), p);
	assert_int_equal(p[127], 0x99);
	kfree(p);
	p = hide(kcalloc(4, 32, GFP_KERNEL));
	for (unsigned int i = 0; i < 128; i++)
		assert_int_equal(p[i], 0);
	kfree(p);
	assert_ptr_equal(kmalloc_array(0, huge, GFP_KERNEL), ZERO_SIZE_PTR);
	assert_ptr_equal(kcalloc(huge, 0, GFP_KERNEL), ZERO_SIZE_PTR);
}

/* The same on a node; one that does not exist is none, unless it has to be that one. */
static void test_arrays_of_nodes(void **state)
{
	volatile size_t huge = SIZE_MAX / 2 + 1;
	unsigned char *p = hide(kmalloc_array_node(5, 20, GFP_KERNEL, 0));

	(void)state;
	assert_int_equal(ksize(p), 128);
	kfree(p);
	p = hide(kcalloc_node(4, 32, GFP_KERNEL, NUMA_NO_NODE));
	for (unsigned int i = 0; i < 128; i++)
		assert_int_equal(p[i], 0);
	kfree(p);
	assert_null(kmalloc_array_node(huge, 2, GFP_KERNEL, 0));
	assert_null(kcalloc_node(3, huge, GFP_KERNEL, 0));
	assert_null(kmalloc_array_node(8, 8, GFP_KERNEL | __GFP_THISNODE, 1000));
	p = kmalloc_array_node(8, 8, GFP_KERNEL, 1000);
	assert_non_null(p);
	kfree(p);
	assert_ptr_equal(kmalloc_array_node(huge, 0, GFP_KERNEL, 0), ZERO_SIZE_PTR);
}

static __attribute__((__noinline__)) void *wrapper(size_t size)
{
	void *p = kmalloc_track_caller(size, GFP_KERNEL);

	return hide(p);
}

static __attribute__((__noinline__)) void *wrapper_of_node(size_t size)
{
	void *p = kmalloc_node_track_caller(size, GFP_KERNEL, 0);

	return hide(p);
}

/* Who is tracked is the caller of the function that allocates, which lies in this test. */
IN_CHILD(test_track_caller)
{
	void *p[2];

	CHILD_CHECK(uslab_set_debug("kmalloc-64", "U") == 1);
	p[0] = wrapper(60);
	p[1] = wrapper_of_node(60);
	CHILD_CHECK(ksize(p[0]) >= 60 && ksize(p[1]) >= 60);
	for (unsigned int i = 0; i < 2; i++) {
		const struct page *slab = page_slab_of(p[i]);
		uintptr_t caller = debug_track(slab->layout, p[i], TRACK_ALLOC)->addr;
		uintptr_t here = (uintptr_t)test_track_caller_in_child;

		CHILD_CHECK(caller - here < 4096);
		kfree(p[i]);
	}
	CHILD_CHECK(!uslab_kmalloc_caller(8, GFP_KERNEL | __GFP_THISNODE, 1000, NULL));
}

struct point {
	long x;
	long y;
};

struct row {
	unsigned int n;
	struct point points[];
};

static unsigned int count_up(unsigned int *calls)
{
	return ++*calls * 10;
}

/* The result has the type, and room for it; flags are GFP_KERNEL unless they are said. */
static void test_types_of_objects(void **state)
{
	struct point *p = kmalloc_obj(struct point);
	struct point *q = kzalloc_obj(*p, GFP_KERNEL);
	struct point *many = kmalloc_objs(*p, 5);
	struct point *zeros = kzalloc_objs(struct point, 20, GFP_ATOMIC);
	unsigned int calls = 0;
	struct row *row = kmalloc_flex(*row, points, count_up(&calls));
	struct row *zero_row = kzalloc_flex(struct row, points, 3, GFP_KERNEL);

	(void)state;
	assert_string_equal(class_of(p), "kmalloc-16");
	assert_true(!q->x && !q->y);
	assert_string_equal(class_of(many), "kmalloc-96");
	assert_string_equal(class_of(zeros), "kmalloc-512");
	for (unsigned int i = 0; i < 20; i++)
		assert_true(!zeros[i].x && !zeros[i].y);
	assert_int_equal(calls, 1);
	assert_string_equal(class_of(row), "kmalloc-192"); /* 8 + 10 * 16 */
	assert_string_equal(class_of(zero_row), "kmalloc-64");
	assert_true(!zero_row->n && !zero_row->points[2].y);
	kfree(p);
	kfree(q);
	kfree(many);
	kfree(zeros);
	kfree(row);
	kfree(zero_row);
}

static void test_types_too_large(void **state)
{
	volatile size_t counts[] = { SIZE_MAX,	    SIZE_MAX / 16, SIZE_MAX / 16 + 1,
				     SIZE_MAX / 32, PTRDIFF_MAX,   INT32_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		assert_null(kmalloc_objs(struct point, counts[i]));
		assert_null(kzalloc_objs(struct point, counts[i]));
		assert_null(kvmalloc_objs(struct point, counts[i]));
		assert_null(kmalloc_flex(struct row, points, counts[i]));
		assert_null(kvzalloc_flex(struct row, points, counts[i], GFP_KERNEL));
	}
	assert_ptr_equal(kmalloc_objs(struct point, 0), ZERO_SIZE_PTR);
}

static void test_zero(void **state)
{
	static const size_t sizes[] = { 1, 8, 60, 96, 1000, 8192, 8193, 100000 };

	(void)state;
	for (unsigned int round = 0; round < 3; round++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			unsigned char *p = kzalloc(sizes[i], GFP_KERNEL);
			unsigned char *q = kzalloc_node(sizes[i], GFP_KERNEL, 0);

			for (size_t j = 0; j < ksize(p); j++)
				assert_int_equal(p[j] | q[j], 0);
			memset(p, 0xff, ksize(p));
			memset(q, 0xff, ksize(q));
			kfree(p);
			kfree(q);
		}
}

/* Spec 5.7: all of ksize() is cleared before it is given away. */
IN_CHILD(test_sensitive)
{
	cpu_set_t set;
	unsigned char *p;
	unsigned char *q;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
	p = hide(kmalloc(100, GFP_KERNEL));
	memset(p, 0x5c, 128);
	kfree_sensitive(p);
	q = hide(kmalloc(100, GFP_KERNEL));
	CHILD_CHECK(q == p);
	for (unsigned int i = 0; i < 128; i++)
		CHILD_CHECK(q[i] != 0x5c);
}

/* Vector 17. */
static void test_alignment(void **state)
{
	(void)state;
	for (size_t size = 1; size <= KMALLOC_MAX_SIZE; size *= 2) {
		void *p[5];

		for (unsigned int i = 0; i < 5; i++) {
			p[i] = kmalloc(size, GFP_KERNEL);
			assert_non_null(p[i]);
			assert_int_equal((uintptr_t)p[i] & ((size < 8 ? 8 : size) - 1), 0);
		}
		for (unsigned int i = 0; i < 5; i++)
			kfree(p[i]);
	}
}

static void test_too_large(void **state)
{
	volatile size_t size = KMALLOC_MAX_SIZE + 1;
	volatile size_t most = SIZE_MAX;

	(void)state;
	assert_null(kmalloc(size, GFP_KERNEL));
	assert_null(kzalloc(most, GFP_KERNEL));
	assert_null(kmalloc_node(size, GFP_KERNEL, 0));
}

/* kfree takes any object, also a cache's. */
static void test_kfree_any(void **state)
{
	struct kmem_cache *s = kmem_cache_create("any", 72, 0, SLAB_NOLEAKTRACE, NULL);

	(void)state;
	for (unsigned int i = 0; i < 200; i++)
		kfree(kmem_cache_alloc(s, GFP_KERNEL));
	assert_int_equal(kmem_cache_shrink(s), 0);
	kmem_cache_destroy(s);
}

static void free_wrong(void *arg)
{
	(void)arg;
	kfree("a string");
}

static void test_free_wrong(void **state)
{
	struct child c = child_run(free_wrong, state);

	assert_true(child_passed(&c));
	assert_non_null(strstr(c.text, "BUG <none> (Not tainted): Invalid object pointer 0x"));
	assert_non_null(strstr(c.text, "\nuslab: kfree(): 0x"));
	assert_non_null(strstr(c.text, " was not allocated by uslab\n"));
}

static void do_krealloc(void *p)
{
	CHILD_CHECK(!krealloc(p, 300, GFP_KERNEL));
}

static void do_krealloc_within(void *p)
{
	CHILD_CHECK(!krealloc(p, 40, GFP_KERNEL));
}

static void do_krealloc_away(void *p)
{
	CHILD_CHECK(krealloc(p, 0, GFP_KERNEL) == ZERO_SIZE_PTR);
}

static void do_ksize(void *p)
{
	CHILD_CHECK(ksize(p) == 0);
}

static void do_sensitive(void *p)
{
	kfree_sensitive(p);
}

static void do_bulk(void *p)
{
	kmem_cache_free_bulk(NULL, 1, &p);
}

static void do_bulk_run(void *p)
{
	void *all[6] = { hide(kmalloc(128, GFP_KERNEL)),
			 hide(kmalloc(128, GFP_KERNEL)),
			 hide(kmalloc(128, GFP_KERNEL)),
			 hide(kmalloc(128, GFP_KERNEL)),
			 p,
			 hide(kmalloc(128, GFP_KERNEL)) };

	kmem_cache_free_bulk(NULL, 6, all);
}

static void do_bulk_cache(void *p)
{
	struct kmem_cache_args args = { .front = "queues" }; /* each object is looked at */
	struct kmem_cache *s = kmem_cache_create_args("bulk", 128, &args, SLAB_NOLEAKTRACE);
	void *all[3] = { hide(kmem_cache_alloc(s, GFP_KERNEL)), p,
			 hide(kmem_cache_alloc(s, GFP_KERNEL)) };

	kmem_cache_free_bulk(s, 3, all); /* one and two are freed as such, inline */
}

struct wrong {
	const char *what;
	void (*call)(void *p);
	enum { INSIDE, INSIDE_LARGE, OUTSIDE } where;
};

static void call_wrong(void *arg)
{
	const struct wrong *w = arg;
	unsigned char *p = hide(kmalloc(w->where == INSIDE_LARGE ? 20000 : 128, GFP_KERNEL));
	char local[64];
	unsigned long before;

	memset(p, 0x3c, 128);
	before = load_relaxed(&report_counters.reports);
	w->call(hide(w->where == OUTSIDE ? (void *)(local + 16) : p + 16));
	CHILD_CHECK(load_relaxed(&report_counters.reports) == before + 1);
	for (unsigned int i = 0; i < 128; i++)
		CHILD_CHECK(p[i] == 0x3c);
	kfree(p);
	CHILD_CHECK(load_relaxed(&report_counters.reports) == before + 1);
}

/* One report that names the function that was called, and nothing is done. */
static void test_no_object(void **state)
{
	static const struct {
		const char *what;
		void (*call)(void *p);
	} calls[] = {
		{ "krealloc", do_krealloc },
		{ "krealloc", do_krealloc_within },
		{ "krealloc", do_krealloc_away },
		{ "ksize", do_ksize },
		{ "kfree_sensitive", do_sensitive },
		{ "kmem_cache_free_bulk", do_bulk },
		{ "kmem_cache_free_bulk", do_bulk_run },
		{ "kmem_cache_free_bulk", do_bulk_cache },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		for (int where = INSIDE; where <= OUTSIDE; where++) {
			struct wrong w = { calls[i].what, calls[i].call, where };
			struct child c = child_run(call_wrong, &w);
			char start[60];

			snprintf(start, sizeof(start), "\nuslab: %s(): 0x", w.what);
			assert_true(child_passed(&c));
			if (!strstr(c.text, start))
				fail_msg("%zu, %d: %s", i, where, c.text);
			assert_non_null(strstr(c.text, "\nCall Trace:\n"));
		}
}

static void sensitive_twice(void *arg)
{
	void *p = hide(kmalloc(64, GFP_KERNEL));
	void *q;

	(void)arg;
	kfree(p);
	kfree_sensitive(hide(p));
	CHILD_CHECK(load_relaxed(&report_counters.reports) == 1);
	q = hide(kmalloc(64, GFP_KERNEL));
	CHILD_CHECK(hide(kmalloc(64, GFP_KERNEL)) != q);
	kfree_sensitive(q);
	CHILD_CHECK(load_relaxed(&report_counters.reports) == 1);
}

/* It must not clear the mark by which it is known to be free. */
static void test_sensitive_twice(void **state)
{
	struct child c = child_run(sensitive_twice, state);

	assert_true(child_passed(&c));
	assert_non_null(strstr(c.text, "BUG kmalloc-64 (Not tainted): Object already free\n"));
	assert_non_null(strstr(c.text, " not freed;"));
}

static void stay_on_one_cpu(void)
{
	int cpu = sched_getcpu();
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu < 0 ? 0u : (unsigned int)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/*
 * One by one, in runs, of several sizes, NULL among them: the last one is the
 * first to be handed out again.
 */
static void test_kfree_bulk(void **state)
{
	void *p[40];

	(void)state;
	stay_on_one_cpu();
	for (unsigned int nr = 1; nr <= 40; nr++) {
		for (unsigned int i = 0; i < nr; i++)
			p[i] = i % 5 == 3 ? kmalloc(3000, GFP_KERNEL) : kmalloc(64, GFP_KERNEL);
		if (nr > 9)
			p[7] = (kfree(p[7]), NULL);
		if (nr % 5 == 4) /* the last one is of 64 bytes */
			kfree(p[nr - 1]), p[nr - 1] = kmalloc(64, GFP_KERNEL);
		kfree_bulk(nr, p);
		if (nr < 25) /* no array was exchanged meanwhile */
			assert_ptr_equal(p[0] = kmalloc(64, GFP_KERNEL), p[nr - 1]);
		else
			p[0] = NULL;
		kfree(p[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_ksize),
		cmocka_unit_test(test_nothing_to_free),
		cmocka_unit_test(test_krealloc),
		cmocka_unit_test(test_krealloc_zero),
		cmocka_unit_test(test_krealloc_of_freed),
		cmocka_unit_test(test_krealloc_fails),
		cmocka_unit_test(test_arrays),
		cmocka_unit_test(test_arrays_of_nodes),
		cmocka_unit_test(test_track_caller),
		cmocka_unit_test(test_types_of_objects),
		cmocka_unit_test(test_types_too_large),
		cmocka_unit_test(test_zero),
		cmocka_unit_test(test_sensitive),
		cmocka_unit_test(test_alignment),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_kfree_any),
		cmocka_unit_test(test_kfree_bulk),
		cmocka_unit_test(test_free_wrong),
		cmocka_unit_test(test_no_object),
		cmocka_unit_test(test_sensitive_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
