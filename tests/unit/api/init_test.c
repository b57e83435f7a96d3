/* SPDX-License-Identifier: MIT */
/*
 * unit/api/init_test.c - ready before main and before any constructor of the program
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <uslab/slab.h>
#include <cmocka.h>

#include "api/api.h"
#include "bare.h"
#include "cache/cache.h"
#include "child.h"
#include "inspect/root.h"

/* What this program's first constructor found. */
static struct {
	struct kmem_cache *handles;
	void *inline_object;
	void *object;
} early;

/* The library takes 101, the first one that is not reserved for the compiler. */
__attribute__((constructor(102))) static void first_constructor(void)
{
	early.handles = uslab_kmalloc_handles;
	early.inline_object = kmalloc(100, GFP_KERNEL); /* inline: size and flags are constant */
	early.object = uslab_kmalloc(100, GFP_KERNEL);
}

static void test_before_main(void **state)
{
	(void)state;
	assert_non_null(early.handles);
	assert_ptr_equal(early.handles, uslab_kmalloc_handles);
	assert_non_null(early.inline_object);
	assert_non_null(early.object);
	assert_string_equal(cache_of_object(early.inline_object)->name, "kmalloc-128");
	kfree(early.inline_object);
	kfree(early.object);
}

static unsigned int count_caches(void)
{
	struct list_head *pos;
	unsigned int n = 0;

	list_for_each(pos, &cache_list)
		n++;
	return n;
}

static void test_again(void **state)
{
	unsigned int n = count_caches();

	(void)state;
	assert_int_equal(api_init(), 0);
	assert_int_equal(api_init(), 0);
	assert_int_equal(count_caches(), n);
	assert_int_equal(n, 26); /* two types of 13 sizes */
}

/* The handles' array is where the inline kmalloc() looks: entry i is the kernel's index i. */
static void test_handles(void **state)
{
	(void)state;
	for (size_t size = 1; size <= KMALLOC_MAX_CACHE_SIZE; size += 7) {
		void *p = uslab_kmalloc(size, GFP_KERNEL);
		struct kmem_cache *s = (struct kmem_cache *)((char *)uslab_kmalloc_handles +
							     uslab_kmalloc_index(size) * 8);

		assert_ptr_equal(cache_of_object(p), cache_of(s));
		assert_int_equal(ksize(p), kmem_cache_size(s));
		kfree(p);
	}
}

static void test_root(void **state)
{
	(void)state;
	assert_int_equal(uslab_root.ready, 1);
	assert_string_equal((const char *)(uintptr_t)uslab_root.large_name, "kmalloc-large");
}

static void test_version(void **state)
{
	const char *version = uslab_version();
	unsigned int dots = 0;

	(void)state;
	for (const char *c = version; *c; c++) {
		assert_true((*c >= '0' && *c <= '9') || *c == '.');
		dots += *c == '.';
	}
	assert_int_equal(dots, 2);
}

static size_t resident(void)
{
	const char *base = page_map.base;
	unsigned long nr = page_map.nr_pages;
	unsigned char *vec = malloc(nr);
	size_t pages = 0;

	assert_int_equal(mincore((void *)base, nr * PAGE_SIZE, vec), 0);
	for (unsigned long i = 0; i < nr; i++)
		pages += vec[i] & 1;
	free(vec);
	return pages * PAGE_SIZE;
}

/* What nobody uses goes back to the system, and the number of bytes is what is said. */
static void test_trim(void **state)
{
	struct kmem_cache *s = kmem_cache_create("trim", 512, 0, 0, NULL);
	static void *p[8192]; /* 4 MiB */
	size_t before;
	size_t free;
	size_t said;

	(void)state;
	uslab_trim();
	before = resident();
	assert_int_equal(kmem_cache_alloc_bulk(s, GFP_KERNEL, 8192, p), 8192);
	for (unsigned int i = 0; i < 8192; i++)
		memset(p[i], 1, 512);
	assert_true(resident() >= before + (4 << 20));
	kmem_cache_free_bulk(s, 8192, p);
	kmem_cache_shrink(s); /* part of it may be purged when it is freed */
	free = resident();
	said = uslab_trim();
	assert_true(resident() <= before);
	assert_true(said >= free - resident());
	assert_int_equal(uslab_trim(), 0);
	kmem_cache_destroy(s);
}

/* Without address space for the library there is a message, and calls that can fail do. */
static void without_memory(void *arg)
{
	const struct rlimit none = { 16 << 20, 16 << 20 };
	char *self[] = { "init_test", "without-memory", NULL };

	(void)arg;
	child_limit(RLIMIT_AS, &none);
	execv("/proc/self/exe", self);
	_exit(9);
}

/* Inline, on each CPU that this thread may use. */
static bool inline_kmalloc_fails(void)
{
	cpu_set_t all;
	cpu_set_t one;

	sched_getaffinity(0, sizeof(all), &all);
	for (unsigned int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		if (kmalloc(1, GFP_KERNEL) || kmalloc(96, GFP_ATOMIC) ||
		    kmalloc(KMALLOC_MAX_CACHE_SIZE, GFP_KERNEL) || kzalloc(64, GFP_KERNEL))
			return false;
	}
	return true;
}

static int main_without_memory(void)
{
	volatile size_t nothing = 0;
	void *none[] = { NULL, ZERO_SIZE_PTR, NULL, NULL, ZERO_SIZE_PTR };

	if (early.inline_object || early.object)
		return 1;
	if (!inline_kmalloc_fails())
		return 5;
	if (uslab_kmalloc(100, GFP_KERNEL) || kmalloc_node(9000, GFP_KERNEL, 0))
		return 2;
	if (kmem_cache_create("c", 64, 0, 0, NULL))
		return 3;
	if (kmalloc_size_roundup(100) != 100 || krealloc(NULL, 8, GFP_KERNEL))
		return 4;
	if (kmalloc(nothing, GFP_KERNEL) != ZERO_SIZE_PTR)
		return 6;
	kfree(NULL);
	for (size_t n = 1; n <= sizeof(none) / sizeof(none[0]); n++)
		kfree_bulk(n, none);
	return 0;
}

static void test_without_memory(void **state)
{
	struct child c;

	if (!bare_process())
		skip();
	c = child_run(without_memory, state);
	assert_true(child_passed(&c));
	assert_non_null(strstr(c.text, "uslab: no memory at program start (ulimit -v, ulimit -d?); "
				       "all allocations will fail\n"));
	assert_non_null(strstr(c.text, "uslab: kmem_cache_create(c) failed with error -12: out of "
				       "memory\n"));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_before_main),    cmocka_unit_test(test_again),
		cmocka_unit_test(test_handles),	       cmocka_unit_test(test_root),
		cmocka_unit_test(test_version),	       cmocka_unit_test(test_trim),
		cmocka_unit_test(test_without_memory),
	};

	if (argc > 1 && !strcmp(argv[1], "without-memory"))
		return main_without_memory();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
