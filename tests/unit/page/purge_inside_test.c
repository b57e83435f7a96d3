/* SPDX-License-Identifier: MIT */
/*
 * unit/page/purge_inside_test.c - descriptors inside of free blocks go back, and all goes on as
 * before; also beside threads that look at them
 */
#include <pthread.h>
#include <sys/syscall.h>

#include "base/atomic.h"
#include "chunks.h"
#include "fake_clock.h"
#include "page/zone.h"

/* Descriptors on a page of the system. */
static unsigned long per_page(void)
{
	return os_page_size() / sizeof(struct page);
}

/* Do those from `from` on hold nothing? What was given back reads as zero. */
static bool gone(unsigned long from, unsigned long to)
{
	return all_bytes((const char *)page_at(from), (to - from) * sizeof(struct page), 0);
}

static bool is_bare(unsigned long index, unsigned int order)
{
	const struct list_head *pos;

	list_for_each(pos, &buddy_zones[0].free[order][BUDDY_BARE])
		if (list_entry(pos, struct page, lru) == page_at(index))
			return true;
	return false;
}

/* One chunk of which only the first 32 pages are in use, all others were, and were purged. */
static void start(void)
{
	fresh_arena();
	if (zone_bare_order() > 7)
		child_cannot("descriptors of half a chunk are on one page here");
	fill(1);
	empty_pages(32, CHUNK);
}

IN_CHILD(all_but_the_first_page_goes)
{
	start();
	CHILD_CHECK(!gone(CHUNK / 2 + per_page(), CHUNK));
	buddy_trim(0);
	CHILD_CHECK(is_bare(CHUNK / 2, 9) && is_bare(CHUNK / 4, 8) && is_bare(CHUNK / 8, 7));
	CHILD_CHECK(gone(CHUNK / 2 + per_page(), CHUNK));
	CHILD_CHECK(gone(CHUNK / 4 + per_page(), CHUNK / 2));
	CHILD_CHECK(gone(CHUNK / 8 + per_page(), CHUNK / 4));
	CHILD_CHECK(list_empty(&buddy_zones[0].free[6][BUDDY_BARE]));
	buddy_check();
}

/* Also by the frees that purge pages, some blocks at a time. */
IN_CHILD(frees_do_it)
{
	start();
	buddy_set_purge(0, 1u << 30);
	for (unsigned int i = 0; i < 64 && !is_bare(CHUNK / 2, 9); i++) {
		long page = take(0);

		give((unsigned long)page, 0);
	}
	CHILD_CHECK(gone(CHUNK / 2 + per_page(), CHUNK));
	buddy_check();
}

/*
 * While purged pages are taken again, only four times within the delay: descriptors of blocks that
 * come and go would be written to again at once.
 */
IN_CHILD(now_and_then)
{
	const unsigned long half = 3 * CHUNK + CHUNK / 2;

	fresh_arena();
	if (zone_bare_order() > 7)
		child_cannot("descriptors of half a chunk are on one page here");
	fill(4);
	buddy_set_purge(0, 1000);
	empty_pages(half, 4 * CHUNK);
	CHILD_CHECK(is_bare(half, 9)); /* nothing was taken again so far */
	for (unsigned int i = 0; i < 64; i++) {
		CHILD_CHECK(take(9) == (long)half);
		if (i % 16 == 15)
			fake_clock_pass(260);
		give(half, 9);
		CHILD_CHECK(stats()->nr_dirty == 0 && is_bare(half, 9) == (i % 16 == 15));
	}
	CHILD_CHECK(take(9) == (long)half);
	give(half, 9);
	buddy_rebalance();
	CHILD_CHECK(!is_bare(half, 9));
	fake_clock_pass(260); /* nothing is dirty */
	buddy_rebalance();
	CHILD_CHECK(is_bare(half, 9));
	CHILD_CHECK(take(9) == (long)half);
	give(half, 9);
	buddy_purge_until(UINT64_MAX, 0); /* a step does it at once */
	buddy_rebalance();
	buddy_purge_until(0, 0);
	CHILD_CHECK(is_bare(half, 9));
	buddy_check();
}

/* Of an order, blocks with descriptors are taken first; of bare ones what is left over is bare. */
IN_CHILD(bare_ones_are_taken_last)
{
	start();
	for (unsigned long i = 32; i < 2 * CHUNK; i += 32)
		CHILD_CHECK(take(5) >= 0);
	empty_pages(32, CHUNK);
	buddy_trim(0);
	empty_pages(CHUNK + CHUNK / 2, 2 * CHUNK);
	CHILD_CHECK(is_bare(CHUNK / 2, 9));
	CHILD_CHECK(take(9) == (long)(CHUNK + CHUNK / 2));
	CHILD_CHECK(take(7) == (long)(CHUNK / 8) && take(7) == (long)(CHUNK / 4));
	CHILD_CHECK(is_bare(CHUNK / 4 + CHUNK / 8, 7));
	CHILD_CHECK(gone(CHUNK / 2 + per_page(), CHUNK));
	CHILD_CHECK(take(3) == 32);
	buddy_check();
}

/* All sizes come out of bare blocks, with zeros, and merge again to what they were. */
IN_CHILD(they_are_used_again)
{
	static const unsigned int orders[] = { 9, 8, 7, 6, 3, 0, 0, 5, 4 };
	unsigned long pages[ARRAY_SIZE(orders)];
	bool zeroed;

	start();
	for (unsigned int round = 0; round < 3; round++) {
		buddy_trim(0);
		CHILD_CHECK(is_bare(CHUNK / 2, 9));
		for (unsigned int i = 0; i < ARRAY_SIZE(orders); i++) {
			struct page *page = buddy_alloc(0, orders[i], true, &zeroed);

			CHILD_CHECK(page && zeroed && index_of(page) < 2 * CHUNK);
			pages[i] = index_of(page);
			memset(page_address(page), 1, PAGE_SIZE << orders[i]);
			buddy_check();
		}
		for (unsigned int i = ARRAY_SIZE(orders); i-- > 0;)
			give(pages[i], orders[i]);
		buddy_check();
	}
}

/* A block that gets back its neighbour is not bare: there are two first descriptors. */
IN_CHILD(what_merges_is_looked_at_again)
{
	start();
	buddy_trim(0);
	CHILD_CHECK(take(8) == (long)(CHUNK / 4));
	give(CHUNK / 4, 8);
	CHILD_CHECK(!is_bare(CHUNK / 4, 8));
	buddy_trim(0);
	CHILD_CHECK(is_bare(CHUNK / 4, 8) && is_bare(CHUNK / 2, 9));
	give(0, 5); /* the chunk is free */
	buddy_check();
	buddy_trim(0);
	CHILD_CHECK(gone(0, CHUNK));
	buddy_check();
}

/* Page runs are cut out of them, and pages are claimed in them, by address. */
IN_CHILD(ranges_of_them_are_claimed)
{
	bool zeroed;

	start();
	buddy_trim(0);
	CHILD_CHECK(buddy_claim_range(page_at(CHUNK / 2 + 100), 50, &zeroed) && zeroed);
	buddy_check();
	buddy_free_range(page_at(CHUNK / 2 + 100), 50, true);
	buddy_check();
	buddy_trim(0);
	CHILD_CHECK(is_bare(CHUNK / 2, 9));
	CHILD_CHECK(buddy_alloc_fit(300, &zeroed) && zeroed);
	buddy_check();
}

/* Pages of other nodes say whose they are. */
IN_CHILD(nodes_are_not_forgotten)
{
	struct page *first;

	fresh_arena();
	buddy_init(2);
	first = buddy_alloc(1, 0, true, NULL);
	CHILD_CHECK(first);
	buddy_trim(0);
	for (unsigned long i = 0; i < CHUNK; i++)
		CHILD_CHECK(page_at(ALIGN_DOWN(index_of(first), CHUNK) + i)->node == 1);
	buddy_check();
}

/* As where memory is locked: the block stays as it was. */
IN_CHILD(a_refusal_changes_nothing)
{
	start();
	if (syscall(SYS_mlock, page_at(CHUNK / 2 + per_page()), os_page_size()))
		child_cannot("no memory may be locked"); /* that of sanitizers does nothing */
	buddy_trim(0);
	CHILD_CHECK(!is_bare(CHUNK / 2, 9) && !gone(CHUNK / 2 + per_page(), CHUNK));
	CHILD_CHECK(buddy_zones[0].nr_purging == 0);
	buddy_check();
	CHILD_CHECK(take(9) == (long)(CHUNK / 2));
}

static int stop;

/* As a free of a wrong pointer does: whatever it sees must be possible. */
static void *look(void *arg)
{
	while (!load_relaxed(&stop))
		for (unsigned long i = 0; i < load_relaxed(&page_map.nr_pages); i += 7) {
			const struct page *page = page_at(i);
			unsigned int type = load_relaxed(&page->type);

			CHILD_CHECK(type == PAGE_NONE || type == PAGE_BUDDY);
			CHILD_CHECK(load_relaxed(&page->head) <= i);
		}
	return arg;
}

static void *use(void *arg)
{
	for (unsigned int round = 0; round < rounds(300); round++) {
		unsigned long pages[24];

		for (unsigned int i = 0; i < ARRAY_SIZE(pages); i++)
			pages[i] = (unsigned long)take(3 + (round + i) % 6);
		for (unsigned int i = 0; i < ARRAY_SIZE(pages); i++)
			give(pages[i], 3 + (round + i) % 6);
	}
	return arg;
}

IN_CHILD(beside_threads_that_use_and_look)
{
	pthread_t looks, uses[2];
	unsigned long one;

	fresh_arena();
	buddy_set_purge(0, 1u << 30);
	one = (unsigned long)take(0); /* so that its chunk stays */
	CHILD_CHECK(pthread_create(&looks, NULL, look, NULL) == 0);
	for (unsigned int i = 0; i < 2; i++)
		CHILD_CHECK(pthread_create(&uses[i], NULL, use, NULL) == 0);
	for (unsigned int i = 0; i < 2; i++)
		pthread_join(uses[i], NULL);
	store_relaxed(&stop, 1);
	pthread_join(looks, NULL);
	buddy_trim(0);
	CHILD_CHECK(buddy_zones[0].stats.nr_dirty == 0);
	buddy_check();
	give(one, 0);
	buddy_check();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_but_the_first_page_goes),
		cmocka_unit_test(frees_do_it),
		cmocka_unit_test(now_and_then),
		cmocka_unit_test(bare_ones_are_taken_last),
		cmocka_unit_test(they_are_used_again),
		cmocka_unit_test(what_merges_is_looked_at_again),
		cmocka_unit_test(ranges_of_them_are_claimed),
		cmocka_unit_test(nodes_are_not_forgotten),
		cmocka_unit_test(a_refusal_changes_nothing),
		cmocka_unit_test(beside_threads_that_use_and_look),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
