/* SPDX-License-Identifier: MIT */
/*
 * race/refault_rate_test.c - several zones look at the refault rate of the process at the same time
 *
 * ctest: timeout=200
 *
 * page/refault_rate.c is compiled into this program, and what the process has used is asked of the
 * test, in the middle of a look: it waits there. Each thread has a zone and a clock of its own.
 * Never may two look at once, and what may stay is bounded by the peak. Zones that find the lock
 * open while another one looks must be found out.
 */
#include "page/refault_rate.c"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "child.h"
#include "random_delay.h"

#define THREADS 4u
#define LOOKS 3000u
#define CALLS 3000000u /* of a thread, for as many looks, however seldom it runs */
#define PEAK 30000ul   /* pages, and more with each zone */
#define TRIES 5u       /* until two zones that are not kept apart met */

static bool broken;
static unsigned int time_now;  /* as a zone's clock; atomic */
static unsigned int inside;    /* who look; atomic */
static unsigned int most_seen; /* at once; atomic */
static unsigned int nr_looks;  /* atomic */
static unsigned int too_much;  /* what may stay was above its bound; atomic */
static __thread unsigned int seed;

static void delay(void)
{
	random_delay(&seed, 16, 200);
}

/* Most of the time is the system's, and refaults take all of that. */
bool os_usage(struct os_usage *usage)
{
	unsigned int n = fetch_add(&inside, 1) + 1;
	unsigned int looks = fetch_add(&nr_looks, 1) + 1;

	if (n > load_relaxed(&most_seen))
		store_relaxed(&most_seen, n);
	if (broken)
		store_release(&looking, false);
	delay();
	*usage = (struct os_usage){ .cpu_us = looks * 8000ul,
				    .system_us = looks * 7000ul,
				    .faults = looks * 3000ul };
	fetch_add(&inside, -1u);
	return true;
}

static void look_once(struct buddy_zone *zone)
{
	/* clocks of zones are apart by some units */
	uint32_t now = load_relaxed(&time_now) + (uint32_t)rand_r(&seed) % 4;

	fetch_add(&refaults_now, 3000ul);
	zone_look_at_rate(zone->stats.nr_peak, now);
	fetch_add(&time_now, 3);
	if (zone_extra(zone) > zone->stats.nr_peak / EXTRA_SMALL)
		store_relaxed(&too_much, 1);
}

static void *work(void *arg)
{
	struct buddy_zone *zone = arg;

	seed = (unsigned int)zone->stats.nr_peak;
	for (unsigned int i = 0; i < CALLS && load_relaxed(&nr_looks) < LOOKS; i++) {
		look_once(zone);
		delay();
	}
	return arg;
}

static void run(void *arg)
{
	static struct buddy_zone zones[THREADS];
	pthread_t threads[THREADS];

	(void)arg;
	for (unsigned int i = 0; i < THREADS; i++) {
		zones[i].stats.nr_peak = PEAK + i;
		CHILD_CHECK(!pthread_create(&threads[i], NULL, work, &zones[i]));
	}
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHILD_CHECK(nr_looks >= LOOKS);
	CHILD_CHECK(most_seen == 1);
	CHILD_CHECK(!too_much && load_relaxed(&extra) > 0 && !looking);
}

static void break_and_run(void *arg)
{
	broken = true;
	run(arg);
}

static void test_one_zone_looks_at_a_time(void **state)
{
	struct child c = child_run(run, NULL);

	(void)state;
	assert_true(child_passed(&c));
}

/* On a machine that others use two may seldom meet. */
static void test_two_at_once_are_seen(void **state)
{
	bool seen = false;

	(void)state;
	for (unsigned int i = 0; i < TRIES && !seen; i++)
		seen = child_run_broken(break_and_run, NULL).status != 0;
	assert_true(seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_zone_looks_at_a_time),
		cmocka_unit_test(test_two_at_once_are_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
