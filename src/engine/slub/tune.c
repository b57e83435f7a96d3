/* SPDX-License-Identifier: MIT */
/*
 * engine/slub/tune.c - knobs of a cache that is in use: the order of new slabs, CPU partial slabs
 *
 * Data:       slub.by_order: one layout for each order, made at the first request, kept until the
 *             cache goes: slabs point at them.
 * Invariants: they differ from the cache's layout in order and number of
 *             objects only, and never change.
 * Locks:      the registry lock, held by the callers; slabs are made meanwhile.
 * Flow:       called by cache/control/attribute.c and slub.c.
 */
#include <errno.h>

#include "base/bits.h"
#include "engine/slub/slab.h"
#include "page/meta.h"

#define NR_ORDERS (SLUB_MAX_ORDER + 1)

static unsigned int objects_in(unsigned int order, unsigned int stride)
{
	return (unsigned int)MIN((PAGE_SIZE << order) / stride, (unsigned long)SLAB_MAX_OBJECTS);
}

static struct slab_layout *make_orders(const struct slub *s)
{
	struct slab_layout *layouts = meta_alloc(NR_ORDERS * sizeof(*layouts));
	unsigned int smallest = get_order(s->layout.stride);

	for (unsigned int order = smallest; layouts && order < NR_ORDERS; order++) {
		layouts[order] = s->layout;
		layouts[order].order = order;
		layouts[order].objects = objects_in(order, s->layout.stride);
		layouts[order].min_order = smallest;
		layouts[order].min_objects = objects_in(smallest, s->layout.stride);
	}
	return layouts;
}

int slub_set_order(struct engine *e, unsigned int order)
{
	struct slub *s = slub_of(e);

	if (!slub_order_is_allowed(order) || order < get_order(s->layout.stride))
		return -EINVAL;
	if (!s->by_order)
		s->by_order = make_orders(s);
	if (!s->by_order)
		return -ENOMEM;
	/* Release: pairs with the acquire in slub_new_slab(). */
	store_release(&e->layout, &s->by_order[order]);
	return 0;
}

void slub_delete_orders(struct slub *s)
{
	if (s->by_order)
		meta_free(s->by_order, NR_ORDERS * sizeof(*s->by_order));
}

unsigned int slub_cpu_partial_slabs(const struct slub *s)
{
	return DIV_ROUND_UP(2 * s->cpu_partial, s->layout.objects);
}

void slub_set_cpu_partial(struct engine *e, unsigned int objects)
{
	struct slub *s = slub_of(e);

	/* no more than any list of slabs is long */
	store_relaxed(&s->cpu_partial, MIN(objects, 1u << 30));
	store_relaxed(&s->cpu_partial_slabs, slub_cpu_partial_slabs(s));
}
