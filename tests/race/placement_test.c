/* SPDX-License-Identifier: MIT */
/*
 * race/placement_test.c - a cache is bound while others make slabs of it
 *
 * ctest: timeout=200 serial
 *
 * engine/placement.c is compiled into this program, with a delay before and behind each fence of
 * its contract. Threads allocate and free; one binds the cache to changing nodes. While it is bound
 * no object that is allocated may lie elsewhere, nor, once the calls that had begun are over, any
 * slab. Without the look behind the maker's fence the same rounds must find one.
 */
#include <sched.h>

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
#define placement_keeps keeps_really
#include "engine/placement.c"
#undef placement_keeps

#include <pthread.h>

#include "unit/cache/cache_fixture.h"

#define THREADS 3u
#define NODES 4u
#define SIZE 1500u
#define ROUNDS 400u
#define MOST_ROUNDS 200000u /* until what is broken is seen */

static struct cache *cache;
static bool broken;
static unsigned int stop;	     /* atomic */
static unsigned int found;	     /* an object lay elsewhere; atomic */
static unsigned long bound_to;	     /* nodes; 0: nobody knows. Atomic */
static unsigned long turns[THREADS]; /* of each thread; atomic */
static __thread unsigned int seed;

static void delay(void)
{
	random_delay(&seed, 4, 400);
}

bool placement_keeps(const struct engine *e, const struct page *slab);
bool placement_keeps(const struct engine *e, const struct page *slab)
{
	bool keeps = keeps_really(e, slab);

	return broken || keeps;
}

/* Allocates and frees everywhere; each slab has few objects, so that many are made. */
static void *work(void *arg)
{
	unsigned int me = *(unsigned int *)arg;
	void *objs[24];

	seed = me + 1;
	while (!load_relaxed(&stop)) {
		unsigned int n = 1 + (unsigned int)rand_r(&seed) % 24;

		os_act_as_cpu((unsigned int)rand_r(&seed) % (2 * NODES));
		for (unsigned int i = 0; i < n; i++) {
			unsigned long before = load_acquire(&bound_to);

			objs[i] = get(cache);
			store_relaxed(&turns[me], turns[me] + 1);
			CHILD_CHECK(objs[i]);
			/* it was bound all the while: who unbinds it clears this first */
			if (before && before == load_acquire(&bound_to) &&
			    !(before >> page_head_of(objs[i])->node & 1))
				store_relaxed(&found, 1);
		}
		for (unsigned int i = 0; i < n; i++)
			cache_free(cache, objs[i]);
	}
	return NULL;
}

static bool has_stray(unsigned long mask)
{
	for (unsigned long i = 0; i < load_relaxed(&page_map.nr_pages); i++) {
		const struct page *page = page_at(i);

		if (load_relaxed(&page->type) == PAGE_SLAB &&
		    load_relaxed(&page->engine) == &cache->engine &&
		    !(mask >> load_relaxed(&page->node) & 1))
			return true;
	}
	return false;
}

static int set(int mode, unsigned long mask)
{
	struct os_policy policy;

	CHILD_CHECK(os_policy_make(&policy, mode, &mask, 64) == 0);
	return cache_set_policy(cache, &policy);
}

/* Calls that have begun are over. */
static void wait_for_all(void)
{
	unsigned long before[THREADS];

	for (unsigned int i = 0; i < THREADS; i++)
		before[i] = load_relaxed(&turns[i]);
	for (unsigned int i = 0; i < THREADS; i++)
		while (load_relaxed(&turns[i]) - before[i] < 2)
			sched_yield();
}

/* For a while, if that is possible. */
static void bind_to(unsigned long mask)
{
	if (set(OS_POLICY_BIND, mask))
		return;
	store_release(&bound_to, mask);
	wait_for_all();
	if (has_stray(mask))
		store_relaxed(&found, 1);
	store_release(&bound_to, 0ul);
	CHILD_CHECK(set(OS_POLICY_INTERLEAVE, 0xf) == 0);
}

static void run(const struct front_ops *front)
{
	unsigned int seeds[THREADS];
	pthread_t threads[THREADS];
	unsigned int rounds = broken ? MOST_ROUNDS : ROUNDS;

	CHILD_CHECK(os_topology_set(2 * NODES, NODES) == 0);
	ready();
	cache = made(&(struct cache_spec){
		.name = "race", .size = SIZE, .front = front, .no_merge = true });
	seed = 99;
	CHILD_CHECK(set(OS_POLICY_INTERLEAVE, 0xf) == 0);
	for (unsigned int i = 0; i < THREADS; i++) {
		seeds[i] = i;
		CHILD_CHECK(!pthread_create(&threads[i], NULL, work, &seeds[i]));
	}
	for (unsigned int i = 0; i < rounds && !load_relaxed(&found); i++)
		bind_to(1ul << i % NODES | 1ul << (i + 1 + i / 8 % 2) % NODES);
	store_relaxed(&stop, 1);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHILD_CHECK(found == broken);
	cache_check_all();
	CHILD_CHECK(set(OS_POLICY_BIND, 2) == 0);
	CHILD_CHECK(!has_stray(2));
}

IN_CHILD(test_none)
{
	run(&front_none_ops);
}

IN_CHILD(test_array)
{
	run(&front_array_ops);
}

IN_CHILD(test_queues)
{
	run(&front_queues_ops);
}

/* What is tested here is needed. */
IN_CHILD(test_broken)
{
	broken = true;
	run(&front_none_ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_array),
		cmocka_unit_test(test_queues),
		cmocka_unit_test(test_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
