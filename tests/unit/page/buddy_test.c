/* SPDX-License-Identifier: MIT */
/*
 * unit/page/buddy_test.c - the kernel's placement (spec 0.3), merging, nodes, fork
 *
 * Expected page numbers are written out from the rules, for an arena that starts empty.
 */
#include "churn.h"
#include "page/zone.h"

/* ---- placement ------------------------------------------------------------------------------- */

IN_CHILD(a_fresh_block_is_consumed_upwards)
{
	unsigned long i;

	fresh_arena();
	for (i = 0; i < 2 * CHUNK; i++)
		CHILD_CHECK(take(0) == (long)i);
	buddy_check();
}

IN_CHILD(a_split_keeps_the_lower_half)
{
	unsigned int order;

	fresh_arena();
	CHILD_CHECK(take(0) == 0);
	for (order = 0; order < BUDDY_MAX_ORDER; order++) {
		struct list_head *list = &buddy_zones[0].free[order][BUDDY_CLEAN];

		CHILD_CHECK(index_of(list_first(list, struct page, lru)) == 1ul << order);
		CHILD_CHECK(list->next == list->prev);
	}
	CHILD_CHECK(list_empty(&buddy_zones[0].free[BUDDY_MAX_ORDER][BUDDY_CLEAN]));
	/* Orders mixed: each from the smallest block that fits. */
	CHILD_CHECK(take(1) == 2 && take(0) == 1 && take(3) == 8 && take(2) == 4);
	CHILD_CHECK(take(0) == 16 && take(5) == 32 && take(0) == 17 && take(9) == 512);
	buddy_check();
}

IN_CHILD(a_block_freed_is_the_next_one_taken)
{
	unsigned long i;

	fresh_arena();
	for (i = 0; i < 16; i++)
		take(0);
	give(3, 0);
	give(9, 0);
	give(5, 0);
	CHILD_CHECK(take(0) == 5 && take(0) == 9 && take(0) == 3 && take(0) == 16);
	buddy_check();
}

IN_CHILD(upper_halves_go_to_the_head)
{
	fresh_arena();
	CHILD_CHECK(take(3) == 0 && take(3) == 8 && take(3) == 16);
	give(0, 3);
	give(16, 3);
	/*
	 * 16 has merged with 24..31, so only 0 is of order 3; its halves come before older blocks.
	 */
	CHILD_CHECK(take(2) == 0 && take(2) == 4);
	CHILD_CHECK(take(2) == 16 && take(1) == 20 && take(1) == 22 && take(3) == 24);
	buddy_check();
}

/* Tail rule: its next-higher buddy is free, so it is kept back for the merge to come. */
IN_CHILD(a_likely_merge_goes_to_the_tail)
{
	unsigned int i;

	fresh_arena();
	for (i = 0; i < 8; i++)
		take(0);
	give(6, 0);
	give(2, 0);
	give(3, 0); /* merges to 2..3, the next-higher buddy of 0 */
	give(0, 0); /* to the tail, behind 6 */
	CHILD_CHECK(take(0) == 6);
	CHILD_CHECK(take(0) == 0);
	buddy_check();
}

IN_CHILD(an_unlikely_merge_goes_to_the_head)
{
	unsigned int i;

	fresh_arena();
	for (i = 0; i < 8; i++)
		take(0);
	give(6, 0);
	give(2, 0); /* 3 stays in use: 2..3 is not free as a whole */
	give(0, 0);
	CHILD_CHECK(take(0) == 0 && take(0) == 2 && take(0) == 6);
	buddy_check();
}

/* Frees halves at index a, then b, whose next-higher buddy is free; which one is taken next? */
static long next_after_likely(unsigned int order)
{
	unsigned long size = 1ul << order;
	unsigned int i;

	for (i = 0; i < 8; i++)
		CHILD_CHECK(take(order) == (long)(i * size));
	give(6 * size, order);
	give(2 * size, order);
	give(3 * size, order);
	give(0, order);
	return take(order);
}

IN_CHILD(the_tail_rule_holds_up_to_order_8)
{
	fresh_arena();
	CHILD_CHECK(next_after_likely(8) == 6 * 256);
}

IN_CHILD(the_tail_rule_ends_at_order_9)
{
	fresh_arena();
	CHILD_CHECK(next_after_likely(9) == 0);
}

/* The one deviation: memory that is resident already comes first within an order. */
IN_CHILD(resident_blocks_come_before_purged_ones)
{
	unsigned long i;

	fresh_arena();
	for (i = 0; i < 16; i++)
		take(0);
	give(2, 0);
	give(6, 0);
	CHILD_CHECK(buddy_trim(0) == 2 * PAGE_SIZE);
	give(10, 0);
	buddy_free(page_at(12), 0, false); /* as untouched as it came */
	buddy_check();
	CHILD_CHECK(take(0) == 10 && take(0) == 12);
	buddy_check();
}

/* ---- merging, dirty bits --------------------------------------------------------------------- */

IN_CHILD(everything_freed_is_one_block_again)
{
	static unsigned long order_of[2 * CHUNK];
	struct buddy_stats stats;
	unsigned long seed = 7;
	unsigned long i;

	fresh_arena();
	memset(order_of, 0xff, sizeof(order_of));
	for (;;) {
		unsigned int order = (seed = seed * 6364136223846793005ul + 1) >> 60;
		long index = order <= 10 ? take(order) : -1;

		if (index >= (long)(2 * CHUNK))
			break;
		if (index >= 0)
			order_of[index] = order;
	}
	buddy_check();
	for (i = 0; i < 2 * CHUNK; i++) {
		unsigned long index = (i * 1031) % (2 * CHUNK);

		if (order_of[index] <= 10)
			give(index, (unsigned int)order_of[index]);
	}
	buddy_check();
	buddy_stats(0, &stats);
	CHILD_CHECK(stats.nr_total - stats.nr_free <= CHUNK); /* the one taken beyond */
	CHILD_CHECK(page_at(0)->type == PAGE_BUDDY && page_at(0)->order == 10);
	CHILD_CHECK(page_at(CHUNK)->type == PAGE_BUDDY && page_at(CHUNK)->order == 10);
}

IN_CHILD(zeroed_is_said_exactly)
{
	struct page *page;
	bool zeroed = false;

	fresh_arena();
	page = buddy_alloc(0, 2, true, &zeroed);
	CHILD_CHECK(zeroed && page->order == 2 && page->type == PAGE_NONE);
	buddy_free(page, 2, false);
	CHILD_CHECK(buddy_alloc(0, 2, true, &zeroed) == page && zeroed);
	buddy_free(page, 2, true);
	CHILD_CHECK(buddy_alloc(0, 2, true, &zeroed) == page && !zeroed);
	/* Not written to this time, but by the owner before. */
	buddy_free(page, 2, false);
	CHILD_CHECK(buddy_alloc(0, 2, true, &zeroed) == page && !zeroed);
	/* The pages next to it were never anybody's. */
	CHILD_CHECK(buddy_alloc(0, 2, true, &zeroed) == page + 4 && zeroed);
	buddy_free(page, 2, true);
	buddy_free(page + 4, 2, false);
	CHILD_CHECK(buddy_alloc(0, 3, true, &zeroed) == page && !zeroed);
	buddy_free(page, 3, false);
	CHILD_CHECK(buddy_zones[0].stats.nr_dirty == 4);
	buddy_check();
}

/* ---- nodes, exhaustion ----------------------------------------------------------------------- */

IN_CHILD(nodes_have_pages_of_their_own)
{
	struct page *on_1;
	struct page *page;
	unsigned long count = 0;

	two_small_nodes();
	on_1 = buddy_alloc(1, 10, false, NULL);
	CHILD_CHECK(on_1 && on_1->node == 1);
	os_act_as_cpu(3);
	page = buddy_alloc(-1, 0, false, NULL);
	CHILD_CHECK(page->node == 1);
	os_act_as_cpu(0);
	while ((page = buddy_alloc(-1, 10, true, NULL))) {
		CHILD_CHECK(page->node == 0);
		count++;
	}
	CHILD_CHECK(count >= 2);
	/* Node 0 can grow no more: its callers get node 1's, unless they insist. */
	CHILD_CHECK(!buddy_alloc(0, 10, false, NULL));
	buddy_free(on_1, 10, true);
	CHILD_CHECK(!buddy_alloc(0, 10, true, NULL));
	CHILD_CHECK(buddy_alloc(0, 10, false, NULL) == on_1);
	CHILD_CHECK(!buddy_alloc(2, 0, false, NULL)); /* no such node */
	CHILD_CHECK(!buddy_alloc(0, 11, false, NULL));
	buddy_check();
}

/* ---- threads, fork --------------------------------------------------------------------------- */

static struct page *churn_alloc(unsigned int order, unsigned int random)
{
	(void)random;
	return buddy_alloc(0, order, false, NULL);
}

static void churn_free(struct page *page, unsigned int random)
{
	(void)random;
	buddy_free(page, page->order, true);
}

static const struct churn_ops churn_zone = {
	.alloc = churn_alloc,
	.free = churn_free,
	.each_lock = buddy_each_lock,
};

IN_CHILD(threads_get_different_blocks)
{
	struct buddy_stats stats;

	fresh_arena();
	churn_and_purge(&churn_zone, &stats);
	CHILD_CHECK(stats.nr_free == stats.nr_total && stats.nr_purged > 0);
}

/* No moment is seen at which a block counts twice; a thread sanitizer finds reads without lock. */
IN_CHILD(used_pages_beside_threads)
{
	fresh_arena();
	churn_start(&churn_zone, 2);
	for (unsigned int i = 0; i < rounds(20000); i++)
		CHILD_CHECK(buddy_used() <= 2 * CHURN_HELD << 3);
	churn_end();
	CHILD_CHECK(buddy_used() == 0);
}

/* In the child of a fork that came at any moment. */
static void use_after_fork(void)
{
	unsigned int i;

	CHILD_CHECK(buddy_zones[0].nr_purging == 0); /* nothing is lost that was on its way */
	buddy_check();
	for (i = 0; i < 200; i++) {
		struct page *page = buddy_alloc(0, i % 4, false, NULL);

		CHILD_CHECK(page);
		buddy_free(page, i % 4, true);
	}
	buddy_trim(0);
	buddy_check();
}

IN_CHILD(a_fork_finds_the_zone_whole)
{
	fresh_arena();
	churn_and_fork(&churn_zone, use_after_fork);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fresh_block_is_consumed_upwards),
		cmocka_unit_test(a_split_keeps_the_lower_half),
		cmocka_unit_test(a_block_freed_is_the_next_one_taken),
		cmocka_unit_test(upper_halves_go_to_the_head),
		cmocka_unit_test(a_likely_merge_goes_to_the_tail),
		cmocka_unit_test(an_unlikely_merge_goes_to_the_head),
		cmocka_unit_test(the_tail_rule_holds_up_to_order_8),
		cmocka_unit_test(the_tail_rule_ends_at_order_9),
		cmocka_unit_test(resident_blocks_come_before_purged_ones),
		cmocka_unit_test(everything_freed_is_one_block_again),
		cmocka_unit_test(zeroed_is_said_exactly),
		cmocka_unit_test(nodes_have_pages_of_their_own),
		cmocka_unit_test(threads_get_different_blocks),
		cmocka_unit_test(used_pages_beside_threads),
		cmocka_unit_test(a_fork_finds_the_zone_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
