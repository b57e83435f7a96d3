/* SPDX-License-Identifier: MIT */
/*
 * engine/slub/shrink.c - empty slabs back, the fullest first on the partial lists (spec 4.14); and
 * those that were kept empty
 *
 * Data:       one list per number of free objects, on the stack.
 * Invariants: afterwards partial lists are sorted by free objects, ascending, as far as 32; slabs
 *             with more free objects follow in their old order; none is empty.
 * Locks:      list_lock, for one walk of a node's partial list; pages go back without it.
 * Flow:       called by slub.c and through slub_ops, after the front was drained.
 */
#include "engine/slub/slab.h"

#define SHRINK_PROMOTE_MAX 32
#define REAP_LOOKS 64 /* slabs, in one hold of the lock */

/* What a tool asks for must not give away pages whose free list is no proof that they are free. */
static void isolate_broken_locked(struct engine *e, struct engine_node *node)
{
	struct list_head *pos;
	struct list_head *tmp;

	list_for_each_safe(pos, tmp, &node->partial) {
		struct page *slab = list_entry(pos, struct page, lru);

		if (slub_list_is_whole_locked(e, slab))
			continue;
		engine_mistake(e, page_address(slab), ENGINE_LIST_BROKEN);
		slub_isolate_locked(e, node, slab);
	}
}

/* A slab that is empty leaves the partial list. */
static bool take_empty_locked(struct engine *e, struct engine_node *node, struct page *slab,
			      struct page **empty)
{
	/* Pushes may make it emptier meanwhile, but not empty: see free.c. */
	if (slub_read(slab).counters.inuse)
		return false;
	engine_node_remove_partial_locked(node, slab);
	slub_unaccount(e, slab);
	slab->next = *empty;
	*empty = slab;
	return true;
}

/* Sorts the partial slabs of a node. Returns the empty ones, linked by page.next. */
static struct page *sort_node_locked(struct engine *e, struct engine_node *node)
{
	struct list_head promote[SHRINK_PROMOTE_MAX];
	struct page *empty = NULL;
	struct list_head *pos;
	struct list_head *tmp;
	unsigned int i;

	for (i = 0; i < SHRINK_PROMOTE_MAX; i++)
		list_init(&promote[i]);

	list_for_each_safe(pos, tmp, &node->partial) {
		struct page *slab = list_entry(pos, struct page, lru);
		struct slab_counters counters;
		unsigned int free;

		if (take_empty_locked(e, node, slab, &empty))
			continue;
		counters = slub_read(slab).counters;
		free = counters.objects - counters.inuse;
		if (free <= SHRINK_PROMOTE_MAX) {
			list_del(&slab->lru);
			list_add(&slab->lru, &promote[free - 1]);
		}
	}
	for (i = SHRINK_PROMOTE_MAX; i-- > 0;)
		list_splice(&promote[i], &node->partial);
	return empty;
}

int slub_shrink(struct engine *e)
{
	struct slub *s = slub_of(e);
	int remain = 0;
	unsigned int i;

	for (i = 0; i < s->nr_nodes; i++) {
		struct engine_node *node = s->node[i];
		struct page *empty;

		lock_acquire(&node->list_lock);
		if (load_relaxed(&e->verify_frees))
			isolate_broken_locked(e, node);
		empty = sort_node_locked(e, node);
		lock_release(&node->list_lock);
		engine_mistakes_deliver();
		slub_free_slabs(e, empty);
		if (load_relaxed(&node->nr_slabs))
			remain = 1;
	}
	return remain;
}

/*
 * Those that a free has kept because its node had few partial slabs: where it has many by now, few
 * are empty.
 */
unsigned long slub_reap(struct engine *e, unsigned int index)
{
	struct engine_node *node = slub_of(e)->node[index];
	struct page *empty = NULL;
	unsigned long looks = 0;
	unsigned long n = 0;
	struct list_head *pos;
	struct list_head *tmp;

	if (!load_relaxed(&node->nr_partial))
		return 0;
	lock_acquire(&node->list_lock);
	list_for_each_safe(pos, tmp, &node->partial) {
		if (looks++ == REAP_LOOKS)
			break;
		n += take_empty_locked(e, node, list_entry(pos, struct page, lru), &empty);
	}
	lock_release(&node->list_lock);
	slub_free_slabs(e, empty);
	return n;
}
