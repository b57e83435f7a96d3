/* SPDX-License-Identifier: MIT */
/*
 * engine/slub/take_new.c - new slabs that are handed out whole (spec 13.2, NEW)
 *
 * Why:        docs/adr/0046.
 * Data:       none of its own.
 * Invariants: no free list is built: such a slab is full from its first moment, and so on no list.
 * Locks:      none; list_lock where full slabs are linked.
 * Flow:       called through slub_ops; calls slab.c, node.c.
 *
 * Objects come out ascending, or in the order of the cache's permutation if it has one: that is
 * there so that nobody can foretell addresses.
 */
#include "engine/slub/slab.h"

/* All objects of a slab into objs[]. */
static void hand_out(struct slub *s, const struct page *slab, unsigned int objects, void **objs)
{
	const size_t stride = slab->layout->stride;
	char *obj = slub_object(slab, 0);
	unsigned int pos;

	if (likely(!s->random_seq || objects > s->layout.objects)) {
		for (void **end = objs + objects; objs < end; obj += stride)
			*objs++ = obj;
		return;
	}
	pos = (unsigned int)(slub_draw(s) % s->layout.objects);
	for (unsigned int i = 0; i < objects; i++)
		objs[i] = slub_object(slab, slub_next_random(s, &pos, objects));
}

static void add_full(struct engine *e, struct page *slab)
{
	struct engine_node *node = slub_node_of(e, slab);

	if (likely(!(load_relaxed(&e->flags) & SLAB_STORE_USER)))
		return;
	lock_acquire(&node->list_lock);
	slub_node_add_full_locked(e, node, slab);
	lock_release(&node->list_lock);
}

/* A slab of at most max objects into objs[]. Returns how many; 0: out of memory. */
static unsigned int take_slab(struct engine *e, void **objs, unsigned int max, gfp_t gfp)
{
	struct page *slab = slub_new_slab(e, gfp, NUMA_NO_NODE, SLUB_WHOLE);
	unsigned int objects;

	if (!slab)
		return 0;
	objects = slub_read(slab).counters.objects;
	engine_count(e, ALLOC_SLAB);
	if (unlikely(objects > max)) { /* the order of new slabs was raised meanwhile */
		slub_unaccount(e, slab);
		slub_free_pages(e, slab);
		return 0;
	}
	add_full(e, slab);
	hand_out(slub_of(e), slab, objects, objs);
	return objects;
}

unsigned int slub_take_new(struct engine *e, void **objs, unsigned int want, gfp_t gfp)
{
	unsigned int got = 0;
	unsigned int n;

	/* Acquire: as in slub_new_slab(). */
	while (want - got >= load_acquire(&e->layout)->objects) {
		n = take_slab(e, objs + got, want - got, gfp);
		if (!n)
			break;
		got += n;
	}
	return got;
}
