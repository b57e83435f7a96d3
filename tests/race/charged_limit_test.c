/* SPDX-License-Identifier: MIT */
/*
 * race/charged_limit_test.c - a limit that is lowered while a miss has a charged array in its hands
 *
 * A miss, of an allocation or of a free, stops at one of two places: before it looks for the last
 * time whether the group is over its limit, and after that, with its CPU's lock held. There the
 * limit is lowered to less than the usage. When both are done the CPU may have no charged array,
 * and nothing may be allocated any more. Without that look, and without the wait for whoever has
 * looked, an array is there.
 */
#include "base/atomic.h"
#include "cache/group/group.h"
#include "front/array_charged.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "cache/cache.h"
#include "child.h"
#include "front/percpu.h"
#include "os/cpu/rseq.h"

#define SIZE 192u
#define NR 200u
#define LONGEST_MS 500u /* that a miss waits with the lock held, for which the other one waits */

enum {
	OF_FREE = 1,	 /* the miss is a free's */
	AFTER_LOOK = 2,	 /* it stops there */
	BROKEN_LOOK = 4, /* the miss does not look */
	BROKEN_WAIT = 8, /* the other one does not wait */
	KEYED = 16,	 /* objects have keys */
};

static int how;
static __thread unsigned int numbers; /* of CPUs that a miss asks for, until it stops */
static __thread bool stops_late, stopped;
static bool waits, goes, is_lowered; /* atomic */

static void wait_for_go(unsigned int ms)
{
	stopped = true;
	store_release(&waits, true); /* pairs with lower_beside() */
	for (unsigned int i = 0; !load_acquire(&goes) && (!ms || i < ms); i++) /* likewise */
		usleep(1000);
}

/* A miss asks when it takes the array, and when it puts it back. */
static int cpu_of_miss(void)
{
	if (numbers && !--numbers)
		wait_for_go(0);
	return percpu_cpu();
}

static bool install_late(struct front *f, int cpu, uintptr_t top, uint64_t owner)
{
	if (stops_late) {
		stops_late = false;
		wait_for_go(LONGEST_MS);
	}
	return array_charged_install(f, cpu, top, owner);
}

static bool is_over(const struct group *g)
{
	return group_is_over(g) && !(how & BROKEN_LOOK && stopped);
}

#define percpu_cpu cpu_of_miss
#define array_charged_install install_late
#define group_is_over is_over
#define group_arrays_wait wait_really
cold void wait_really(void);
#include "cache/group/array.c"
#undef percpu_cpu
#undef array_charged_install
#undef group_is_over
#undef group_arrays_wait

void group_arrays_wait(void)
{
	if (!(how & BROKEN_WAIT))
		wait_really();
}

static struct uslab_group *handle;
static struct cache *cache;
static void *held[NR];
static unsigned int nr_held;

static uintptr_t array_here(void)
{
	uintptr_t top = load_relaxed(percpu_charged(cache->front.id, percpu_cpu()));

	return top && !front_is_stopped(top) ? top : 0;
}

static void *take_one(void)
{
	return cache_alloc(cache, GFP_KERNEL | __GFP_NOWARN, NUMA_NO_NODE);
}

static void stay_here(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(percpu_cpu(), &set);
	CHILD_CHECK(!sched_setaffinity(0, sizeof(set), &set));
}

/* Until the next call misses. */
static void use_array(void)
{
	while (nr_held < NR / 2)
		CHILD_CHECK((held[nr_held++] = take_one()));
	CHILD_CHECK(array_here());
	while (how & OF_FREE ? sheaf_room(array_here()) : sheaf_count(array_here())) {
		if (how & OF_FREE)
			cache_free(cache, held[--nr_held]);
		else
			CHILD_CHECK((held[nr_held++] = take_one()));
	}
	CHILD_CHECK(nr_held && nr_held < NR);
}

static void *miss_late(void *arg)
{
	stay_here();
	group_enter(handle);
	use_array();
	if (how & AFTER_LOOK)
		stops_late = true;
	else
		numbers = 2;
	if (how & OF_FREE)
		cache_free(cache, held[--nr_held]);
	else
		CHILD_CHECK((held[nr_held++] = take_one()));
	CHILD_CHECK(stopped);
	while (!load_acquire(&is_lowered)) /* pairs with lower_beside() */
		sched_yield();
	CHILD_CHECK(!array_here());
	cache_free(cache, held[--nr_held]);
	CHILD_CHECK(!take_one());
	while (nr_held)
		cache_free(cache, held[--nr_held]);
	group_enter(NULL);
	return arg;
}

static size_t usage(void)
{
	struct uslab_group_statistics stat;

	CHILD_CHECK(group_stat(handle, &stat) == 0);
	return stat.usage;
}

static void lower_beside(void *arg)
{
	const struct cache_spec spec = { .name = "race",
					 .size = *(int *)arg & KEYED ? SIZE - 8 : SIZE,
					 .flags = *(int *)arg & KEYED ? USLAB_ACCOUNT_INLINE
								      : SLAB_ACCOUNT,
					 .front = &front_array_ops,
					 .no_merge = true };
	struct kmem_cache *s;
	pthread_t thread;
	int error;

	how = *(int *)arg;
	CHILD_CHECK(cache_init() == 0);
	handle = group_create("lowered", 0, NULL, &error);
	CHILD_CHECK(handle && !cache_create(&spec, &s));
	cache = cache_of(s);
	CHILD_CHECK(!pthread_create(&thread, NULL, miss_late, arg));
	while (!load_acquire(&waits)) /* pairs with wait_for_go() */
		sched_yield();
	CHILD_CHECK(!group_set_limit(handle, SIZE / 2));
	store_release(&goes, true);
	store_release(&is_lowered, true);
	pthread_join(thread, NULL);
	CHILD_CHECK(usage() == 0);
	group_check();
	cache_check_all();
}

/* Of misses of both kinds, with and without keys. */
static void run(int mode)
{
	if (!os_rseq_on)
		skip(); /* there are no charged arrays */
	for (int i = 0; i < 4; i++) {
		int all = mode | (i & OF_FREE) | (i & 2 ? KEYED : 0);
		bool broken = mode & (BROKEN_LOOK | BROKEN_WAIT);
		struct child c = broken ? child_run_broken(lower_beside, &all)
					: child_run(lower_beside, &all);

		printf("race: %d: status %#x, %.90s\n", all, c.status, c.text);
		assert_int_equal(child_passed(&c), !broken);
	}
}

static void test_before_look(void **state)
{
	(void)state;
	run(0);
}

static void test_after_look(void **state)
{
	(void)state;
	run(AFTER_LOOK);
}

static void test_no_look_is_seen(void **state)
{
	(void)state;
	run(BROKEN_LOOK);
}

static void test_no_wait_is_seen(void **state)
{
	(void)state;
	run(AFTER_LOOK | BROKEN_WAIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_before_look),
		cmocka_unit_test(test_after_look),
		cmocka_unit_test(test_no_look_is_seen),
		cmocka_unit_test(test_no_wait_is_seen),
	};

	os_rseq_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
