/* SPDX-License-Identifier: MIT */
/*
 * engine/slab/free.c - objects back to their slabs: free_block (spec 3.8)
 *
 * Data:       none of its own.
 * Invariants: after a flush free_objects <= free_limit, or the node has no free slab.
 *             What the program freed is an object of the cache only if slab_home() says so.
 * Locks:      list_lock, once for neighbours of one node; pages go back without it.
 * Flow:       called through slab_ops; calls node.c, index.c, grow.c.
 */
#include "engine/slab/slab.h"

static cold void say_again_locked(struct engine *e, struct slab_node *node, void *obj)
{
	engine_mistake(e, obj, ENGINE_FREE_AGAIN);
	node->said = true;
}

/* Of an isolated slab, what was in use comes back, and is never used again. */
static cold bool drop_locked(struct page *slab)
{
	struct slab_counters counters = engine_counters(slab);

	if (!counters.frozen || !counters.formatted || slab_is_evacuated(counters))
		return false;
	counters.formatted--;
	engine_set_counters(slab, counters);
	return true;
}

/* Nothing of it is in use; or it is on no list, because it is new or isolated. */
static inline bool takes_nothing_locked(const struct page *slab)
{
	return unlikely(!engine_counters(slab).inuse || !slab->lru.next);
}

/*
 * Takes back the objects of one slab that objs begins with, of which number is the first one's, n
 * at most; returns how many. The slab goes to the end of the partial list, even if it was on it, so
 * that its other objects have the longest time to be freed, too. Moving it once for all of them
 * leaves the lists as moving it each time.
 */
static unsigned int put_objects_locked(struct engine *e, struct slab_node *node, struct page *slab,
				       unsigned int number, void **objs, unsigned int n)
{
	const struct slab_cache *c = slab_cache_of(e);
	bool verify = load_relaxed(&e->verify_frees);
	unsigned int again = 0;
	unsigned int i = 0;

	if (takes_nothing_locked(slab)) {
		if (!drop_locked(slab))
			say_again_locked(e, node, objs[0]);
		return 1;
	}
	slab_node_unlink_locked(node, slab);
	do {
		if (unlikely(!slab_index_put(c, slab, number, verify))) {
			say_again_locked(e, node, objs[i]);
			again++;
		}
	} while (++i < n && slab_home(c, objs[i], &number) == slab);
	slab_node_link_locked(node, slab, true);
	slab_node_add_free_locked(node, (long)(i - again));
	return i;
}

/*
 * Takes back the objects of one node that objs begins with, n at most; returns how many. slab is
 * the first one's, as it was without the lock: if that object is free the slab may be gone by now.
 */
static unsigned int flush_to_node(struct engine *e, struct page *slab, unsigned int number,
				  void **objs, unsigned int n)
{
	const struct slab_cache *c = slab_cache_of(e);
	struct slab_node *node = c->node[slab->node];
	unsigned int nr = slab->node;
	struct page *dropped = NULL;
	unsigned int done = 0;

	lock_acquire(&node->list_lock);
	if (unlikely(!slab_is_of(c, slab))) {
		say_again_locked(e, node, objs[0]);
		done = 1;
		slab = NULL;
	}
	while (slab && slab->node == nr) {
		done += put_objects_locked(e, node, slab, number, objs + done, n - done);
		if (done == n)
			break;
		slab = slab_home(c, objs[done], &number);
	}
	while (node->free_objects > node->free_limit && slab_node_drop_locked(node, &dropped)) {}
	engine_unlock(&node->list_lock, &node->said);
	slab_release(e, dropped);
	return done;
}

void slab_flush(struct engine *e, void **objs, unsigned int n)
{
	while (n) {
		unsigned int number;
		struct page *slab = slab_home(slab_cache_of(e), objs[0], &number);
		unsigned int done = 1;

		if (likely(slab))
			done = flush_to_node(e, slab, number, objs, n);
		else
			engine_mistake_now(e, objs[0], ENGINE_NO_OBJECT);
		objs += done;
		n -= done;
	}
}
