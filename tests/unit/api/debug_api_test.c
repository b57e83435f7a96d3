/* SPDX-License-Identifier: MIT */
/*
 * unit/api/debug_api_test.c - debugging as a program asks for it
 *
 * What it writes is compared by tests/misuse; here are results, errors and what is left alone.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uslab/slab.h>
#include <cmocka.h>

#include "child.h"
#include "debug/report/report.h"

static unsigned int reports;

static void hook(const char *cache, const char *text, void *arg)
{
	CHILD_CHECK(!strcmp(cache, arg) && strstr(text, "\nFIX "));
	reports++;
}

static void *alloc_in(const char *name, struct kmem_cache **s)
{
	*s = kmem_cache_create(name, 64, 0, 0, NULL);
	return kmem_cache_alloc(*s, GFP_KERNEL);
}

/* Switched on and off while the cache has objects; a pattern, a name, an error. */
static void child_set_debug(void *arg)
{
	struct kmem_cache *s;
	char *plain = alloc_in("switched", &s);
	char *p;

	(void)arg;
	uslab_set_report_hook(hook, "switched", true);
	CHILD_CHECK(uslab_set_debug("switched", "FZX") == -EINVAL);
	CHILD_CHECK(uslab_set_debug(NULL, "F") == -EINVAL);
	CHILD_CHECK(uslab_set_debug("no-such-cache", "F") == -ENOENT);
	CHILD_CHECK(kmem_cache_validate(s) == -EINVAL);
	CHILD_CHECK(uslab_set_debug("sw*ed", "fzpu") == 1);
	p = kmem_cache_alloc(s, GFP_KERNEL);
	CHILD_CHECK(kmem_cache_validate(s) == 1 && !reports);
	p[64] = 1;
	CHILD_CHECK(kmem_cache_validate(s) == 1 && reports == 1);
	CHILD_CHECK(kmem_cache_validate(s) == 1 && reports == 1); /* it was repaired */
	CHILD_CHECK(uslab_set_debug("switched", "-") == 1);
	kmem_cache_free(s, p);
	kmem_cache_free(s, plain);
	CHILD_CHECK(reports == 1);
	kmem_cache_destroy(s);
}

static void child_hook_is_taken_back(void *arg)
{
	struct kmem_cache *s;
	char *p = alloc_in("hooked", &s);

	(void)arg;
	CHILD_CHECK(uslab_set_debug("hooked", "F") == 1);
	p = kmem_cache_alloc(s, GFP_KERNEL);
	uslab_set_report_hook(hook, "hooked", true);
	kmem_cache_free(s, p + 8);
	CHILD_CHECK(reports == 1);
	uslab_set_report_hook(NULL, NULL, true);
	kmem_cache_free(s, p + 8); /* nobody to tell: it is written even so */
	CHILD_CHECK(reports == 1 && report_counters.reports == 2 && report_counters.fixes == 2);
}

/* ---- a hook that uses caches, itself and in another thread that it waits for ---- */

static void *use_caches(void *arg)
{
	struct kmem_cache *s = kmem_cache_create("beside", 100, 0, 0, NULL);
	void *p = kmem_cache_alloc(s, GFP_KERNEL);

	CHILD_CHECK(s && p);
	kmem_cache_free(s, p);
	kmem_cache_shrink(s);
	kmem_cache_destroy(s);
	return arg;
}

static void curious_hook(const char *cache, const char *text, void *arg)
{
	pthread_t other;

	hook(cache, text, arg);
	CHILD_CHECK(uslab_set_debug(arg, "+F") == 1);
	kmem_cache_destroy(kmem_cache_create("of the hook", 100, 0, 0, NULL));
	CHILD_CHECK(!pthread_create(&other, NULL, use_caches, NULL));
	CHILD_CHECK(!pthread_join(other, NULL));
}

static void child_hook_uses_caches(void *arg)
{
	struct kmem_cache_args args = { .engine = arg, .front = "historical" };
	struct kmem_cache *s;
	void *q;
	char *p;

	alarm(60); /* it waited for ever */
	uslab_set_report_hook(curious_hook, "walked", true);
	s = kmem_cache_create_args("walked", 64, &args, SLAB_RED_ZONE | SLAB_CONSISTENCY_CHECKS);
	p = kmem_cache_alloc(s, GFP_KERNEL);
	p[64] = 1;
	CHILD_CHECK(kmem_cache_validate(s) == 1 && reports == 1);
	q = kmem_cache_alloc(s, GFP_KERNEL);
	kmem_cache_free(s, q);
	kmem_cache_free(s, q);
	CHILD_CHECK(reports == 2);
	((char *)q)[64] = 1; /* a red zone of what is free is looked at when it is validated */
	CHILD_CHECK(kmem_cache_validate(s) == 1 && reports == 3);
	CHILD_CHECK(kmem_cache_shrink(s) == 1);
	kmem_cache_free(s, p);
	kmem_cache_destroy(s);
}

static void test_hook_uses_caches(void **state)
{
	static const char *const engine[] = { "slub", "slab" };

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct child c = child_run(child_hook_uses_caches, (void *)engine[i]);

		assert_true(child_passed(&c));
		assert_string_equal(c.text, "");
	}
}

/* As in the kernel, only allocations that may not wait are made to fail. */
IN_CHILD(test_failslab)
{
	CHILD_CHECK(uslab_set_failslab("1,100,0") == -EINVAL);
	CHILD_CHECK(uslab_set_failslab("1,100,0,2") == 0);
	CHILD_CHECK(!kmalloc(64, GFP_NOWAIT) && !kmalloc(64, GFP_NOWAIT));
	CHILD_CHECK(kmalloc(64, GFP_NOWAIT)); /* two times only */
	CHILD_CHECK(uslab_set_failslab("1,100,0,-1") == 0 && !kmalloc(64, GFP_NOWAIT));
	CHILD_CHECK(uslab_set_failslab("") == 0 && kmalloc(64, GFP_NOWAIT));
}

static void child_dump(void *arg)
{
	char *p = kmalloc(64, GFP_KERNEL);

	CHILD_CHECK(uslab_dump_obj(p) && !uslab_dump_obj(&p) && !uslab_dump_obj(arg));
}

static void test_set_debug(void **state)
{
	struct child c = child_run(child_set_debug, NULL);

	(void)state;
	assert_true(child_passed(&c));
	assert_string_equal(c.text, "");
}

static void test_hook(void **state)
{
	struct child c = child_run(child_hook_is_taken_back, NULL);

	(void)state;
	assert_true(child_passed(&c));
	assert_non_null(strstr(c.text, "BUG hooked (Tainted"));
}

static void test_dump(void **state)
{
	struct child c = child_run(child_dump, NULL);

	(void)state;
	assert_true(child_passed(&c));
	assert_non_null(strstr(c.text, " slab kmalloc-64 start "));
	assert_non_null(strstr(c.text, "uslab: 0x0 (NULL pointer)\n"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set_debug),
		cmocka_unit_test(test_hook),
		cmocka_unit_test(test_hook_uses_caches),
		cmocka_unit_test(test_failslab),
		cmocka_unit_test(test_dump),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
