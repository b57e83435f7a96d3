/* SPDX-License-Identifier: MIT */
/*
 * engine/slub/evacuate.c - slabs that are emptied: taken off the partial list, and put back
 *
 * Why:        docs/adr/0060.
 * Data:       none of its own.
 * Invariants: a slab that is being emptied is frozen, as if a CPU owned it: pushes only push, and
 *             nobody takes from it. Unlike a CPU's it keeps its free list, and `formatted`.
 * Locks:      list_lock to freeze and to unfreeze; in the table of free.c these are "acquire" and
 *             "unfreeze". Objects come back without it.
 * Flow:       called through slub_evacuation; calls slab.c, low.c, sparse.c.
 */
#include "engine/evacuation.h"
#include "engine/slub/slab.h"

static unsigned long listed(struct engine *e, unsigned int node)
{
	return load_relaxed(&slub_of(e)->node[node]->nr_partial);
}

static unsigned long slabs(struct engine *e, unsigned int node)
{
	return load_relaxed(&slub_of(e)->node[node]->nr_slabs);
}

/* Of a slab that is on no list: a push that comes in between finds it as it was, or frozen. */
static void set_frozen_locked(struct engine *e, struct page *slab, bool frozen)
{
	struct slub_state old;
	struct slub_state new;

	do {
		old = slub_read(slab);
		new = old;
		new.counters.frozen = frozen;
	} while (!slub_exchange(e, slab, &old, &new));
}

static unsigned int choose(struct engine *e, struct evacuation_choice *choice,
			   struct evacuated *set)
{
	struct engine_node *node = slub_of(e)->node[choice->node];
	unsigned int looked = 0;

	lock_acquire(&node->list_lock);
	while (looked < choice->look && set->nr < EVACUATED_MAX && !list_empty(&node->partial)) {
		struct page *slab = list_last(&node->partial, struct page, lru);
		struct slab_counters counters = slub_read(slab).counters;

		looked++;
		engine_node_remove_partial_locked(node, slab);
		if (evacuation_takes(choice, slab, counters.inuse, counters.objects)) {
			set_frozen_locked(e, slab, true);
			evacuated_add(set, slab);
		} else {
			engine_node_add_partial_locked(node, slab, false);
		}
	}
	lock_release(&node->list_lock);
	return looked;
}

static unsigned long end(struct engine *e, struct evacuated *set, unsigned int i, bool tail)
{
	struct engine_node *node = slub_node_of(e, set->slab[i]);
	struct slab_counters counters;
	struct page *slab;
	unsigned long pages = 0;

	lock_acquire(&node->list_lock);
	slab = evacuated_remove(set, i);
	set_frozen_locked(e, slab, false);
	counters = slub_read(slab).counters;
	if (!counters.inuse) {
		pages = slab->nr_pages;
		slub_unaccount(e, slab);
	} else if (counters.inuse < counters.objects) { /* else it was isolated meanwhile */
		engine_node_add_partial_locked(node, slab, tail);
	}
	lock_release(&node->list_lock);
	if (pages)
		slub_free_pages(e, slab);
	return pages;
}

const struct engine_evacuation slub_evacuation = {
	.listed = listed,
	.slabs = slabs,
	.choose = choose,
	.take = slub_take_below,
	.end = end,
	.is_sparse = slub_is_sparse,
};
