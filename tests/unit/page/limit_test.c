/* SPDX-License-Identifier: MIT */
/*
 * unit/page/limit_test.c - the limit of the process: what counts, what is given back for it, what
 * fails
 */
#include <pthread.h>
#include <sched.h>

#include "fixture.h"
#include "page/limit.h"
#include "page/page.h"

#define LIMIT (8 * MIB)

static void start(void)
{
	fresh_arena();
	limit_set(LIMIT);
}

static unsigned long held(void)
{
	unsigned long pages = limit_held();

	CHILD_CHECK(pages << PAGE_SHIFT <= LIMIT);
	return pages << PAGE_SHIFT;
}

/* Blocks of that order until there is none. */
static unsigned long take_all(unsigned int order, unsigned long *index)
{
	unsigned long n = 0;
	long at;

	while ((at = take(order)) >= 0) {
		index[n++] = (unsigned long)at;
		memset(page_address(page_at((unsigned long)at)), 1, PAGE_SIZE << order);
		page_set_block(page_at((unsigned long)at), PAGE_SLAB, 1ul << order);
		held();
	}
	return n;
}

static unsigned long index_of_all[4096];

IN_CHILD(test_pages)
{
	unsigned long n;

	start();
	n = take_all(0, index_of_all);
	CHILD_CHECK(n == LIMIT >> PAGE_SHIFT && held() == LIMIT);
	CHILD_CHECK(limit_counters.refused > 0 && limit_counters.peak == n);
	CHILD_CHECK(take(0) < 0 && take(3) < 0 && !run_alloc(100000, 0, -1, NULL));
	give(index_of_all[7], 0); /* resident, and taken again */
	CHILD_CHECK(held() == LIMIT && take(0) == (long)index_of_all[7]);
	page_set_block(page_at(index_of_all[7]), PAGE_SLAB, 1);
	buddy_check();
}

/* Free pages of the wrong size are given back to the system, so that others can be resident. */
IN_CHILD(test_purges)
{
	unsigned long n;

	start();
	n = take_all(0, index_of_all);
	for (unsigned long i = 0; i < n; i += 2)
		give(index_of_all[i], 0);
	CHILD_CHECK(held() == LIMIT);
	CHILD_CHECK(take(4) >= 0); /* of no two free pages that lie side by side */
	CHILD_CHECK(held() <= LIMIT && buddy_zones[0].stats.nr_purged >= 16);
	buddy_check();
}

/* In a step that is late (page/purge.c) there is room all the same. */
IN_CHILD(test_late)
{
	unsigned long n;
	void *p;

	start();
	n = take_all(0, index_of_all);
	for (unsigned long i = 0; i < n; i++)
		give(index_of_all[i], 0);
	CHILD_CHECK(held() > 5 * MIB);
	buddy_purge_until(1, 0);
	p = large_alloc(5 * MIB, 0, NULL);
	CHILD_CHECK(p && held() <= LIMIT);
	buddy_purge_until(0, 0);
	large_free(p);
	buddy_check();
}

/* The arena does not grow for a block that is refused. */
IN_CHILD(test_does_not_grow)
{
	unsigned long grown;

	start();
	take_all(0, index_of_all);
	grown = page_map.nr_pages;
	for (unsigned int i = 0; i < 100; i++)
		CHILD_CHECK(take(2) < 0);
	CHILD_CHECK(page_map.nr_pages <= grown + CHUNK);
}

IN_CHILD(test_large)
{
	void *p;
	void *q;

	start();
	CHILD_CHECK(!large_alloc(LIMIT + 1, 0, NULL) && !held());
	p = large_alloc(5 * MIB, 0, NULL);
	CHILD_CHECK(p && held() == 5 * MIB);
	CHILD_CHECK(!large_alloc(4 * MIB, 0, NULL) && held() == 5 * MIB);
	CHILD_CHECK(!large_resize(p, 9 * MIB, true) && large_size(p) == 5 * MIB);
	p = large_resize(p, 7 * MIB, true);
	CHILD_CHECK(p && held() == 7 * MIB);
	p = large_resize(p, 3 * MIB, true);
	CHILD_CHECK(p && held() == 3 * MIB);
	CHILD_CHECK(large_free(p) && held() <= 3 * MIB); /* kept, maybe */
	q = large_alloc(8 * MIB, 0, NULL);
	CHILD_CHECK(q && held() == 8 * MIB);
	CHILD_CHECK(take(0) < 0);
	CHILD_CHECK(large_discard(q) && held() == 0 && take(0) >= 0);
	large_check();
}

/* Page runs are found where pages are resident, grown in place, and cut. */
IN_CHILD(test_runs)
{
	void *p[64];
	unsigned int n = 0;

	start();
	while (n < 64 && (p[n] = run_alloc(300000, 0, -1, NULL))) {
		memset(p[n++], 1, 300000);
		held();
	}
	CHILD_CHECK(n >= LIMIT / 300000 - 2 && n < 64);
	for (unsigned int i = 0; i < n; i++)
		p[i] = run_resize(p[i], 200000, false);
	while (run_resize(p[0], run_size(p[0]) + PAGE_SIZE, false))
		held();
	for (unsigned int i = 0; i < n; i++)
		CHILD_CHECK(run_free(p[i]));
	buddy_trim(0);
	CHILD_CHECK(held() == 0);
	buddy_check();
	run_check();
}

/* Set below what is held: nothing is lost, and nothing new is had until there is less. */
IN_CHILD(test_lowered)
{
	unsigned long n;

	fresh_arena();
	limit_set(SIZE_MAX);
	for (n = 0; n < 1000; n++)
		index_of_all[n] = (unsigned long)take(0);
	limit_set(500 << PAGE_SHIFT);
	CHILD_CHECK(limit_held() == 1000 && take(0) < 0 && limit_is_near(0));
	for (n = 0; n < 501; n++)
		buddy_free(page_at(index_of_all[n]), 0, false); /* never written to */
	CHILD_CHECK(limit_held() == 499 && take(0) >= 0 && take(0) < 0);
	limit_set(SIZE_MAX);
	CHILD_CHECK(take(3) >= 0 && !limit_is_near(1ul << 40));
}

IN_CHILD(test_mark)
{
	fresh_arena();
	limit_set_mark(2);
	CHILD_CHECK(take(0) >= 0 && take(0) >= 0 && !limit_counters.due);
	CHILD_CHECK(take(0) >= 0 && limit_counters.due);
	CHILD_CHECK(lock_thread.flags & LOCK_DEFERRED);
	lock_thread.flags = 0;
	limit_set_mark(LIMIT_NONE);
	CHILD_CHECK(limit_counters.least == LIMIT_NONE);
}

/* ---- several threads, several nodes ---- */

#define THREADS 4
static unsigned int going; /* atomic */
static unsigned int done;  /* with all rounds; atomic */

static void *take_and_give(void *arg)
{
	unsigned int node = (unsigned int)(uintptr_t)arg;
	struct page *kept[64] = { NULL };
	unsigned int seed = node;

	fetch_add(&going, 1);
	while (load_relaxed(&going) < THREADS) {}
	for (unsigned int i = 0; i < rounds(20000); i++) {
		unsigned int slot = (unsigned int)rand_r(&seed) % 64;

		if (kept[slot])
			buddy_free(kept[slot], 3, false);
		kept[slot] = buddy_alloc((int)node, 3, true, NULL);
		if (kept[slot])
			page_set_block(kept[slot], PAGE_SLAB, 8);
	}
	fetch_add(&done, 1); /* all have what they could get */
	while (load_relaxed(&done) < THREADS)
		sched_yield();
	for (unsigned int i = 0; i < 64; i++)
		if (kept[i])
			buddy_free(kept[i], 3, false);
	return NULL;
}

IN_CHILD(test_nodes)
{
	pthread_t thread[THREADS];
	const unsigned long most = 100 * 8; /* of THREADS * 64 * 8 that are wanted */

	os_cpu_init();
	CHILD_CHECK(os_topology_set(4, THREADS) == 0);
	CHILD_CHECK(arena_init(os_topology.nr_cpu_ids) == 0 && buddy_init(THREADS));
	limit_set(most << PAGE_SHIFT);
	for (uintptr_t i = 0; i < THREADS; i++)
		CHILD_CHECK(!pthread_create(&thread[i], NULL, take_and_give, (void *)i));
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	CHILD_CHECK(limit_counters.peak <= most);
	CHILD_CHECK(limit_counters.refused);
	CHILD_CHECK(!limit_held());
	buddy_check();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_late),	cmocka_unit_test(test_pages),
		cmocka_unit_test(test_purges),	cmocka_unit_test(test_does_not_grow),
		cmocka_unit_test(test_large),	cmocka_unit_test(test_runs),
		cmocka_unit_test(test_lowered), cmocka_unit_test(test_mark),
		cmocka_unit_test(test_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
