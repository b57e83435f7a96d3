/* SPDX-License-Identifier: MIT */
/*
 * race/limit_test.c - two nodes take memory at the same moment, and there is room for one
 *
 * ctest: timeout=200
 *
 * page/limit.c is compiled into this program, with a delay before and behind its fence. In each
 * round two threads count what they take in zones of their own, ask, and take it back if they may
 * not. Never may both. Those that ask before they count, as the contract forbids, must be found
 * out: now and then both ask at the same moment.
 */
#include "base/atomic.h"
#include "random_delay.h"

static void delay(void);

#undef fence_seq_cst
#define fence_seq_cst()                                  \
	do {                                             \
		delay();                                 \
		__atomic_thread_fence(__ATOMIC_SEQ_CST); \
		delay();                                 \
	} while (0)
#include "page/limit.c"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#include "meet.h"

#define THREADS 2u
#define EACH 8ul
#define ROUNDS 30000u
#define FEW_ROUNDS 200u /* however long they take */
#define SECONDS 20	/* for the others: each meeting may take a time slice */
#define TOGETHER 16u	/* in one in so many rounds what is broken asks at the same moment */

static bool broken;
static unsigned int stop;	/* atomic */
static unsigned int round_nr;	/* written while the other thread waits */
static unsigned long admitted;	/* in this round; atomic */
static unsigned long most_seen; /* admitted in a round */
static __thread unsigned int seed;

static void delay(void)
{
	random_delay(&seed, 64, 200);
}

static void hold(unsigned int node, unsigned long pages)
{
	store_relaxed(&buddy_zones[node].held, buddy_zones[node].held + pages);
}

/* As zone_admit_locked(); that lock is one that no other thread wants. */
static bool take(unsigned int node)
{
	if (broken) { /* asks first */
		bool has_room = !limit_is_near(EACH);

		if (round_nr % TOGETHER)
			delay();
		else
			meet();
		if (has_room)
			hold(node, EACH);
		return has_room;
	}
	hold(node, EACH);
	if (limit_admits())
		return true;
	hold(node, -EACH);
	return false;
}

/* Was it admitted? Both threads go from step to step together. */
static void one_round(unsigned int node)
{
	bool mine = take(node);

	if (mine)
		fetch_add(&admitted, 1);
	meet();
	if (mine)
		hold(node, -EACH);
	if (!node) {
		unsigned long n = xchg(&admitted, 0);

		most_seen = MAX(most_seen, n);
	}
	meet();
}

static void *work(void *arg)
{
	seed = 2;
	for (;;) {
		meet();
		if (load_relaxed(&stop))
			return arg;
		one_round(1);
	}
}

static bool goes_on(unsigned int rounds, time_t begun)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return rounds < FEW_ROUNDS || (rounds < ROUNDS && now.tv_sec - begun < SECONDS);
}

/* The most that were admitted in a round; ends with the first one of more. */
static unsigned long run(void)
{
	struct timespec begun;
	pthread_t thread;

	clock_gettime(CLOCK_MONOTONIC, &begun);
	stop = 0;
	most_seen = 0;
	seed = 1;
	assert_int_equal(pthread_create(&thread, NULL, work, NULL), 0);
	for (unsigned int i = 0; most_seen < 2 && goes_on(i, begun.tv_sec); i++) {
		round_nr = i;
		meet();
		one_round(0);
	}
	store_relaxed(&stop, 1);
	meet();
	pthread_join(thread, NULL);
	assert_int_equal(limit_held(), 0);
	return most_seen;
}

static void test_one_at_a_time(void **state)
{
	(void)state;
	assert_int_equal(run(), 1);
	assert_true(limit_counters.refused > 0 && limit_counters.peak <= EACH + EACH / 2);
}

static void test_is_found_out(void **state)
{
	(void)state;
	broken = true;
	assert_int_equal(run(), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_at_a_time),
		cmocka_unit_test(test_is_found_out),
	};

	buddy_nr_nodes = THREADS;
	limit_set((EACH + EACH / 2) << PAGE_SHIFT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
