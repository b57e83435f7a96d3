/* SPDX-License-Identifier: MIT */
/*
 * unit/api/mempool_api_test.c - memory pools: who gets which element, who waits, what is left
 *
 * ctest: timeout=300
 *
 * The elements are of a source of the test, which counts those that are out, and can run dry. What
 * a lost wakeup would do is tested by race/mempool_test.c.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <cmocka.h>
#include <uslab/mempool.h>

#include "bare.h"
#include "base/atomic.h"
#include "cache/cache.h"
#include "cache/mempool/elements.h"
#include "child.h"
#include "debug/report/report.h"
#include "page/nested.h"
#include "threads.h"

#define USERS 6

/* All atomic. */
static struct {
	int out;	    /* elements that it has given and not got back */
	int most;	    /* at once; then it is dry */
	unsigned int calls; /* for elements */
	gfp_t flags;	    /* of the last one */
} source;

static void *from_source(gfp_t flags, void *data)
{
	assert_ptr_equal(data, &source);
	fetch_add(&source.calls, 1);
	store_relaxed(&source.flags, flags);
	if (fetch_add(&source.out, 1) < load_relaxed(&source.most))
		return malloc(16);
	fetch_sub(&source.out, 1);
	return NULL;
}

static void to_source(void *element, void *data)
{
	assert_ptr_equal(data, &source);
	free(element);
	fetch_sub(&source.out, 1);
}

static mempool_t pool;

static void start(int min_nr, int more)
{
	memset(&source, 0, sizeof(source));
	source.most = min_nr + more;
	assert_int_equal(mempool_init(&pool, min_nr, from_source, to_source, &source), 0);
	elements_check(&pool);
	assert_int_equal(source.out, min_nr);
}

static void finish(void)
{
	elements_check(&pool);
	assert_int_equal(pool.wait.threads, 0);
	mempool_exit(&pool);
	assert_int_equal(source.out, 0);
}

/* ---- one thread ---- */

static void test_life(void **state)
{
	static mempool_t none;
	mempool_t *made;

	(void)state;
	assert_false(mempool_initialized(&none));
	mempool_exit(&none);
	start(3, 0);
	assert_true(mempool_initialized(&pool) && mempool_is_saturated(&pool));
	assert_int_equal(pool.curr_nr, 3);
	finish();
	assert_false(mempool_initialized(&pool));
	mempool_exit(&pool);

	source.most = 5;
	made = mempool_create(5, from_source, to_source, &source);
	assert_non_null(made);
	assert_int_equal(made->min_nr, 5);
	mempool_destroy(made);
	mempool_destroy(NULL);
	assert_int_equal(source.out, 0);
}

/* Nothing is left of what was allocated until then. */
static void test_no_pool(void **state)
{
	(void)state;
	source.most = 4;
	assert_int_equal(mempool_init(&pool, 5, from_source, to_source, &source), -ENOMEM);
	assert_false(mempool_initialized(&pool));
	assert_null(mempool_create(5, from_source, to_source, &source));
	assert_int_equal(mempool_init(&pool, -1, from_source, to_source, &source), -EINVAL);
	assert_int_equal(mempool_init(&pool, 1, NULL, to_source, &source), -EINVAL);
	assert_int_equal(mempool_init(&pool, 1, from_source, NULL, &source), -EINVAL);
	assert_int_equal(mempool_init(&pool, INT32_MAX, from_source, to_source, &source), -ENOMEM);
	assert_false(mempool_initialized(&pool));
	assert_int_equal(source.out, 0);
}

/* The source first, as long as it has some, by a call that must not wait; then those kept. */
static void test_source_first(void **state)
{
	void *elements[5];

	(void)state;
	start(3, 2);
	for (unsigned int i = 0; i < 5; i++) {
		elements[i] = mempool_alloc(&pool, GFP_KERNEL);
		assert_non_null(elements[i]);
		assert_int_equal(pool.curr_nr, i < 2 ? 3 : 4 - (int)i);
		assert_int_equal(source.flags & (__GFP_DIRECT_RECLAIM | __GFP_IO), 0);
		assert_int_equal(source.flags & (__GFP_NORETRY | __GFP_NOWARN),
				 __GFP_NORETRY | __GFP_NOWARN);
	}
	assert_null(mempool_alloc(&pool, GFP_NOWAIT));
	assert_null(mempool_alloc(&pool, GFP_ATOMIC));
	assert_null(mempool_alloc_preallocated(&pool));
	/* back to the pool first, then to the source */
	for (unsigned int i = 0; i < 5; i++) {
		mempool_free(elements[i], &pool);
		assert_int_equal(pool.curr_nr, i < 3 ? (int)i + 1 : 3);
		assert_int_equal(source.out, i < 3 ? 5 : 7 - (int)i);
	}
	mempool_free(NULL, &pool);
	finish();
}

static void test_preallocated(void **state)
{
	unsigned int calls;
	void *p;

	(void)state;
	start(1, 1);
	calls = source.calls;
	p = mempool_alloc_preallocated(&pool);
	assert_non_null(p);
	assert_int_equal(source.calls, calls);
	mempool_free(p, &pool);
	finish();
}

static void test_bulk(void **state)
{
	void *own = malloc(16);
	void *elements[4] = { [2] = own };

	(void)state;
	start(4, 1);
	assert_int_equal(mempool_alloc_bulk(&pool, elements, 5, 1), -EINVAL);
	assert_null(elements[0]);
	assert_int_equal(mempool_alloc_bulk(&pool, elements, 4, 1), 0);
	assert_ptr_equal(elements[2], own);
	assert_int_equal(pool.curr_nr, 2); /* one of three is the source's */
	elements[2] = mempool_alloc(&pool, GFP_NOWAIT);
	assert_int_equal(mempool_free_bulk(&pool, elements, 4), 3);
	assert_null(elements[2]);
	assert_non_null(elements[3]);
	to_source(elements[3], &source);
	assert_int_equal(mempool_free_bulk(&pool, elements, 0), 0);
	free(own);
	finish();
}

static void test_resize(void **state)
{
	void *p;

	(void)state;
	start(4, 2);
	assert_int_equal(mempool_resize(&pool, 2), 0);
	assert_int_equal(source.out, 2);
	assert_int_equal(mempool_resize(&pool, 6), 0);
	assert_int_equal(pool.curr_nr, 6);
	p = mempool_alloc(&pool, GFP_KERNEL);
	/* what is missing comes later, without an error (spec 5.12) */
	assert_int_equal(mempool_resize(&pool, 8), 0);
	assert_int_equal(pool.curr_nr, 5);
	assert_int_equal(pool.min_nr, 8);
	mempool_free(p, &pool);
	assert_int_equal(pool.curr_nr, 6);
	assert_int_equal(mempool_resize(&pool, -1), -EINVAL);
	assert_int_equal(mempool_resize(&pool, INT32_MAX), -ENOMEM);
	assert_int_equal(pool.min_nr, 8);
	assert_int_equal(mempool_resize(&pool, 0), 0);
	assert_int_equal(source.out, 0);
	finish();
}

/* Said once, and not passed on. */
static void ask_for_zeros(void *arg)
{
	(void)arg;
	start(1, 1);
	for (unsigned int i = 0; i < 3; i++) {
		void *p = mempool_alloc(&pool, GFP_KERNEL | __GFP_ZERO);

		CHILD_CHECK(p && !(source.flags & __GFP_ZERO));
		mempool_free(p, &pool);
	}
}

static void test_zero(void **state)
{
	struct child c = child_run(ask_for_zeros, NULL);

	(void)state;
	assert_true(child_passed(&c));
	assert_string_equal(c.text,
			    "uslab: mempool_alloc(): __GFP_ZERO is not supported, and ignored\n");
}

/* ---- several threads ---- */

static unsigned int rounds = 3000; /* of each thread; fewer where all is slow */
static bool stopped;
static int in_use; /* elements that threads have; atomic */

static void *need(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;

	for (unsigned int i = 0; i < rounds; i++) {
		void *p = mempool_alloc(&pool, GFP_KERNEL);

		assert_non_null(p);
		fetch_add(&in_use, 1);
		memset(p, (int)seed, 16);
		if (rand_r(&seed) % 4 == 0)
			sched_yield();
		fetch_sub(&in_use, 1);
		mempool_free(p, &pool);
	}
	return NULL;
}

/* A source without any: the pool's two do for all, and no more are ever out. */
static void test_guarantee(void **state)
{
	(void)state;
	for (int nr = 1; nr <= 2; nr++) {
		start(nr, 0);
		threads_run(USERS, need);
		assert_int_equal(pool.curr_nr, nr);
		finish();
	}
}

/* A pool that keeps none: who waits gets what somebody else frees. */
static void test_guarantee_of_none(void **state)
{
	(void)state;
	start(0, 2);
	threads_run(USERS, need);
	finish();
}

static void *need_several(void *arg)
{
	unsigned int count = (unsigned int)(uintptr_t)arg % 4 + 1;
	void *elements[4];

	for (unsigned int i = 0; i < rounds; i++) {
		unsigned int kept;

		memset(elements, 0, sizeof(elements));
		assert_int_equal(mempool_alloc_bulk(&pool, elements, count, 0), 0);
		for (unsigned int j = 0; j < count; j++)
			memset(elements[j], (int)j, 16);
		kept = mempool_free_bulk(&pool, elements, count);
		for (unsigned int j = kept; j < count; j++)
			mempool_free(elements[j], &pool);
	}
	return NULL;
}

/* Four, three, two and one at once, of four in all, and one more that comes and goes. */
static void test_bulk_guarantee(void **state)
{
	(void)state;
	start(4, 0);
	threads_run(USERS, need_several);
	assert_int_equal(pool.curr_nr, 4);
	finish();
	start(4, 1);
	threads_run(USERS, need_several);
	finish();
}

static void *resize_all_the_time(void *arg)
{
	unsigned int seed = 1;

	while (!load_relaxed(&stopped))
		assert_int_equal(mempool_resize(&pool, rand_r(&seed) % 9), 0);
	return arg;
}

static void test_resize_beside_users(void **state)
{
	(void)state;
	stopped = false;
	start(3, 3);
	threads_run_beside(USERS, need, resize_all_the_time, &stopped);
	assert_int_equal(mempool_resize(&pool, 6), 0);
	assert_int_equal(pool.curr_nr, 6);
	finish();
}

/* ---- fork, signals ---- */

static void use_in_child(void *arg)
{
	void *p[8];

	(void)arg;
	alarm(60); /* who waits for a lock waits for ever */
	CHILD_CHECK(mempool_resize(&pool, 8) == 0);
	source.most = 1000; /* those of other threads are theirs */
	for (unsigned int i = 0; i < 8; i++) {
		p[i] = mempool_alloc(&pool, GFP_KERNEL);
		CHILD_CHECK(p[i]);
	}
	for (unsigned int i = 0; i < 8; i++)
		mempool_free(p[i], &pool);
	mempool_exit(&pool);
}

static void *need_until_stopped(void *arg)
{
	while (!load_relaxed(&stopped)) {
		void *p = mempool_alloc_preallocated(&pool);

		if (p)
			mempool_free(p, &pool);
	}
	return arg;
}

static void test_fork(void **state)
{
	pthread_t other;

	(void)state;
	stopped = false;
	start(2, 0);
	assert_int_equal(pthread_create(&other, NULL, need_until_stopped, NULL), 0);
	for (unsigned int i = 0; i < 20; i++) {
		struct child c = child_run(use_in_child, NULL);

		assert_true(child_passed(&c));
	}
	store_relaxed(&stopped, true);
	pthread_join(other, NULL);
	finish();
}

/* All locks are held by this thread: nobody waits, and what is freed comes back later. */
IN_CHILD(test_nested)
{
	void *p;

	alarm(60);
	start(2, 0);
	p = mempool_alloc(&pool, GFP_KERNEL);
	cache_fork_prepare();
	CHILD_CHECK(!mempool_alloc(&pool, GFP_KERNEL));
	CHILD_CHECK(!mempool_alloc_preallocated(&pool));
	CHILD_CHECK(mempool_alloc_bulk(&pool, &(void *){ NULL }, 1, 0) == -ENOMEM);
	mempool_free(p, &pool);
	CHILD_CHECK(pool.curr_nr == 1);
	cache_fork_parent();
	CHILD_CHECK(nested_waiting() == 1);
	p = mempool_alloc(&pool, GFP_KERNEL);
	CHILD_CHECK(nested_waiting() == 0 && pool.curr_nr == 1);
	cache_fork_prepare();
	mempool_free(p, &pool);
	cache_fork_parent();
	mempool_exit(&pool);
	CHILD_CHECK(source.out == 0 && nested_waiting() == 0);
}

static struct kmem_cache *cache;
static volatile sig_atomic_t handled;

static void use_in_handler(int signal)
{
	void *p = mempool_alloc(&pool, GFP_NOWAIT);

	(void)signal;
	if (p)
		mempool_free(p, &pool);
	handled++;
}

/* Handlers use the pool that their thread is just using. */
IN_CHILD(test_signals)
{
	const struct itimerval often = { { 0, 200 }, { 0, 200 } };
	const struct itimerval never = { { 0, 0 }, { 0, 0 } };

	cache = kmem_cache_create("signals", 64, 0, 0, NULL);
	CHILD_CHECK(mempool_init_slab_pool(&pool, 4, cache) == 0);
	CHILD_CHECK(uslab_set_failslab("1,50,0,-1") == 0);
	signal(SIGALRM, use_in_handler);
	setitimer(ITIMER_REAL, &often, NULL);
	while (handled < 500) {
		void *p[4] = { NULL };

		for (unsigned int i = 0; i < 4; i++)
			p[i] = mempool_alloc(&pool, GFP_NOWAIT);
		for (unsigned int i = 0; i < 4; i++)
			mempool_free(p[i], &pool);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	nested_settle();
	elements_check(&pool);
	CHILD_CHECK(pool.curr_nr == 4);
	mempool_exit(&pool);
	kmem_cache_destroy(cache); /* objects that were left would be reported */
	CHILD_CHECK(report_counters.reports == 0);
}

/* ---- mistakes ---- */

static char last_report[4096];

static void keep_report(const char *name, const char *text, void *arg)
{
	(void)name;
	(void)arg;
	snprintf(last_report, sizeof(last_report), "%s", text);
}

static bool was_reported(const char *what)
{
	bool found = strstr(last_report, what);

	if (!found)
		fprintf(stderr, "no \"%s\" in:\n%s", what, last_report);
	last_report[0] = '\0';
	return found;
}

/* Twice into the pool, or first to the cache: without debug flags, and with them. */
static void free_twice(const char *debug_flags)
{
	struct kmem_cache *s = kmem_cache_create("twice", 64, 0, SLAB_NO_MERGE, NULL);
	void *p;
	void *q;

	uslab_set_report_hook(keep_report, NULL, true);
	CHILD_CHECK(uslab_set_debug("twice", debug_flags) == 1);
	CHILD_CHECK(mempool_init_slab_pool(&pool, 3, s) == 0);
	p = mempool_alloc_preallocated(&pool);
	q = mempool_alloc_preallocated(&pool);
	mempool_free(p, &pool);
	mempool_free(p, &pool);
	CHILD_CHECK(pool.curr_nr == 2 && was_reported("is kept by its pool already"));
	kmem_cache_free(s, q);
	mempool_free(q, &pool);
	CHILD_CHECK(pool.curr_nr == 2 && was_reported("Object already free"));
	if (debug_flags[0]) { /* else it goes to the cache: nobody looks at a pool that has enough */
		CHILD_CHECK(mempool_resize(&pool, 2) == 0);
		mempool_free(p, &pool);
		CHILD_CHECK(pool.curr_nr == 2 && was_reported("is kept by its pool already"));
	}
	mempool_exit(&pool);
	CHILD_CHECK(!last_report[0]);
	kmem_cache_destroy(s);
	CHILD_CHECK(!last_report[0]);
}

IN_CHILD(test_twice)
{
	free_twice("");
}

IN_CHILD(test_twice_debug)
{
	free_twice("FZPU");
}

IN_CHILD(test_written)
{
	struct kmem_cache *s = kmem_cache_create("written", 64, 0, SLAB_POISON, NULL);
	char *p;

	uslab_set_report_hook(keep_report, NULL, true);
	CHILD_CHECK(mempool_init_slab_pool(&pool, 1, s) == 0);
	p = mempool_alloc_preallocated(&pool);
	mempool_free(p, &pool);
	*(volatile char *)&p[10] = 'x';
	CHILD_CHECK(mempool_alloc_preallocated(&pool) == p);
	CHILD_CHECK(was_reported("Poison overwritten"));
	CHILD_CHECK(p[0] == 0x5a && p[10] == 0x5a);
	mempool_free(p, &pool);
	mempool_exit(&pool);
	kmem_cache_destroy(s);
	CHILD_CHECK(!last_report[0]);
}

static int slow_down(void **state)
{
	(void)state;
	if (!bare_process() || is_emulated())
		rounds /= 10;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life),
		cmocka_unit_test(test_no_pool),
		cmocka_unit_test(test_source_first),
		cmocka_unit_test(test_preallocated),
		cmocka_unit_test(test_bulk),
		cmocka_unit_test(test_resize),
		cmocka_unit_test(test_zero),
		cmocka_unit_test(test_guarantee),
		cmocka_unit_test(test_guarantee_of_none),
		cmocka_unit_test(test_bulk_guarantee),
		cmocka_unit_test(test_resize_beside_users),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_twice),
		cmocka_unit_test(test_twice_debug),
		cmocka_unit_test(test_written),
	};

	return cmocka_run_group_tests(tests, slow_down, NULL);
}
