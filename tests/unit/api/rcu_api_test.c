/* SPDX-License-Identifier: MIT */
/*
 * unit/api/rcu_api_test.c - kfree_rcu() in all its forms, and which RCU is accepted
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <uslab/rcu.h>
#include <cmocka.h>

#include "child.h"
#include "manual_rcu.h"

struct node {
	long key;
	struct rcu_head rcu;
};

IN_CHILD(test_set_rcu)
{
	struct uslab_rcu_ops ops = manual_rcu;

	CHILD_CHECK(uslab_set_rcu(NULL) == -EINVAL);
	ops.call = NULL;
	CHILD_CHECK(uslab_set_rcu(&ops) == -EINVAL);
	ops = manual_rcu;
	ops.synchronize = NULL;
	CHILD_CHECK(uslab_set_rcu(&ops) == -EINVAL);
	ops = manual_rcu;
	ops.barrier = NULL;
	CHILD_CHECK(uslab_set_rcu(&ops) == -EINVAL);
	ops = manual_rcu;
	CHILD_CHECK(uslab_set_rcu(&ops) == 0);
	memset(&ops, 0, sizeof(ops)); /* it was copied */
	CHILD_CHECK(uslab_set_rcu(&manual_rcu) == 0);
	ops = manual_rcu;
	ops.barrier = rcu_synchronize;
	CHILD_CHECK(uslab_set_rcu(&ops) == -EBUSY);
}

static struct node *make_node(void)
{
	return kmalloc(sizeof(struct node), GFP_KERNEL);
}

IN_CHILD(test_forms)
{
	struct node *none = NULL;
	struct node *node = make_node();
	unsigned int evaluated = 0;

	kfree_rcu(node, rcu); /* waits for what comes now */
	CHILD_CHECK(uslab_set_rcu(&manual_rcu) == 0 && rcu.calls == 1);
	rcu_grace();
	node = make_node();
	kfree_rcu((evaluated++, node), rcu);
	CHILD_CHECK(evaluated == 1);
	node = make_node();
	kvfree_rcu(node, rcu);
	node = make_node();
	kfree_rcu_nolock(node, rcu);
	kfree_rcu(make_node());
	kvfree_rcu(make_node());
	kfree_rcu_mightsleep(make_node());
	kvfree_rcu_mightsleep(kvmalloc(100000, GFP_KERNEL));
	if (evaluated)
		kfree_rcu(none, rcu);
	else
		kvfree_rcu(none, rcu);
	kfree_rcu_mightsleep(none);
	kvfree_rcu_barrier();
	CHILD_CHECK(rcu.calls == 2 && rcu.barriers == 1);
}

IN_CHILD(test_barrier_on_cache)
{
	struct kmem_cache *s = kmem_cache_create("own", sizeof(struct node), 0, 0, NULL);
	struct node *node = kmem_cache_alloc(s, GFP_KERNEL);

	CHILD_CHECK(uslab_set_rcu(&manual_rcu) == 0);
	kvfree_rcu_barrier_on_cache(s);
	CHILD_CHECK(rcu.barriers == 0);
	kfree_rcu(node, rcu);
	kvfree_rcu_barrier_on_cache(s);
	CHILD_CHECK(rcu.barriers == 1);
	kmem_cache_destroy(s);
}

IN_CHILD(test_type_safe_caches)
{
	struct kmem_cache *s;
	long *p;

	CHILD_CHECK(!kmem_cache_create("safe", 8, 0, SLAB_TYPESAFE_BY_RCU, NULL));
	CHILD_CHECK(errno == EOPNOTSUPP);
	CHILD_CHECK(uslab_set_rcu(&manual_rcu) == 0);
	s = kmem_cache_create("safe", 8, 0, SLAB_TYPESAFE_BY_RCU, NULL);
	CHILD_CHECK(s);
	p = kmem_cache_alloc(s, GFP_KERNEL);
	*p = 17;
	kmem_cache_free(s, p);
	CHILD_CHECK(*p == 17); /* as a reader may look */
	kmem_cache_destroy(s);
	CHILD_CHECK(*p == 17);
	CHILD_CHECK(rcu.nr == 1);
	rcu_grace();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set_rcu),
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_barrier_on_cache),
		cmocka_unit_test(test_type_safe_caches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
