/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/policy_test.c - policies of caches: what is refused, and what binding leaves behind
 *
 * What policies do with every engine and front: conformance/numa_test.c.
 */
#include "cache_fixture.h"

#include "engine/placement.h"

static struct os_policy policy(int mode, unsigned long mask)
{
	struct os_policy made;

	CHILD_CHECK(os_policy_make(&made, mode, &mask, 64) == 0);
	return made;
}

static int set(struct cache *c, int mode, unsigned long mask)
{
	const struct os_policy p = policy(mode, mask);

	return cache_set_policy(c, &p);
}

static void machine(void)
{
	CHILD_CHECK(os_topology_set(8, 4) == 0);
	ready();
	os_act_as_cpu(0);
}

IN_CHILD(test_alone)
{
	struct cache *c, *other;

	machine();
	c = make("first", 200, 0, 0);
	CHILD_CHECK(set(c, OS_POLICY_PREFERRED, 2) == 0);
	other = make("second", 200, 0, 0); /* does not merge with it */
	CHILD_CHECK(other != c);
	CHILD_CHECK(make("third", 200, 0, 0) == other);
	CHILD_CHECK(set(other, OS_POLICY_BIND, 2) == -EBUSY);
	CHILD_CHECK(!placement_policy(&other->engine));
}

IN_CHILD(test_heap)
{
	machine();
	CHILD_CHECK(
		set(made(&(struct cache_spec){ .name = "heap", .size = 64, .engine = &slob_ops }),
		    OS_POLICY_BIND, 1) == -EOPNOTSUPP);
}

/* The policy before stays where the new one is refused. */
IN_CHILD(test_busy)
{
	struct cache *c;
	void *obj;

	machine();
	c = make_front("busy", 500, "array");
	CHILD_CHECK(set(c, OS_POLICY_PREFERRED, 4) == 0);
	obj = get(c);
	CHILD_CHECK(page_head_of(obj)->node == 2);
	CHILD_CHECK(set(c, OS_POLICY_BIND, 2) == -EBUSY);
	CHILD_CHECK(placement_policy(&c->engine)->mode == OS_POLICY_PREFERRED);
	CHILD_CHECK(set(c, OS_POLICY_BIND, 6) == 0); /* node 2 is one of them */
	cache_free(c, obj);
	CHILD_CHECK(set(c, OS_POLICY_BIND, 2) == 0); /* what the CPU holds does not count */
	obj = get(c);
	CHILD_CHECK(page_head_of(obj)->node == 1);
	CHILD_CHECK(set(c, OS_POLICY_DEFAULT, 0) == 0);
	CHILD_CHECK(!placement_policy(&c->engine));
	cache_free(c, obj);
	cache_check_all();
}

/* A lent sheaf has objects of its own. */
IN_CHILD(test_lent)
{
	struct slab_sheaf *sheaf;
	struct cache *c;

	machine();
	c = make_front("lent", 500, "array");
	sheaf = lent_prefill(c, GFP_KERNEL, 5, NULL);
	CHILD_CHECK(sheaf && set(c, OS_POLICY_BIND, 8) == -EBUSY);
	lent_return(c, sheaf, NULL);
	CHILD_CHECK(set(c, OS_POLICY_BIND, 8) == 0);
}

/* The number of a cache that is gone has no policy. */
IN_CHILD(test_destroyed)
{
	struct cache *c;
	unsigned int id;

	machine();
	c = make_front("gone", 500, "array");
	id = c->front.id;
	CHILD_CHECK(set(c, OS_POLICY_BIND, 8) == 0);
	cache_free(c, get(c));
	cache_destroy(c->handle, NULL);
	c = make_front("next", 500, "array");
	CHILD_CHECK(c->front.id == id && !placement_policy(&c->engine));
}

/* Debug slabs are bound as well, and guarded pages are not used. */
IN_CHILD(test_debug)
{
	void *objs[300];
	struct cache *c;

	setenv("USLAB_CONF", "kfence.sample=2", 1);
	machine();
	c = make("debug", 300, 0, SLAB_RED_ZONE | SLAB_POISON | SLAB_STORE_USER);
	CHILD_CHECK(set(c, OS_POLICY_BIND, 8) == 0);
	for (unsigned int i = 0; i < 300; i++) {
		os_act_as_cpu(i % 8);
		objs[i] = get(c);
		CHILD_CHECK(objs[i] && page_head_of(objs[i])->node == 3);
	}
	CHILD_CHECK(!cache_alloc(c, GFP_KERNEL | __GFP_THISNODE, 1));
	for (unsigned int i = 0; i < 300; i++)
		cache_free(c, objs[i]);
	cache_check_all();
}

/* INTERLEAVE of a cache counts for all threads; the thread's own cursor does not move. */
IN_CHILD(test_cursors)
{
	struct cache *c;
	void *obj;

	machine();
	c = made(&(struct cache_spec){ .name = "cursor",
				       .size = 64,
				       .engine = &slab_ops,
				       .front = &front_queues_ops,
				       .no_merge = true });
	CHILD_CHECK(set(c, OS_POLICY_INTERLEAVE, 0xf) == 0);
	CHILD_CHECK(os_policy_set(OS_POLICY_INTERLEAVE, (unsigned long[]){ 6 }, 64) == 0);
	for (unsigned int i = 0; i < 12; i++) {
		obj = get(c);
		CHILD_CHECK(page_head_of(obj)->node == i % 4);
	}
	CHILD_CHECK(os_policy_node(0) == 1 && os_policy_node(0) == 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alone),	  cmocka_unit_test(test_heap),
		cmocka_unit_test(test_busy),	  cmocka_unit_test(test_lent),
		cmocka_unit_test(test_destroyed), cmocka_unit_test(test_debug),
		cmocka_unit_test(test_cursors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
