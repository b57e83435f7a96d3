/* SPDX-License-Identifier: MIT */
/*
 * engine/slub/low.c - objects for those that move, of slabs low in the arena
 *
 * Why:        docs/adr/0060.
 * Data:       none of its own.
 * Invariants: none.
 * Locks:      list_lock for a look at the list's head, and to put a new slab there. Other threads
 *             may take what was seen: then an object comes from the next slab, wherever it lies.
 * Flow:       called through slub_evacuation; calls refill.c, slab.c.
 */
#include <limits.h>

#include "base/bits.h"
#include "engine/evacuation.h"
#include "engine/slub/slab.h"

#define LOOKS 16u /* slabs from the head of the list on, in one hold of list_lock */

/*
 * Free objects of the first slab below page far, which moves to the list's head; 0: none of the
 * first LOOKS is.
 */
static unsigned int count_below(struct engine_node *node, unsigned long far)
{
	unsigned int count = 0;
	unsigned int looks = 0;
	struct list_head *pos;

	lock_acquire(&node->list_lock);
	list_for_each(pos, &node->partial) {
		struct page *slab = list_entry(pos, struct page, lru);
		struct slab_counters counters = slub_read(slab).counters;

		if (evacuation_index(slab) < far) {
			engine_node_remove_partial_locked(node, slab);
			engine_node_add_partial_locked(node, slab, false);
			count = counters.objects - counters.inuse;
			break;
		}
		if (++looks == LOOKS)
			break;
	}
	lock_release(&node->list_lock);
	return count;
}

/* A new slab below page far, at the list's head. Returns its objects; 0: there is none. */
static unsigned int add_below(struct engine *e, struct engine_node *node, unsigned long far)
{
	struct page *slab = slub_new_low_slab(e, far);
	unsigned int objects = slab ? slub_read(slab).counters.objects : 0;

	if (!slab)
		return 0;
	engine_count(e, ALLOC_SLAB);
	lock_acquire(&node->list_lock);
	engine_node_add_partial_locked(node, slab, false);
	lock_release(&node->list_lock);
	return objects;
}

unsigned int slub_take_below(struct engine *e, unsigned int node, void **objs, unsigned int want,
			     unsigned long far, bool grows)
{
	struct engine_node *n = slub_of(e)->node[node];
	unsigned int got = 0;
	unsigned int taken;

	do {
		unsigned int count = far == ULONG_MAX ? want : count_below(n, far);

		if (!count && grows)
			count = add_below(e, n, far);
		if (!count && grows && !got)
			count = want; /* of any */
		taken = count ? slub_take_listed(e, node, objs + got, MIN(count, want - got)) : 0;
		got += taken;
	} while (taken && got < want && far != ULONG_MAX);
	return got;
}
