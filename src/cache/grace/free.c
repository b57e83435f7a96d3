/* SPDX-License-Identifier: MIT */
/*
 * cache/grace/free.c - kfree_rcu(): which way a block goes, and how it is freed at the end
 *
 * Why:        docs/adr/0045.
 * Data:       none of its own.
 * Invariants: see grace.h.
 * Locks:      none held here.
 * Flow:       called by api/rcu_api.c, clear.c, destroy.c and policy.c; called back by os/rcu/rcu.c
 *             and page/nested.c; calls batch.c, check.c, sheaf_free.c, shrink.c,
 *             cache/kmalloc/kfree_bulk.c.
 *
 * Into a sheaf where the cache has some; else into a batch; without memory for one into the chain
 * OS_RCU_HEADS, through the head; without a head either the caller waits.
 */
#include "base/atomic.h"
#include "cache/grace/grace.h"
#include "os/process/say.h"
#include "page/meta.h"
#include "page/nested.h"

BUILD_ASSERT(sizeof(struct grace_link) == sizeof(struct grace_seal));

/* ---- after the grace period ---- */

/* NULL: no place in the program called for it now. */
static void free_blocks(unsigned int nr, void **p)
{
	kmalloc_free_bulk(NULL, nr, p);
}

static void release_batch(struct grace_batch *b)
{
	void *p[GRACE_BLOCKS];
	unsigned int nr = 0;

	for (unsigned int i = 0; i < b->nr; i++)
		if (!b->entry[i].head || grace_break_seal(b->entry[i].head, b->entry[i].p))
			p[nr++] = b->entry[i].p;
	meta_free(b, GRACE_BATCH_BYTES);
	free_blocks(nr, p);
}

static void release_batches(struct os_rcu_item *first)
{
	while (first) {
		struct grace_batch *b = container_of(first, struct grace_batch, item);

		first = first->next;
		release_batch(b);
	}
}

static void release_links(struct os_rcu_item *first)
{
	while (first) {
		void *p = container_of(first, struct grace_link, item)->p;

		first = first->next;
		free_blocks(1, &p);
	}
}

/* ---- before ---- */

static cold void say_unbound(void)
{
	static int said;

	if (!xchg(&said, 1))
		os_say("kfree_rcu(): no RCU is bound; what it is given is not freed before "
		       "uslab_set_rcu()");
}

static cold void free_without_memory(void *p, struct grace_seal *head)
{
	struct grace_link *link = (struct grace_link *)head;

	if (head) {
		link->p = p;
		os_rcu_defer(OS_RCU_HEADS, &link->item, release_links);
	} else if (os_rcu_is_bound()) {
		os_rcu_synchronize();
		free_blocks(1, &p);
	} else {
		os_say("kfree_rcu(): no RCU is bound, and no memory; 0x%lx is lost",
		       (unsigned long)p);
	}
}

static void free_deferred(void *head, void *p, const void *caller)
{
	grace_free(head, p, caller);
}

void grace_free(struct rcu_head *head, void *p, const void *caller)
{
	struct grace_seal *seal = (struct grace_seal *)head;
	size_t size;

	if (ZERO_OR_NULL_PTR(p))
		return;
	if (nested_call()) {
		nested_defer(free_deferred, head, p, caller);
		return;
	}
	if (unlikely(!grace_may_wait(seal, p, &size)))
		return;
	if (seal)
		grace_set_seal(seal, p);
	if (!grace_into_sheaf(p, seal) &&
	    unlikely(!grace_gather((struct grace_entry){ p, seal }, size, release_batches)))
		free_without_memory(p, seal);
	if (likely(os_rcu_is_bound()))
		os_rcu_submit();
	else
		say_unbound();
}

void grace_settle(struct cache *c)
{
	grace_wait(c);
	if (!c->engine.ops->reclaim || !engine_is_typesafe(&c->engine))
		return;
	cache_shrink(c); /* all free objects wait from now on */
	os_rcu_wait(OS_RCU_OBJECTS);
}
