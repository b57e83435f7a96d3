/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/grace/check_test.c - what kfree_rcu() refuses, and what is left alone after the grace
 * period
 *
 * The texts: tests/misuse/kfree_rcu.c.
 */
#include "debug/report/report.h"
#include "grace_fixture.h"

static unsigned long reported(void)
{
	static unsigned long before;
	unsigned long now = report_counters.reports - before;

	before = report_counters.reports;
	return now;
}

/* Nothing of that waits. */
static void is_refused(struct rcu_head *head, void *p)
{
	grace_free(head, p, NULL);
	CHILD_CHECK(reported() == 1);
	grace_wait(NULL);
	CHILD_CHECK(reported() == 0);
}

IN_CHILD(what_is_no_block)
{
	char local[64];
	struct node *node;
	char *p;

	bound();
	node = new_node(make("node", sizeof(*node), 0, 0));
	p = kmalloc_alloc(100 << 10, GFP_KERNEL, NUMA_NO_NODE);
	is_refused(NULL, local);
	is_refused(NULL, &node->value);
	is_refused(NULL, p + 4096);
	cache_free(cache_of_object(node), node);
	is_refused(NULL, node);
	kmalloc_free(p, NULL);
	is_refused(NULL, p);
}

IN_CHILD(what_is_too_small)
{
	char *p;

	bound();
	p = kmalloc_alloc(8, GFP_KERNEL, NUMA_NO_NODE);
	is_refused((struct rcu_head *)p, p);
	kmalloc_free(p, NULL);
	p = kmalloc_alloc(64, GFP_KERNEL, NUMA_NO_NODE);
	is_refused((struct rcu_head *)(p + 56), p);
	is_refused((struct rcu_head *)(p - 8), p);
	kmalloc_free(p, NULL);
	CHILD_CHECK(reported() == 0);
}

/* With a head always, also when its batch was handed over. */
IN_CHILD(what_waits_already)
{
	struct node *node;
	struct cache *c;

	bound();
	c = make("node", sizeof(*node), 0, 0);
	node = new_node(c);
	free_node(node);
	free_node(node);
	CHILD_CHECK(reported() == 1);
	grace_hand_over();
	free_node(node);
	CHILD_CHECK(reported() == 1);
	grace_wait(NULL);
	CHILD_CHECK(reported() == 0 && in_use(c) == 0);
}

/* An old seal in a new object is none. */
IN_CHILD(seals_of_before)
{
	struct node *node;
	struct cache *c;

	bound();
	c = make("node", sizeof(*node), 0, 0);
	node = new_node(c);
	grace_set_seal((struct grace_seal *)&node->rcu, node);
	free_node(node);
	CHILD_CHECK(reported() == 0 && grace_holds(node));
	grace_wait(NULL);
	CHILD_CHECK(in_use(c) == 0);
}

/* Freed otherwise meanwhile: it is left to who has it by then. */
IN_CHILD(what_has_a_new_owner)
{
	struct node *node;
	struct cache *c;

	bound();
	stay_here();
	c = make("node", sizeof(*node), 0, 0);
	node = new_node(c);
	free_node(node);
	grace_hand_over();
	cache_free(c, node);
	CHILD_CHECK(new_node(c) == node); /* clears it */
	rcu_grace();
	CHILD_CHECK(reported() == 1 && in_use(c) == 1);
	cache_free(c, node);
	CHILD_CHECK(reported() == 0);
}

/* Its mapping is gone: the head is not looked at. */
IN_CHILD(what_is_unmapped)
{
	struct node *p;

	bound();
	p = kmalloc_alloc(4 << 20, GFP_KERNEL, NUMA_NO_NODE);
	free_node(p);
	kmalloc_free(p, NULL);
	buddy_trim(0);
	grace_wait(NULL);
	CHILD_CHECK(reported() == 1);
}

/* F looks for what has no head as well, and at kfree(). */
IN_CHILD(with_checks)
{
	struct cache *c;
	void *p;

	setenv("USLAB_DEBUG", "FZPU", 1);
	bound();
	c = make("node", 64, 0, 0);
	p = get(c);
	CHILD_CHECK(cache_has_checks(p));
	grace_free(NULL, p, NULL);
	grace_free(NULL, p, NULL);
	CHILD_CHECK(reported() == 1);
	cache_free(c, p);
	CHILD_CHECK(reported() == 1);
	grace_wait(NULL);
	CHILD_CHECK(reported() == 0 && in_use(c) == 0);
	grace_free(NULL, p, NULL);
	CHILD_CHECK(reported() == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_block),	cmocka_unit_test(what_is_too_small),
		cmocka_unit_test(what_waits_already),	cmocka_unit_test(seals_of_before),
		cmocka_unit_test(what_has_a_new_owner), cmocka_unit_test(what_is_unmapped),
		cmocka_unit_test(with_checks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
