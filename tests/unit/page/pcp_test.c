/* SPDX-License-Identifier: MIT */
/*
 * unit/page/pcp_test.c - per-CPU lists of pages: which page comes next (spec 0.3),
 * counts, CPUs, nodes, fork
 *
 * Expected page numbers are written out from the rules, for an arena that starts empty.
 */
#include "churn.h"
#include "manual_rcu.h"
#include "page/pcp.h"

#define UNMOVABLE PCP_UNMOVABLE
#define RECLAIMABLE PCP_RECLAIMABLE

/* A made-up machine whose CPUs have lists; the test acts as CPU 0. */
static void fresh_lists(unsigned int cpus, unsigned int nodes)
{
	CHILD_CHECK(os_topology_set(cpus, nodes) == 0);
	CHILD_CHECK(arena_init(os_topology.nr_windows) == 0);
	buddy_init(nodes);
	buddy_set_purge(SIZE_MAX >> 1, 1u << 30);
	CHILD_CHECK(pcp_init());
	os_act_as_cpu(0);
}

static long get_kind(unsigned int order, enum pcp_kind kind)
{
	struct page *page = pcp_alloc(0, order, kind, true);

	return page ? (long)index_of(page) : -1;
}

static long get(unsigned int order)
{
	return get_kind(order, UNMOVABLE);
}

static void put_kind(unsigned long index, unsigned int order, enum pcp_kind kind)
{
	pcp_free(page_at(index), order, kind);
	buddy_check();
}

static void put(unsigned long index, unsigned int order)
{
	put_kind(index, order, UNMOVABLE);
}

static unsigned long listed(void)
{
	return pcp_stats(0).nr_pages;
}

/* ---- which page ------------------------------------------------------------------------------ */

IN_CHILD(what_was_freed_last_comes_first)
{
	fresh_lists(1, 1);
	for (long i = 0; i < 8; i++)
		CHILD_CHECK(get(0) == i);
	put(2, 0);
	CHILD_CHECK(get(0) == 2);
	put(2, 0);
	put(5, 0);
	CHILD_CHECK(get(0) == 5 && get(0) == 2 && get(0) == 8);
}

/* In the zone 0 and 1 would be one block by then, which is split from below. */
IN_CHILD(buddies_on_a_list_do_not_merge)
{
	fresh_lists(1, 1);
	for (long i = 0; i < 4; i++)
		CHILD_CHECK(get(0) == i);
	put(0, 0);
	put(1, 0);
	CHILD_CHECK(page_at(0)->type == PAGE_LISTED && page_at(1)->type == PAGE_LISTED);
	CHILD_CHECK(get(0) == 1 && get(0) == 0);
}

IN_CHILD(a_batch_is_taken_in_the_zones_order)
{
	fresh_lists(1, 1);
	CHILD_CHECK(get(0) == 0 && listed() == PCP_BATCH - 1);
	CHILD_CHECK(take(0) == 63); /* from the zone */
	for (long i = 1; i < 63; i++)
		CHILD_CHECK(get(0) == i);
	CHILD_CHECK(listed() == 0 && get(0) == 64);
}

IN_CHILD(a_batch_has_fewer_blocks_of_higher_orders)
{
	fresh_lists(1, 1);
	CHILD_CHECK(get(3) == 0 && listed() == 6 * 8);
	CHILD_CHECK(get(2) == 56 && listed() == 6 * 8 + 14 * 4);
	CHILD_CHECK(get(1) == 116);
	CHILD_CHECK(listed() == 6 * 8 + 14 * 4 + 30 * 2);
	CHILD_CHECK(get(3) == 8 && get(2) == 60 && get(1) == 118);
	buddy_check();
}

IN_CHILD(orders_above_3_are_the_zones)
{
	fresh_lists(1, 1);
	CHILD_CHECK(get(4) == 0 && get(4) == 16 && listed() == 0);
	put(16, 4);
	put(0, 4);
	CHILD_CHECK(listed() == 0 && page_at(0)->type == PAGE_BUDDY);
	CHILD_CHECK(get_kind(0, PCP_NONE) == 0 && listed() == 0);
}

IN_CHILD(kinds_and_orders_do_not_mix)
{
	fresh_lists(1, 1);
	CHILD_CHECK(get(0) == 0);
	CHILD_CHECK(get_kind(0, RECLAIMABLE) == 63);
	put(0, 0);
	CHILD_CHECK(get_kind(0, RECLAIMABLE) == 64 && get(1) == 126 && get(0) == 0);
}

/* Fills a list to the brim; the free that reaches it gives the oldest 63 pages back. */
IN_CHILD(too_many_pages_give_a_batch_back)
{
	fresh_lists(1, 1);
	for (long i = 0; i < 5 * PCP_BATCH; i++)
		CHILD_CHECK(get(0) == i);
	CHILD_CHECK(listed() == 0);
	for (unsigned long i = 0; i < PCP_HIGH - 1; i++)
		put(i, 0);
	CHILD_CHECK(listed() == PCP_HIGH - 1 && page_at(0)->type == PAGE_LISTED);
	put(PCP_HIGH - 1, 0);
	CHILD_CHECK(listed() == PCP_HIGH - PCP_BATCH);
	CHILD_CHECK(page_at(0)->type == PAGE_BUDDY && page_at(62)->type == PAGE_BUDDY);
	CHILD_CHECK(page_at(63)->type == PAGE_LISTED);
	CHILD_CHECK(get(0) == PCP_HIGH - 1 && get(0) == PCP_HIGH - 2);
}

/* The list that was freed to goes first, then the next ones, in circles. */
IN_CHILD(what_is_given_back_begins_with_this_list)
{
	fresh_lists(1, 1);
	for (long i = 0; i < 40; i++)
		CHILD_CHECK(get(3) >= 0);
	CHILD_CHECK(get(0) >= 0);
	CHILD_CHECK(listed() == 2 * 8 + 62);
	for (unsigned long i = 0; i < 21; i++)
		put(i * 8, 3);
	CHILD_CHECK(listed() == 23 * 8 + 62);
	put(21 * 8, 3); /* 24 * 8 + 62 >= 252: the oldest: two of the batch, then 0, 8, ... */
	CHILD_CHECK(listed() == 16 * 8 + 62);
	CHILD_CHECK(page_at(6 * 8)->type == PAGE_LISTED && page_at(5 * 8)->type != PAGE_LISTED);
}

/* ---- CPUs and nodes -------------------------------------------------------------------------- */

IN_CHILD(each_cpu_has_lists_of_its_own)
{
	fresh_lists(2, 1);
	CHILD_CHECK(get(0) == 0);
	os_act_as_cpu(1);
	CHILD_CHECK(get(0) == 63);
	put(0, 0); /* here, whoever took it */
	CHILD_CHECK(get(0) == 0 && get(0) == 64);
	os_act_as_cpu(0);
	CHILD_CHECK(get(0) == 1);
}

IN_CHILD(pages_go_to_the_lists_of_their_node)
{
	struct page *far;

	fresh_lists(2, 2);
	far = pcp_alloc(1, 0, UNMOVABLE, true);
	CHILD_CHECK(far && far->node == 1 && pcp_stats(0).nr_pages == 0);
	CHILD_CHECK(pcp_stats(1).nr_pages == PCP_BATCH - 1);
	pcp_free(far, 0, UNMOVABLE);
	CHILD_CHECK(pcp_stats(0).nr_pages == 0 && pcp_stats(1).nr_pages == PCP_BATCH);
	CHILD_CHECK(pcp_alloc(1, 0, UNMOVABLE, true) == far);
	CHILD_CHECK(pcp_alloc(-1, 0, UNMOVABLE, true)->node == 0);
	CHILD_CHECK(!pcp_alloc(2, 0, UNMOVABLE, false)); /* no such node */
	buddy_check();
}

/* ---- going back ------------------------------------------------------------------------------ */

IN_CHILD(a_drain_leaves_nothing)
{
	fresh_lists(2, 1);
	put((unsigned long)get(0), 0);
	put_kind((unsigned long)get_kind(2, RECLAIMABLE), 2, RECLAIMABLE);
	os_act_as_cpu(1);
	put((unsigned long)get(3), 3);
	CHILD_CHECK(listed() > 0);
	pcp_drain();
	buddy_check();
	CHILD_CHECK(listed() == 0);
	CHILD_CHECK(buddy_zones[0].stats.nr_free == buddy_zones[0].stats.nr_total);
	CHILD_CHECK(buddy_zones[0].stats.nr_dirty == 1 + 4 + 8);
	CHILD_CHECK(take(10) == 0); /* all merged */
}

IN_CHILD(counts_add_up)
{
	struct buddy_stats stats;

	fresh_lists(1, 1);
	CHILD_CHECK(get(0) == 0 && get(0) == 1);
	put(0, 0);
	buddy_stats(0, &stats);
	CHILD_CHECK(stats.nr_total - stats.nr_free == 1 && stats.nr_dirty == 1);
	CHILD_CHECK(pcp_stats(0).nr_dirty == 1);
	put(1, 0);
	buddy_stats(0, &stats);
	CHILD_CHECK(stats.nr_total == stats.nr_free && stats.nr_dirty == 2);
	buddy_check();
}

IN_CHILD(a_trim_gives_lists_back_too)
{
	struct buddy_stats stats;

	fresh_lists(1, 1);
	put((unsigned long)get(0), 0);
	CHILD_CHECK(buddy_trim(0) == PAGE_SIZE && listed() == 0);
	buddy_stats(0, &stats);
	CHILD_CHECK(stats.nr_dirty == 0 && stats.nr_free == stats.nr_total);
}

/*
 * Memory that another CPU has on lists, in blocks too small, is found before an allocation fails.
 */
IN_CHILD(what_cpus_keep_is_no_reason_to_fail)
{
	unsigned int n = 0;

	NEEDS_BARE_PROCESS();
	fresh_lists(2, 1);
	os_act_as_cpu(1);
	put((unsigned long)get(0), 0);
	put((unsigned long)get(3), 3);
	os_act_as_cpu(0);
	limit_to(RLIMIT_DATA, 0);
	while (get(3) >= 0)
		n++;
	CHILD_CHECK(n == CHUNK / 8 && listed() == 0);
	buddy_check();
}

/* ---- without lists --------------------------------------------------------------------------- */

IN_CHILD(before_init_all_is_the_zones)
{
	fresh_arena();
	CHILD_CHECK(get(0) == 0 && get(0) == 1 && listed() == 0);
	put(1, 0);
	put(0, 0);
	CHILD_CHECK(page_at(0)->type == PAGE_BUDDY && page_at(0)->order == BUDDY_MAX_ORDER);
	pcp_drain();
}

/* ---- threads and fork ------------------------------------------------------------------------ */

static struct page *churn_alloc(unsigned int order, unsigned int random)
{
	os_act_as_cpu(random & 1);
	return pcp_alloc(0, order, UNMOVABLE, false);
}

static void churn_free(struct page *page, unsigned int random)
{
	os_act_as_cpu(random & 1);
	pcp_free(page, page->order, UNMOVABLE);
}

static void each_lock(void (*act)(struct lock *l))
{
	pcp_each_lock(act);
	buddy_each_lock(act);
}

static const struct churn_ops churn_lists = { churn_alloc, churn_free, each_lock };

IN_CHILD(threads_get_different_blocks)
{
	struct buddy_stats stats;

	fresh_lists(2, 1);
	churn_and_purge(&churn_lists, &stats);
	CHILD_CHECK(stats.nr_free == stats.nr_total);
	pcp_drain();
	CHILD_CHECK(buddy_zones[0].stats.nr_free == buddy_zones[0].stats.nr_total);
}

/*
 * In the child of a fork that came at any moment: each page is free, on a list, a
 * slab's, or was just handed out.
 */
static void use_after_fork(void)
{
	unsigned long used = 0;
	struct buddy_stats stats;

	buddy_check();
	for (unsigned long i = 0; i < page_map.nr_pages; i++)
		used += page_at(i)->type == PAGE_SLAB || page_at(i)->type == PAGE_TAIL;
	buddy_stats(0, &stats);
	CHILD_CHECK(stats.nr_total - stats.nr_free <= used + churn.nr * (1ul << PCP_MAX_ORDER));
	for (unsigned int i = 0; i < 400; i++) {
		struct page *page = pcp_alloc(0, i % 4, UNMOVABLE, false);

		CHILD_CHECK(page);
		os_act_as_cpu(i % 3 & 1);
		pcp_free(page, i % 4, UNMOVABLE);
	}
	buddy_trim(0);
	buddy_check();
}

IN_CHILD(a_fork_finds_the_lists_whole)
{
	fresh_lists(2, 1);
	churn_and_fork(&churn_lists, use_after_fork);
}

/* ---- after a grace period -------------------------------------------------------------------- */

/* In use until then, and nobody's. */
IN_CHILD(pages_are_freed_later)
{
	struct page *page;
	long index;

	fresh_lists(1, 1);
	CHILD_CHECK(os_rcu_bind(&manual_rcu) == 0);
	index = get(1);
	page = page_at((unsigned long)index);
	page_set_block(page, PAGE_SLAB, 2);
	pcp_free_later(page, 1, UNMOVABLE);
	CHILD_CHECK(!page_head_of(page_address(page)) && !page_head_of(page_address(page + 1)));
	os_rcu_submit();
	CHILD_CHECK(rcu.nr == 1 && get(1) != index);
	buddy_check();
	rcu_grace();
	CHILD_CHECK(get(1) == index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_freed_last_comes_first),
		cmocka_unit_test(buddies_on_a_list_do_not_merge),
		cmocka_unit_test(a_batch_is_taken_in_the_zones_order),
		cmocka_unit_test(a_batch_has_fewer_blocks_of_higher_orders),
		cmocka_unit_test(orders_above_3_are_the_zones),
		cmocka_unit_test(kinds_and_orders_do_not_mix),
		cmocka_unit_test(too_many_pages_give_a_batch_back),
		cmocka_unit_test(what_is_given_back_begins_with_this_list),
		cmocka_unit_test(each_cpu_has_lists_of_its_own),
		cmocka_unit_test(pages_go_to_the_lists_of_their_node),
		cmocka_unit_test(a_drain_leaves_nothing),
		cmocka_unit_test(counts_add_up),
		cmocka_unit_test(a_trim_gives_lists_back_too),
		cmocka_unit_test(what_cpus_keep_is_no_reason_to_fail),
		cmocka_unit_test(before_init_all_is_the_zones),
		cmocka_unit_test(threads_get_different_blocks),
		cmocka_unit_test(a_fork_finds_the_lists_whole),
		cmocka_unit_test(pages_are_freed_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
