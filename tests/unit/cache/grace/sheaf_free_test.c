/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/grace/sheaf_free_test.c - kfree_rcu() into rcu_free sheaves: full ones wait for RCU,
 * and come to the barn after that; what goes elsewhere; mistakes (spec A7)
 */
#include "sheaves_fixture.h"

/* The push that fills the sheaf hands it over; its objects do not come back to their slabs. */
IN_CHILD(full_sheaves_are_handed_over)
{
	struct cache *c = of_sheaves();
	static struct node *nodes[FULL];

	for (unsigned int i = 0; i < FULL; i++)
		nodes[i] = new_node(c);
	for (unsigned int i = 0; i < FULL - 1; i++)
		free_node(nodes[i]);
	CHILD_CHECK(rcu.calls == 0 && of_cpu(c)->rcu_free->nr == FULL - 1);
	CHILD_CHECK(in_use(c) == FULL && grace_holds(nodes[0]));
	cache_check_all();
	grace_free(NULL, nodes[FULL - 1], NULL); /* without a head */
	CHILD_CHECK(rcu.calls == 1 && !of_cpu(c)->rcu_free && in_use(c) == FULL);
	CHILD_CHECK(grace_holds(nodes[0]) && grace_holds(nodes[FULL - 1]) && grace_has(c));
	rcu_grace();
	CHILD_CHECK(in_use(c) == 0 && its_barn(c)->nr_full == 1 && !grace_has(c));
	CHILD_CHECK(stat(c, FREE_RCU_SHEAF) == FULL && stat(c, BARN_PUT) == 1);
	CHILD_CHECK(stat(c, SHEAF_FLUSH) == 0 && stat(c, FREE_RCU_SHEAF_FAIL) == 0);
	CHILD_CHECK(!grace_holds(nodes[0]));
	cache_check_all();
	cache_destroy(c->handle, NULL);
}

/* As the first sheaf: a spare that is empty, one of the barn, a new one. */
IN_CHILD(where_a_sheaf_comes_from)
{
	struct cache *c = of_sheaves();
	struct node *node = new_node(c);
	struct sheaf *spare;

	for (unsigned int i = 0; i < FULL; i++)
		new_node(c); /* lost to the program; the old main is the spare now, empty */
	spare = of_cpu(c)->spare;
	CHILD_CHECK(spare && !spare->nr);
	free_node(node);
	CHILD_CHECK(of_cpu(c)->rcu_free == spare && !of_cpu(c)->spare);
	CHILD_CHECK(stat(c, SHEAF_ALLOC) == 2);
	grace_wait(c);
	/* it became full, with one object, and has to be made empty to be found again */
	CHILD_CHECK(its_barn(c)->nr_full == 1 && its_barn(c)->nr_objects == 1);
	cache_shrink(c);
	sheaves_put_empty(&c->front, os_cpu_to_node((unsigned int)cpu), sheaves_new(&c->front));
	free_node(new_node(c));
	CHILD_CHECK(of_cpu(c)->rcu_free && its_barn(c)->nr_empty == 0);
	cache_check_all();
}

/* A barn that has ten: flushed, and the sheaf is kept as an empty one. */
IN_CHILD(barns_that_are_full)
{
	struct cache *c = of_sheaves();

	for (unsigned int i = 0; i < BARN_MAX_FULL; i++) {
		struct sheaf *sheaf = sheaves_new(&c->front);

		CHILD_CHECK(sheaf && sheaves_fill(&c->front, sheaf, GFP_KERNEL));
		sheaves_put_full(&c->front, os_cpu_to_node((unsigned int)cpu), sheaf);
	}
	free_node(new_node(c));
	CHILD_CHECK(its_barn(c)->nr_full == 9); /* it gave one for the allocation */
	sheaves_put_full(&c->front, os_cpu_to_node((unsigned int)cpu),
			 barn_exchange_empty(its_barn(c), NULL));
	for (unsigned int i = 0; i < FULL; i++)
		free_node(new_node(c));
	grace_wait(c);
	CHILD_CHECK(in_use(c) == 0);
	cache_check_all();
	cache_destroy(c->handle, NULL);
}

/* In one sheaf, in two, and as two kinds of free: the second one is reported and ignored. */
IN_CHILD(objects_that_come_twice)
{
	struct cache *c = of_sheaves();
	struct node *node = new_node(c);

	CHILD_CHECK(c->engine.mark);
	grace_free(NULL, node, NULL);
	grace_free(NULL, node, NULL);
	grace_wait(c);
	CHILD_CHECK(report_counters.reports == 1 && in_use(c) == 0);
	node = new_node(c);
	grace_free(NULL, node, NULL);
	free_node(node);
	grace_wait(c);
	CHILD_CHECK(report_counters.reports == 2 && in_use(c) == 0);
	node = new_node(c);
	grace_free(NULL, node, NULL);
	grace_wait(c);
	grace_free(NULL, node, NULL);
	grace_wait(c);
	CHILD_CHECK(report_counters.reports == 3 && in_use(c) == 0);
	cache_check_all();
	cache_destroy(c->handle, NULL);
}

/* What is not to be done by a sheaf is done as before: watched caches, a lock that is held. */
IN_CHILD(others_go_into_batches)
{
	struct cache *c = of_sheaves();
	struct node *node = new_node(c);

	of_cpu(c)->sheaf_lock.word = 1;
	free_node(node);
	of_cpu(c)->sheaf_lock.word = 0;
	CHILD_CHECK(stat(c, FREE_RCU_SHEAF_FAIL) == 1 && !of_cpu(c)->rcu_free);
	CHILD_CHECK(grace_holds(node));
	grace_wait(c);
	CHILD_CHECK(in_use(c) == 0 && !grace_holds(node));
	CHILD_CHECK(cache_set_debug(c, SLAB_CONSISTENCY_CHECKS) == 0);
	free_node(new_node(c));
	CHILD_CHECK(!of_cpu(c)->rcu_free);
	grace_wait(c);
	CHILD_CHECK(in_use(c) == 0);
	/* debug flags come while a plain object is in a sheaf */
	CHILD_CHECK(cache_set_debug(c, 0) == 0);
	grace_wait(NULL);
	cache_destroy(c->handle, NULL);
	c = make_front("node", sizeof(struct node), "sheaves");
	free_node(new_node(c));
	CHILD_CHECK(of_cpu(c)->rcu_free != NULL);
	CHILD_CHECK(cache_set_debug(c, SLAB_RED_ZONE | SLAB_POISON) == 0);
	grace_wait(NULL);
	CHILD_CHECK(in_use(c) == 0);
	cache_check_all();
	cache_destroy(c->handle, NULL);
	CHILD_CHECK(report_counters.reports == 0);
}

static void misused(void *how)
{
	struct cache *c = of_sheaves();
	struct node *node = new_node(c);
	struct node *other = new_node(c);

	free_node(node);
	if (*(int *)how == 2) {
		((struct grace_seal *)&node->rcu)->p = other; /* which is not freed by that */
		grace_wait(c);
		CHILD_CHECK(report_counters.reports == 1 && in_use(c) == 2);
	} else if (*(int *)how == 0) {
		free_node(node); /* again, while it waits */
		CHILD_CHECK(report_counters.reports == 1);
		grace_wait(c);
		CHILD_CHECK(report_counters.reports == 1 && in_use(c) == 1);
	} else {
		memset(&node->rcu, 0, sizeof(node->rcu)); /* used, while it waits */
		grace_wait(c);
		CHILD_CHECK(report_counters.reports == 1);
	}
	cache_check_all();
}

static void mistakes_are_reported(__attribute__((unused)) void **state)
{
	for (int how = 0; how < 3; how++) {
		struct child c = child_run(misused, &how);

		assert_true(child_passed(&c));
		assert_non_null(strstr(c.text, how ? "struct rcu_head was written to"
						   : "waits for a grace period already"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_sheaves_are_handed_over),
		cmocka_unit_test(where_a_sheaf_comes_from),
		cmocka_unit_test(barns_that_are_full),
		cmocka_unit_test(objects_that_come_twice),
		cmocka_unit_test(others_go_into_batches),
		cmocka_unit_test(mistakes_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
