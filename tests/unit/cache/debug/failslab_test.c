/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/debug/failslab_test.c - allocations that are made to fail (spec 6.5)
 */
#include "unit/cache/cache_fixture.h"

#include <pthread.h>
#include <sys/prctl.h>

#include "cache/debug/failslab.h"
#include "cache/internal.h"

/* An allocation that may not block, so that ignore-gfp-wait does not protect it. */
static bool fails(struct cache *c)
{
	void *p = cache_alloc(c, GFP_NOWAIT, NUMA_NO_NODE);

	if (p)
		cache_free(c, p);
	return !p;
}

static unsigned int count_failures(struct cache *c, unsigned int calls)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < calls; i++)
		n += fails(c);
	return n;
}

IN_CHILD(test_off_and_on)
{
	struct cache *before;
	struct cache *after;

	ready();
	before = make("before", 64, 0, 0);
	CHILD_CHECK(!fails(before) && !before->watch);
	CHILD_CHECK(cache_set_failslab("1,100,0,-1") == 0);
	after = make("after", 128, 0, 0);
	CHILD_CHECK(before->watch & WATCH_FAULTS && after->watch & WATCH_FAULTS);
	CHILD_CHECK(count_failures(before, 50) == 50 && count_failures(after, 50) == 50);
	CHILD_CHECK(cache_set_failslab("") == 0);
	CHILD_CHECK(!before->watch && !after->watch && !count_failures(before, 50));
	cache_check_all();
}

IN_CHILD(test_numbers)
{
	struct cache *c;
	unsigned int n;

	ready();
	c = make("c", 64, 0, 0);
	/* one in four that could fail, four times */
	CHILD_CHECK(cache_set_failslab("4,100,0,4") == 0);
	CHILD_CHECK(count_failures(c, 3) == 0 && fails(c) && count_failures(c, 3) == 0);
	CHILD_CHECK(count_failures(c, 100) == 3 && failslab.times == 0);
	/* the first 640 bytes are given */
	CHILD_CHECK(cache_set_failslab("1,100,640,-1") == 0);
	for (n = 0; !fails(c); n++) {}
	CHILD_CHECK(n == 9 && failslab.space == 64); /* as in the kernel: as long as more is left */
	CHILD_CHECK(count_failures(c, 10) == 10);
	/* by chance */
	CHILD_CHECK(cache_set_failslab("1,10,0,-1") == 0);
	n = count_failures(c, 20000);
	CHILD_CHECK(n > 1700 && n < 2300);
	CHILD_CHECK(cache_set_failslab("1,0,0,-1") == 0 && !c->watch);
}

IN_CHILD(test_refused)
{
	static const char *const bad[] = { "1",		"1,2,3",    "1,101,0,1", "a,1,1,1",
					   "1,1,1,1,1", "1,-1,0,1", "-1,10,0,1", "1,10,-1,1",
					   "1,1,1,-2",	",,,",	    "1,10,0,1x", "1, 10, 0, 1",
					   "1,10,0," };

	ready();
	CHILD_CHECK(cache_set_failslab("3,7,5,2") == 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++)
		CHILD_CHECK(cache_set_failslab(bad[i]) == -EINVAL);
	CHILD_CHECK(failslab.interval == 3 && failslab.probability == 7);
	CHILD_CHECK(failslab.space == 5 && failslab.times == 2);
}

/* Who never fails. */
IN_CHILD(test_spared)
{
	struct cache *c;

	ready();
	c = make("c", 64, 0, 0);
	CHILD_CHECK(cache_set_failslab("1,100,0,-1") == 0);
	for (unsigned int i = 0; i < 10; i++) {
		cache_free(c, get(c)); /* GFP_KERNEL may block */
		cache_free(c, cache_alloc(c, GFP_NOWAIT | __GFP_NOFAIL, NUMA_NO_NODE));
	}
	CHILD_CHECK(failslab_set("ignore-gfp-wait", "N"));
	CHILD_CHECK(!get(c));
	CHILD_CHECK(cache_alloc(c, GFP_KERNEL | __GFP_NOFAIL, NUMA_NO_NODE));
	CHILD_CHECK(failslab_set("ignore-gfp-wait", "Y"));
	CHILD_CHECK(get(c));
}

IN_CHILD(test_cache_filter)
{
	struct cache *a;
	struct cache *b;

	setenv("USLAB_DEBUG", "A,a", 1);
	ready();
	a = make("a", 64, 0, 0);
	b = make("b", 64, 0, 0);
	CHILD_CHECK(a != b && a->flags == SLAB_FAILSLAB && !a->watch);
	CHILD_CHECK(failslab_set("cache-filter", "1"));
	CHILD_CHECK(cache_set_failslab("1,100,0,-1") == 0);
	CHILD_CHECK(fails(a) && !fails(b) && !b->watch);
	CHILD_CHECK(cache_set_debug(b, SLAB_FAILSLAB) == 0 && fails(b));
	CHILD_CHECK(cache_set_debug(a, 0) == 0 && !fails(a) && !a->watch);
	CHILD_CHECK(failslab_set("cache-filter", "0") && fails(a));
}

static void *named(void *c)
{
	prctl(PR_SET_NAME, "victim-7");
	return (void *)(uintptr_t)count_failures(c, 10);
}

IN_CHILD(test_task_filter)
{
	struct cache *c;
	pthread_t thread;
	void *failures;

	ready();
	c = make("c", 64, 0, 0);
	CHILD_CHECK(failslab_set("task-filter", "victim-*"));
	CHILD_CHECK(!failslab_set("task-filter", "a name of seventeen"));
	CHILD_CHECK(cache_set_failslab("1,100,0,-1") == 0);
	CHILD_CHECK(!fails(c));
	pthread_create(&thread, NULL, named, c);
	pthread_join(thread, &failures);
	CHILD_CHECK((uintptr_t)failures == 10);
	CHILD_CHECK(failslab_set("task-filter", "N") && fails(c));
}

/* All or none; and a zeroed one, a node's one, a kmalloc. */
IN_CHILD(test_calls)
{
	struct cache *c;
	void *p[10];

	ready();
	CHILD_CHECK(kmalloc_init() == 0);
	c = make("c", 64, 0, 0);
	CHILD_CHECK(cache_set_failslab("8,100,0,-1") == 0);
	CHILD_CHECK(cache_alloc_bulk(c, GFP_NOWAIT, 7, p) == 7);
	cache_free_bulk(c, 7, p);
	CHILD_CHECK(in_use(c) == 0);
	CHILD_CHECK(cache_alloc_bulk(c, GFP_NOWAIT, 7, p) == 0 && in_use(c) == 0);
	CHILD_CHECK(cache_set_failslab("1,100,0,-1") == 0);
	CHILD_CHECK(!cache_alloc(c, GFP_NOWAIT | __GFP_ZERO, 0));
	CHILD_CHECK(!kmalloc_alloc(100, GFP_NOWAIT, NUMA_NO_NODE));
	p[0] = kmalloc_alloc(10000, GFP_NOWAIT, NUMA_NO_NODE); /* no object of any cache */
	CHILD_CHECK(p[0]);
	kmalloc_free(p[0], NULL);
	/* debugged as well */
	CHILD_CHECK(cache_set_debug(c, DEBUG_DEFAULT) == 0 && fails(c));
	CHILD_CHECK(cache_set_failslab("") == 0 && !fails(c));
	CHILD_CHECK(c->watch & WATCH_PAST_FRONT); /* the debug flags are there still */
	cache_check_all();
}

static bool ended;

static void *ask(void *c)
{
	while (!__atomic_load_n(&ended, __ATOMIC_RELAXED))
		count_failures(c, 100);
	return NULL;
}

static void set_all(unsigned int i)
{
	bool odd = i % 2;

	CHILD_CHECK(failslab_set("interval", odd ? "0" : "3"));
	CHILD_CHECK(failslab_set("probability", odd ? "7" : "100"));
	CHILD_CHECK(failslab_set("ignore-gfp-wait", odd ? "N" : "Y"));
	CHILD_CHECK(failslab_set("cache-filter", i % 3 ? "N" : "Y"));
	CHILD_CHECK(failslab_set("task-filter", odd ? "N" : "*[!a-e]?test*"));
	CHILD_CHECK(failslab_set("verbose", "0"));
	CHILD_CHECK(failslab_set("space", odd ? "0" : "1000"));
	CHILD_CHECK(failslab_set("times", odd ? "-1" : "5"));
	if (i % 7 == 0)
		CHILD_CHECK(cache_set_failslab(i % 2 ? "" : "2,50,0,-1") == 0);
}

/* Threads that have just found another value: an interval of 0 is none. */
IN_CHILD(test_changed_meanwhile)
{
	unsigned int rounds = bare_process() ? 5000 : 500;
	pthread_t t[2];
	struct cache *c;

	ready();
	c = make("c", 64, 0, 0);
	CHILD_CHECK(cache_set_failslab("2,1,0,-1") == 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(t); i++)
		CHILD_CHECK(!pthread_create(&t[i], NULL, ask, c));
	for (unsigned int i = 0; i < rounds; i++)
		set_all(i);
	for (unsigned int i = 0; i < 100000; i++)
		failslab_set("interval", i % 2 ? "0" : "3");
	__atomic_store_n(&ended, true, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < ARRAY_SIZE(t); i++)
		pthread_join(t[i], NULL);
	CHILD_CHECK(cache_set_failslab("") == 0 && !fails(c));
	cache_check_all();
}

static void verbose(__attribute__((unused)) void *arg)
{
	struct cache *c;

	ready();
	c = make("c", 64, 0, 0);
	CHILD_CHECK(failslab_set("verbose", "1") && cache_set_failslab("1,100,0,1") == 0);
	CHILD_CHECK(fails(c));
	CHILD_CHECK(failslab_set("verbose", "2") && failslab_set("times", "1") && fails(c));
}

static void test_verbose(void **state)
{
	static const char line[] =
		"uslab: FAULT_INJECTION: forcing a failure. name failslab, cache c, "
		"interval 1, probability 100, space 0, times 0\n";
	struct child c = child_run(verbose, NULL);

	(void)state;
	assert_true(child_passed(&c));
	assert_memory_equal(c.text, line, sizeof(line) - 1);
	assert_memory_equal(c.text + sizeof(line) - 1, line, sizeof(line) - 1);
	/* and where it was */
	assert_non_null(strstr(c.text + 2 * sizeof(line) - 2, "uslab:  "));
}

static void environment(__attribute__((unused)) void *arg)
{
	setenv("USLAB_FAILSLAB", "1,100,0,2", 1);
	setenv("USLAB_CONF", "failslab.ignore-gfp-wait=N,failslab.nonsense=1,failslab.verbose=x",
	       1);
	ready();
	CHILD_CHECK(!get(make("c", 64, 0, 0)) && !failslab.verbose && failslab.times == 1);
}

static void bad_environment(__attribute__((unused)) void *arg)
{
	setenv("USLAB_FAILSLAB", "often", 1);
	ready();
	CHILD_CHECK(get(make("c", 64, 0, 0)));
}

static void test_environment(void **state)
{
	struct child c = child_run(environment, NULL);

	(void)state;
	assert_true(child_passed(&c));
	assert_non_null(strstr(c.text,
			       "uslab: USLAB_CONF: ignored \"failslab.nonsense=1\": there is no "
			       "such option, but failslab.probability, failslab.interval, "));
	assert_non_null(strstr(c.text, "\nuslab: USLAB_CONF: ignored \"failslab.verbose=x\": "
				       "failslab.verbose takes a number from 0 on\n"));
	c = child_run(bad_environment, NULL);
	assert_true(child_passed(&c));
	assert_string_equal(c.text, "uslab: USLAB_FAILSLAB: ignored \"often\", not "
				    "interval,probability,space,times\n");
}

static void test_attributes(void **state)
{
	(void)state;
	assert_true(failslab_set("interval", "5") && failslab.interval == 5);
	assert_true(failslab_set("probability", "0") && failslab.probability == 0);
	assert_false(failslab_set("probability", "101"));
	assert_true(failslab_set("space", "100") && failslab.space == 100);
	assert_true(failslab_set("times", "-1") && failslab.times == -1);
	assert_false(failslab_set("times", "-2"));
	assert_false(failslab_set("space", "-1"));
	assert_false(failslab_set("interval", ""));
	assert_false(failslab_set("cache-filter", "maybe"));
	assert_false(failslab_set("cache-filter", "x"));
	assert_true(failslab_set("cache-filter", "") && failslab.cache_filter);
	assert_true(failslab_set("cache-filter", "n") && !failslab.cache_filter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_off_and_on),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_spared),
		cmocka_unit_test(test_cache_filter),
		cmocka_unit_test(test_task_filter),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_verbose),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_changed_meanwhile),
	};

	return cmocka_run_group_tests_name("failslab", tests, NULL, NULL);
}
