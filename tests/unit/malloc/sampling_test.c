/* SPDX-License-Identifier: MIT */
/*
 * unit/malloc/sampling_test.c - what is sampled stands for what was allocated, and
 * sampling ends with its lease
 *
 * ctest: sanitize=no (the sanitizers bring a malloc of their own)
 */
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cache/control/control.h"
#include "child.h"
#include "debug/debug.h"
#include "front/percpu.h"
#include "malloc/sampling.h"
#include "page/page.h"
#include "replaced.h"

#define SIZE 192 /* a multiple of 64: aligned ones come from the same cache */
#define ROUNDS 100000
#define SIGMAS 6 /* not once in a hundred million runs */

static void *(*volatile alloc)(size_t) = malloc;
static void *(*volatile alloc_zero)(size_t, size_t) = calloc;
static void *(*volatile alloc_aligned)(size_t, size_t) = aligned_alloc;
static void (*volatile give)(void *) = free;

static unsigned long open_limit;

/* What a tool does, which writes from outside. */
static void begin(uint32_t mean, uint64_t until)
{
	open_limit = malloc_hot.size_limit;
	CHILD_CHECK(control.can_sample);
	if (control_prepare)
		control_prepare(); /* as a command does */
	CHILD_CHECK(cache_set_sampling(cache_of(percpu_handle(malloc_class_of(SIZE))), true) == 0);
	store_relaxed(&control.sample_until, until);
	store_relaxed(&control.sample_mean, mean);
	store_relaxed(&malloc_hot.size_limit, 0);
}

/* What a sampled object stands for, with that mean. */
static double weight_at(uint32_t mean)
{
	return -1 / expm1(-ldexp(SAMPLING_BYTES(SIZE), -(int)mean));
}

/* What the object stands for; 0: it was not sampled. */
static double weight(void *p)
{
	const struct page *slab = page_head_of(p);
	uint32_t sample;

	if (!debug_is_slab(slab))
		return 0;
	CHILD_CHECK(slab->layout->debug & SLAB_STORE_USER);
	sample = debug_track(slab->layout, p, TRACK_ALLOC)->sample;
	CHILD_CHECK(DEBUG_SAMPLE_MEAN(sample) >= CONTROL_SAMPLING_MIN);
	CHILD_CHECK(DEBUG_SAMPLE_BYTES(sample) == SAMPLING_BYTES(SIZE));
	return weight_at(DEBUG_SAMPLE_MEAN(sample));
}

struct sum {
	double sum, variance;
};

/*
 * The variance is that of all objects, sampled or not: on a fast machine the mean is soon so large
 * that few are, and what few samples say of it is little.
 */
static void add(struct sum *sum, void *p)
{
	sum->sum += weight(p);
	sum->variance += weight_at(load_relaxed(&control.sample_mean)) - 1;
	give(p);
}

static bool is_right(const struct sum *sum, double truth)
{
	return fabs(sum->sum - truth) < SIGMAS * sqrt(sum->variance);
}

/* Sites in a fixed order, by every way to allocate: each is met as often as it allocates. */
static void samples(void *arg)
{
	struct sum seldom = { 0, 0 }, often = { 0, 0 }, zeroed = { 0, 0 }, aligned = { 0, 0 };
	uint64_t before = load_relaxed(&control.sampled);

	(void)arg;
	begin(8, CONTROL_SAMPLING_FOREVER);
	for (int i = 0; i < ROUNDS; i++) {
		if (i % 16 == 0)
			add(&seldom, alloc(SIZE));
		give(alloc(100)); /* of a cache that nobody samples */
		add(&often, alloc(SIZE));
		add(&zeroed, alloc_zero(SIZE / 8, 8));
		if (i % 4 == 0)
			add(&aligned, alloc_aligned(64, SIZE));
	}
	CHILD_CHECK(open_limit == 0 || malloc_hot.size_limit == CONTROL_SAMPLING);
	CHILD_CHECK(control.sampled > before);
	CHILD_CHECK(is_right(&seldom, ROUNDS / 16));
	CHILD_CHECK(is_right(&often, ROUNDS));
	CHILD_CHECK(is_right(&zeroed, ROUNDS));
	CHILD_CHECK(is_right(&aligned, ROUNDS / 4));
	/* a tool ends it */
	store_relaxed(&control.sample_mean, 0);
	store_relaxed(&malloc_hot.size_limit, 0);
	give(alloc(100));
	CHILD_CHECK(malloc_hot.size_limit == open_limit);
	for (int i = 0; i < 10000; i++) {
		void *p = alloc(SIZE);

		CHILD_CHECK(weight(p) == 0);
		give(p);
	}
}

static void test_weights(void **state)
{
	struct child child;

	(void)state;
	child = child_run(samples, NULL);
	assert_true(child_passed(&child));
}

/* The smallest mean takes nearly all: the process raises it, or a program would stand still. */
static void too_many(void *arg)
{
	(void)arg;
	begin(CONTROL_SAMPLING_MIN, CONTROL_SAMPLING_FOREVER);
	for (int i = 0; i < 1000000 && control.sample_mean == CONTROL_SAMPLING_MIN; i++)
		give(alloc(SIZE));
	for (int i = 0; i < 1000000 && control.sample_mean < CONTROL_SAMPLING_MIN + 4; i++)
		give(alloc(SIZE));
	CHILD_CHECK(control.sample_mean > CONTROL_SAMPLING_MIN);
}

static void test_too_many(void **state)
{
	struct child child;

	(void)state;
	child = child_run(too_many, NULL);
	assert_true(child_passed(&child));
}

/* The tool died, or wrote nonsense: nothing is sampled, and the hit path is open again. */
static void lease(void *arg)
{
	static const uint32_t means[] = { 10, CONTROL_SAMPLING_MAX + 1, UINT32_MAX };

	(void)arg;
	for (size_t i = 0; i < ARRAY_SIZE(means); i++) {
		begin(means[i], i ? CONTROL_SAMPLING_FOREVER : 1);
		for (int k = 0; k < 10000; k++) {
			void *p = alloc(SIZE);

			CHILD_CHECK(weight(p) == 0);
			give(p);
		}
		CHILD_CHECK(control.sample_mean == 0);
		CHILD_CHECK(malloc_hot.size_limit == open_limit);
	}
}

static void test_lease(void **state)
{
	struct child child;

	(void)state;
	child = child_run(lease, NULL);
	assert_true(child_passed(&child));
}

static void *work(void *arg)
{
	struct sum *sum = arg;

	for (int i = 0; i < ROUNDS; i++)
		add(sum, alloc(SIZE));
	return NULL;
}

static void threads(void *arg)
{
	struct sum sum[4] = { { 0, 0 } };
	pthread_t thread[4];

	(void)arg;
	begin(10, CONTROL_SAMPLING_FOREVER);
	for (int i = 0; i < 4; i++)
		CHILD_CHECK(pthread_create(&thread[i], NULL, work, &sum[i]) == 0);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 4; i++)
		CHILD_CHECK(is_right(&sum[i], ROUNDS));
}

static void test_threads(void **state)
{
	struct child child;

	(void)state;
	child = child_run(threads, NULL);
	assert_true(child_passed(&child));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_lease),
		cmocka_unit_test(test_threads),
	};

	if (malloc_is_replaced())
		return TEST_SKIPPED;
	malloc_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
