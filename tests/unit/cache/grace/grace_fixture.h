/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/grace/grace_fixture.h - blocks with and without a struct rcu_head
 */
#ifndef UNIT_CACHE_GRACE_FIXTURE_H
#define UNIT_CACHE_GRACE_FIXTURE_H

#include "cache/grace/grace.h"
#include "manual_rcu.h"
#include "unit/cache/cache_fixture.h"

struct node {
	long key;
	struct rcu_head rcu;
	long value;
};

static inline void bound(void)
{
	ready();
	CHILD_CHECK(kmalloc_init() == 0 && os_rcu_bind(&manual_rcu) == 0);
}

static inline struct node *new_node(struct cache *c)
{
	struct node *node = get(c);

	CHILD_CHECK(node);
	memset(node, 0, sizeof(*node));
	return node;
}

static inline void free_node(struct node *node)
{
	grace_free(&node->rcu, node, NULL);
}

#endif /* UNIT_CACHE_GRACE_FIXTURE_H */
