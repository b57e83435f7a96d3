/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/placement_test.c - where the next slab comes from, by cache, thread, process and call
 */
#include "engine/placement.h"
#include "engines.h"
#include "os/cpu/nodes.h"
#include "page/numa.h"

static struct engine e = { .ops = &slub_ops, .id = 300 };

static void machine(void)
{
	machine_init(8, 8);
	os_act_as_cpu(3);
}

static const struct os_policy *made(int mode, unsigned long mask)
{
	static struct os_policy policy;

	CHILD_CHECK(os_policy_make(&policy, mode, &mask, 64) == 0);
	return &policy;
}

static void cache_has(int mode, unsigned long mask)
{
	CHILD_CHECK(placement_set_policy(&e, made(mode, mask)) == 0);
}

static bool is(struct os_place place, unsigned int first, uint64_t nodes)
{
	return place.first == first && place.nodes == nodes;
}

IN_CHILD(test_who_goes_first)
{
	machine();
	CHILD_CHECK(is(placement_next(&e, 0, -1), 3, OS_ALL_NODES));
	os_policy_set_process(made(OS_POLICY_PREFERRED, 1 << 1));
	CHILD_CHECK(is(placement_next(&e, 0, -1), 1, OS_ALL_NODES));
	CHILD_CHECK(os_policy_set(OS_POLICY_PREFERRED, (unsigned long[]){ 1 << 2 }, 64) == 0);
	CHILD_CHECK(is(placement_next(&e, 0, -1), 2, OS_ALL_NODES));
	CHILD_CHECK(is(placement_next(NULL, 0, -1), 2, OS_ALL_NODES));
	cache_has(OS_POLICY_PREFERRED, 1 << 4);
	CHILD_CHECK(is(placement_next(&e, 0, -1), 4, OS_ALL_NODES));
	CHILD_CHECK(is(placement_next(&e, 0, 5), 5, OS_ALL_NODES));
	CHILD_CHECK(is(placement_next(&e, 0, 8), 4, OS_ALL_NODES)); /* there is none */
	CHILD_CHECK(is(placement_next(&e, __GFP_THISNODE, 5), 5, 1 << 5));
	CHILD_CHECK(is(placement_next(&e, __GFP_THISNODE, -1), 4, 1 << 4));
	CHILD_CHECK(placement_set_policy(&e, NULL) == 0);
	CHILD_CHECK(is(placement_next(&e, 0, -1), 2, OS_ALL_NODES));
	CHILD_CHECK(os_policy_set(OS_POLICY_LOCAL, NULL, 0) == 0);
	CHILD_CHECK(is(placement_next(&e, 0, -1), 3, OS_ALL_NODES));
}

IN_CHILD(test_bound)
{
	machine();
	cache_has(OS_POLICY_BIND, 0x42); /* 1, 6 */
	CHILD_CHECK(placement_is_bound(&e) && placement_allows(&e, 6) && !placement_allows(&e, 3));
	CHILD_CHECK(is(placement_next(&e, 0, -1), 1, 0x42));
	CHILD_CHECK(is(placement_next(&e, 0, 7), 6, 0x42));
	CHILD_CHECK(is(placement_next(&e, __GFP_THISNODE, 7), 7, 0));
	CHILD_CHECK(is(placement_next(&e, __GFP_THISNODE, 6), 6, 0x40));
	CHILD_CHECK(placement_refuses(&e, __GFP_THISNODE, 7) && !placement_refuses(&e, 0, 7));
	CHILD_CHECK(!placement_refuses(&e, __GFP_THISNODE, 6));
	CHILD_CHECK(placement_search(&e, 8, -1) == 1 && placement_search(&e, 8, 7) == 6);
	CHILD_CHECK(!placement_is_local(&e, 3) && placement_is_local(&e, 6));
}

/* Of a node without memory: the nearest that has some, and with __GFP_THISNODE none. */
IN_CHILD(test_without_memory)
{
	machine();
	os_nodes.memory &= ~os_node_bit(5) & ~os_node_bit(6);
	CHILD_CHECK(is(placement_next(&e, 0, 5), 4, OS_ALL_NODES));
	CHILD_CHECK(is(placement_next(&e, 0, 6), 7, OS_ALL_NODES));
	CHILD_CHECK(is(placement_next(&e, __GFP_THISNODE, 5), 4, 0));
	CHILD_CHECK(is(placement_next(&e, __GFP_THISNODE, 4), 4, 1 << 4));
	CHILD_CHECK(placement_search(&e, 8, 5) == 4 && placement_search(&e, 8, 6) == 7);
	CHILD_CHECK(placement_refuses(&e, __GFP_THISNODE, 5) && !placement_refuses(&e, 0, 5));
	CHILD_CHECK(!placement_refuses(&e, __GFP_THISNODE, 4));
	cache_has(OS_POLICY_BIND, 0x82); /* 1, 7 */
	CHILD_CHECK(is(placement_next(&e, 0, 5), 7, 0x82));
	CHILD_CHECK(placement_search(&e, 8, 5) == 7);
}

/* Pages of bound nodes, the nearest first, and none beyond. */
IN_CHILD(test_pages)
{
	struct os_place place;
	unsigned int found[8] = { 0 };

	machine();
	numa_node_pages = 1ul << BUDDY_MAX_ORDER;
	cache_has(OS_POLICY_BIND, 0x42);
	place = placement_next(&e, 0, -1);
	for (unsigned int i = 0; i < 2; i++) {
		struct page *page = placement_pages(&e, BUDDY_MAX_ORDER, &place);

		CHILD_CHECK(page && page->node == (i ? 6 : 1));
	}
	CHILD_CHECK(!placement_pages(&e, 0, &place));
	CHILD_CHECK(numa_counters[1].hit == 1024 && numa_counters[6].miss == 1024);
	place = placement_next(&e, __GFP_THISNODE, 5);
	CHILD_CHECK(!placement_pages(&e, 0, &place));
	/* preferred: all others as well, until the machine is full */
	cache_has(OS_POLICY_PREFERRED, 2);
	place = placement_next(&e, 0, -1);
	for (struct page *page; (page = placement_pages(&e, BUDDY_MAX_ORDER, &place));)
		found[page->node]++;
	for (unsigned int node = 0; node < 8; node++)
		CHILD_CHECK(found[node] == (node != 1 && node != 6));
}

IN_CHILD(test_keeps)
{
	struct page *page;

	machine();
	page = buddy_alloc(3, 0, true, NULL);
	CHILD_CHECK(placement_keeps(&e, page));
	cache_has(OS_POLICY_INTERLEAVE, 1);
	CHILD_CHECK(placement_keeps(&e, page));
	cache_has(OS_POLICY_BIND, 9);
	CHILD_CHECK(placement_keeps(&e, page));
	cache_has(OS_POLICY_BIND, 1);
	CHILD_CHECK(!placement_keeps(&e, page));
	CHILD_CHECK(placement_keeps(NULL, page));
}

/* A search does not move the cursor. */
IN_CHILD(test_interleave)
{
	machine();
	CHILD_CHECK(os_policy_set(OS_POLICY_INTERLEAVE, (unsigned long[]){ 0x24 }, 64) == 0);
	for (unsigned int i = 0; i < 6; i++) {
		unsigned int node = i % 2 ? 5 : 2;

		CHILD_CHECK(placement_search(&e, 8, -1) == 3);
		CHILD_CHECK(placement_zonelist(&e) == node);
		CHILD_CHECK(is(placement_next(&e, 0, -1), node, OS_ALL_NODES));
	}
	cache_has(OS_POLICY_INTERLEAVE, 0x81);
	for (unsigned int i = 0; i < 6; i++) {
		CHILD_CHECK(placement_zonelist(&e) == 0);
		CHILD_CHECK(is(placement_next(&e, 0, -1), i % 2 ? 7 : 0, OS_ALL_NODES));
	}
	CHILD_CHECK(placement_next(&e, 0, -1).interleaved);
}

/* Spec 3.10: SLAB's caches with SLAB_MEM_SPREAD, if that is on. */
IN_CHILD(test_spread)
{
	struct engine spread = { .ops = &slab_ops, .id = 301, .flags = SLAB_MEM_SPREAD };

	machine();
	CHILD_CHECK(placement_next(&spread, 0, -1).first == 3);
	placement_spreads = &slab_ops;
	for (unsigned int i = 0; i < 16; i++)
		CHILD_CHECK(placement_next(&spread, 0, -1).first == i % 8);
	CHILD_CHECK(!placement_is_local(&spread, 3) && placement_is_local(&e, 3));
	CHILD_CHECK(placement_next(&e, 0, -1).first == 3); /* slub */
	spread.flags = 0;
	CHILD_CHECK(placement_next(&spread, 0, -1).first == 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_goes_first), cmocka_unit_test(test_bound),
		cmocka_unit_test(test_without_memory), cmocka_unit_test(test_pages),
		cmocka_unit_test(test_keeps),	       cmocka_unit_test(test_interleave),
		cmocka_unit_test(test_spread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
