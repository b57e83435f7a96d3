/* SPDX-License-Identifier: MIT */
/*
 * unit/api/nolock_api_test.c - kmalloc_nolock() and kfree_nolock() as programs see them
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <uslab/slab.h>
#include <cmocka.h>

#include "child.h"

static void test_sizes(void **state)
{
	char *p;

	(void)state;
	assert_ptr_equal(kmalloc_nolock(0, 0, NUMA_NO_NODE), ZERO_SIZE_PTR);
	assert_null(kmalloc_nolock(KMALLOC_MAX_CACHE_SIZE + 1, 0, NUMA_NO_NODE));
	assert_null(kmalloc_nolock(SIZE_MAX / 2, 0, NUMA_NO_NODE));
	p = kmalloc_nolock(100, __GFP_ZERO | __GFP_ACCOUNT, NUMA_NO_NODE);
	assert_non_null(p);
	assert_int_equal(p[0] | p[99], 0);
	assert_true(ksize(p) >= 100);
	p = krealloc(p, 3000, GFP_KERNEL);
	assert_non_null(p);
	kfree_nolock(p);
	kfree(kmalloc_nolock_node(8192, 0, 0));
	kfree(kmalloc_nolock(64, 0, 500)); /* no such node: any */
	kfree_nolock(NULL);
	kfree_nolock(ZERO_SIZE_PTR);
}

/* What kmalloc() gave, of any size, too. */
static void test_kmallocs(void **state)
{
	(void)state;
	for (size_t size = 1; size <= KMALLOC_MAX_SIZE; size *= 4)
		kfree_nolock(kmalloc(size, GFP_KERNEL));
	kmem_cache_shrink(
		(struct kmem_cache *)((char *)uslab_kmalloc_handles + uslab_kmalloc_index(64) * 8));
}

static void ask_wrongly(void *unused)
{
	(void)unused;
	CHILD_CHECK(!kmalloc_nolock(64, GFP_KERNEL, NUMA_NO_NODE));
	CHILD_CHECK(!kmalloc_nolock(64, __GFP_ZERO | __GFP_THISNODE, 0));
}

/* Once on standard error. */
static void test_flags(void **state)
{
	struct child c = child_run(ask_wrongly, NULL);

	(void)state;
	assert_true(child_passed(&c));
	assert_string_equal(c.text, "uslab: kmalloc_nolock: flags 0xcc0: only __GFP_ZERO and "
				    "__GFP_ACCOUNT are allowed\n");
}

static void *from_handler[50];

static void on_signal(int sig)
{
	(void)sig;
	errno = EXDEV;
	for (int i = 0; i < 50; i++) {
		kfree_nolock(from_handler[i]);
		from_handler[i] = kmalloc_nolock(64, 0, NUMA_NO_NODE);
	}
	if (errno != EXDEV)
		abort();
}

static void test_handler(void **state)
{
	(void)state;
	signal(SIGUSR1, on_signal);
	for (int i = 0; i < 10; i++)
		raise(SIGUSR1);
	for (int i = 0; i < 50; i++) {
		assert_non_null(from_handler[i]);
		kfree(from_handler[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_kmallocs),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_handler),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
