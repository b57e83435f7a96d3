/* SPDX-License-Identifier: MIT */
/*
 * race/pcp_runs_test.c - page runs that CPUs keep, with delays before and behind each exchange of a
 * slot's word
 *
 * page/pcp_runs.c is compiled into this program with its exchanges wrapped. Threads go from CPU to
 * CPU, take page runs, write to their ends, and free them, while another one empties the slots.
 * Nobody may get what another one has, and nothing may be lost. With the rule broken that who takes
 * a page run out, or puts it in, does so by one exchange, it must fail.
 */
#include <stdlib.h>

#include "base/atomic.h"
#include "random_delay.h"

enum {
	TAKE_TORN = 1, /* a word is looked at, and 0 stored later */
	FILL_TORN = 2, /* likewise an empty slot, and a word */
	SWAP_TORN = 4, /* what is exchanged is loaded, and replaced later */
};

static int broken;
static __thread unsigned int seed;

static void be_late(void)
{
	random_delay(&seed, 16, 64);
}

#undef cmpxchg
#define cmpxchg(p, expect, v)                                                                   \
	({                                                                                      \
		__typeof__(*(p)) late_expect = (expect);                                        \
		bool late_done;                                                                 \
		be_late();                                                                      \
		if (broken & (late_expect ? TAKE_TORN : FILL_TORN)) {                           \
			late_done = load_relaxed(p) == late_expect;                             \
			be_late();                                                              \
			if (late_done)                                                          \
				store_relaxed((p), (v));                                        \
		} else {                                                                        \
			late_done = __atomic_compare_exchange_n(                                \
				(p), &late_expect, (v), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE); \
		}                                                                               \
		be_late();                                                                      \
		late_done;                                                                      \
	})
#undef xchg
#define xchg(p, v)                                                                  \
	({                                                                          \
		__typeof__(*(p)) late_old;                                          \
		be_late();                                                          \
		if (broken & SWAP_TORN) {                                           \
			late_old = load_relaxed(p);                                 \
			be_late();                                                  \
			store_relaxed((p), (v));                                    \
		} else {                                                            \
			late_old = __atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL); \
		}                                                                   \
		be_late();                                                          \
		late_old;                                                           \
	})
#include "page/pcp_runs.c"

#include <pthread.h>

#include "unit/page/fixture.h"

#define THREADS 4
#define HELD 4
#define LENGTHS 3ul /* of page runs, pages from here on: */
#define SHORTEST 9ul
#define STEPS 200000u

static unsigned int running; /* threads; atomic */

struct held {
	char *start; /* NULL: none */
	size_t size;
	uint64_t mark;
};

static uint64_t *first_word(const struct held *h)
{
	return (uint64_t *)(void *)h->start;
}

static uint64_t *last_word(const struct held *h)
{
	return (uint64_t *)(void *)(h->start + h->size) - 1;
}

static void get_run(struct held *h, uint64_t mark)
{
	h->size = (SHORTEST + (unsigned int)rand_r(&seed) % LENGTHS) * PAGE_SIZE;
	h->start = run_alloc(h->size, 0, -1, NULL);
	CHILD_CHECK(h->start && run_size(h->start) == h->size);
	h->mark = mark;
	*first_word(h) = *last_word(h) = mark;
}

/* Somebody else who got it as well has written another mark. */
static void free_held(struct held *h)
{
	CHILD_CHECK(*first_word(h) == h->mark && *last_word(h) == h->mark);
	CHILD_CHECK(run_free(h->start));
	h->start = NULL;
}

static void *work(void *arg)
{
	const uint64_t number = (uintptr_t)arg;
	struct held held[HELD] = { { NULL, 0, 0 } };

	seed = (unsigned int)number;
	for (unsigned int i = 0; i < STEPS; i++) {
		struct held *h = &held[(unsigned int)rand_r(&seed) % HELD];

		os_act_as_cpu((unsigned int)rand_r(&seed) & 1);
		if (h->start)
			free_held(h);
		else
			get_run(h, number << 32 | i);
	}
	for (unsigned int i = 0; i < HELD; i++)
		if (held[i].start)
			free_held(&held[i]);
	fetch_sub(&running, 1);
	return NULL;
}

struct rules {
	int broken;
	size_t limit; /* of purges; SIZE_MAX: as programs have it */
};

/* What threads have miscounted is right again soon after. */
static void check_room(void)
{
	for (unsigned int cpu = 0; cpu < 2; cpu++) {
		os_act_as_cpu(cpu);
		for (unsigned int i = 0; i < 2 * CLOCK_EVERY; i++)
			CHILD_CHECK(run_free(run_alloc(SHORTEST * PAGE_SIZE, 0, -1, NULL)));
	}
	CHILD_CHECK(pcp_runs_stats(0).pages <= 2 * PCP_RUNS_ROOM);
}

static void run(void *arg)
{
	const struct rules *rules = arg;
	struct run_stats stats;
	pthread_t thread[THREADS];

	alarm(250); /* with a rule broken it may also run in circles */
	CHILD_CHECK(os_topology_set(2, 1) == 0);
	CHILD_CHECK(arena_init(os_topology.nr_windows) == 0);
	buddy_init(1);
	buddy_set_purge(rules->limit, 1u << 30);
	broken = rules->broken;
	running = THREADS;
	for (uintptr_t i = 0; i < THREADS; i++)
		CHILD_CHECK(!pthread_create(&thread[i], NULL, work, (void *)(i + 1)));
	while (load_relaxed(&running)) {
		usleep(500);
		pcp_runs_drain();
	}
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	CHILD_CHECK(all_runs[0].puts + all_runs[1].puts > STEPS); /* most were kept */
	run_stats(&stats);
	CHILD_CHECK(stats.count == 0 && stats.bytes == 0);
	if (rules->limit == SIZE_MAX)
		check_room();
	pcp_runs_drain();
	CHILD_CHECK(run_counters.count == 0 && pcp_runs_stats(0).count == 0);
	CHILD_CHECK(buddy_zones[0].stats.nr_free == buddy_zones[0].stats.nr_total);
	run_check();
	buddy_check();
}

static void test_each_has_its_own(void **state)
{
	struct rules rules = { 0, SIZE_MAX >> 1 };
	struct child c = child_run(run, &rules);

	(void)state;
	assert_true(child_passed(&c));
}

/* The same where there is little room, which is counted by hints. */
static void test_little_room(void **state)
{
	struct rules rules = { 0, SIZE_MAX };
	struct child c = child_run(run, &rules);

	(void)state;
	assert_true(child_passed(&c));
}

static void is_seen(int what)
{
	struct rules rules = { what, SIZE_MAX >> 1 };
	struct child c = child_run_broken(run, &rules);

	assert_int_not_equal(c.status, 0);
}

static void test_a_torn_take_is_seen(void **state)
{
	(void)state;
	is_seen(TAKE_TORN);
}

static void test_a_torn_fill_is_seen(void **state)
{
	(void)state;
	is_seen(FILL_TORN);
}

static void test_a_torn_swap_is_seen(void **state)
{
	(void)state;
	is_seen(SWAP_TORN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_has_its_own),
		cmocka_unit_test(test_little_room),
		cmocka_unit_test(test_a_torn_take_is_seen),
		cmocka_unit_test(test_a_torn_fill_is_seen),
		cmocka_unit_test(test_a_torn_swap_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
