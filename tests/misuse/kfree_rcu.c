/* SPDX-License-Identifier: MIT */
/*
 * misuse/kfree_rcu.c - a block given to kfree_rcu() twice, a pointer to no block, one that is free,
 * and a block that is freed otherwise while it waits
 *
 * misuse: kfree_rcu
 * misuse: kfree_rcu_debug USLAB_DEBUG=FZPU
 */

#include <uslab/rcu.h>

#include "misuse.h"

struct node {
	long key;
	struct rcu_head rcu;
};

/* Grace periods for a program without readers. */
static struct rcu_head *waiting;
static void (*waiting_func)(struct rcu_head *head);

static void call(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	waiting = head;
	waiting_func = func;
}

static void grace(void)
{
	struct rcu_head *head = waiting;

	waiting = NULL;
	if (head)
		waiting_func(head);
}

static struct node *wild_node(void *p)
{
	return (struct node *)wild(p);
}

static __attribute__((noinline)) void twice(struct kmem_cache *s)
{
	struct node *p = kmem_cache_alloc(s, GFP_KERNEL);

	kfree_rcu(p, rcu);
	kfree_rcu(p, rcu);
	kvfree_rcu_barrier();
}

static __attribute__((noinline)) void wrong(struct kmem_cache *s)
{
	struct node *p = kmem_cache_alloc(s, GFP_KERNEL);
	struct node *inside = wild_node(&p->rcu);
	struct node local[2];
	/* at the start of a page it could be a large block that was freed: other words */
	bool starts_page = (uintptr_t)local % 4096 == 0;

	kfree_rcu(inside, rcu);
	kfree_rcu_mightsleep(wild(&local[starts_page]));
	kmem_cache_free(s, p);
	p = wild_node(p);
	kfree_rcu(p, rcu);
}

static __attribute__((noinline)) void freed_otherwise(struct kmem_cache *s)
{
	struct node *p = kmem_cache_alloc(s, GFP_KERNEL);
	struct node *other;

	kfree_rcu(p, rcu);
	kmem_cache_free(s, wild_node(p));
	other = kmem_cache_zalloc(s, GFP_KERNEL);
	kvfree_rcu_barrier();
	kmem_cache_free(s, other);
}

int main(void)
{
	const struct uslab_rcu_ops ops = { call, grace, grace };
	struct kmem_cache *s;

	stay_here();
	if (uslab_set_rcu(&ops))
		return 1;
	s = kmem_cache_create("node", sizeof(struct node), 0, 0, NULL);
	twice(s);
	wrong(s);
	freed_otherwise(s);
	kmem_cache_destroy(s);
	return survived();
}
