/* SPDX-License-Identifier: MIT */
/*
 * debug/attach.c - attaches struct debug to a cache, sets its flags, and frees it
 *
 * Why:        docs/adr/0012.
 * Data:       struct debug and its nodes, from page/meta.c.
 * Invariants: engine->debug is set before engine->ops is debug.ops. A layout never changes once it
 *             was made: slabs point at its element of layouts[].
 * Locks:      the registry lock, held by the caller; list_lock of each node to sort its slabs
 *             again.
 * Flow:       called by cache/; calls layout.c, slab.c, wrap.c.
 */
#include <errno.h>

#include "debug/report/report.h"
#include "debug/slab.h"
#include "engine/slub/slub.h"
#include "os/process/random.h"
#include "page/meta.h"

static size_t debug_bytes(unsigned int nr_nodes)
{
	return sizeof(struct debug) + nr_nodes * sizeof(struct engine_node *);
}

static void delete_debug(struct debug *d)
{
	for (unsigned int i = 0; i < d->nr_nodes; i++)
		engine_node_delete(d->node[i]);
	meta_free(d, debug_bytes(d->nr_nodes));
}

static struct debug *new_debug(struct engine *e)
{
	unsigned int nr_nodes = engine_nr_nodes();
	struct debug *d = meta_alloc(debug_bytes(nr_nodes));

	if (!d)
		return NULL;
	d->engine = e;
	d->inner = e->ops;
	d->min_partial = slub_min_partial(e->size);
	d->nr_nodes = nr_nodes;
	for (unsigned int i = 0; i < nr_nodes; i++) {
		d->node[i] = engine_node_new();
		if (!d->node[i]) {
			delete_debug(d);
			return NULL;
		}
	}
	return d;
}

int debug_attach(struct engine *e, bool orig_size, bool hardened)
{
	struct debug *d;

	if (e->debug)
		return 0;
	d = new_debug(e);
	if (!d)
		return -ENOMEM;
	/* with a constructor: to fill the rest red would undo what was constructed */
	d->orig_size = orig_size && !e->ctor;
	d->hardened = hardened;
	if (hardened)
		d->random = os_random();
	debug_wrap_ops(d);
	e->debug = d;
	/* An atomic store: a caller of one of the new ops finds struct debug ready. */
	e->ops = &d->ops;
	return 0;
}

void debug_set_inner(struct engine *e, const struct engine_ops *inner)
{
	e->debug->inner = inner;
	debug_wrap_ops(e->debug);
}

void debug_detach(struct engine *e)
{
	struct debug *d = e->debug;

	if (!d)
		return;
	e->ops = d->inner;
	e->debug = NULL;
	delete_debug(d);
}

/* ---- flags ----------------------------------------------------------------------------------- */

static int make_layout(const struct engine *e, slab_flags_t flags, struct slab_layout *layout)
{
	slab_flags_t rcu = load_relaxed(&e->flags) & SLAB_TYPESAFE_BY_RCU;

	debug_layout_sizes(layout, load_relaxed(&e->object_size), e->align,
			   (flags & DEBUG_LAYOUT_FLAGS) | rcu, e->ctor, e->debug->orig_size);
	return debug_layout_orders(layout);
}

/* The layout for these flags, made at the first request. NULL: no slab is large enough. */
static const struct slab_layout *layout_for(const struct engine *e, slab_flags_t flags)
{
	struct slab_layout *layout = &e->debug->layouts[debug_layout_index(flags)];
	struct slab_layout made;

	if (!layout->stride) {
		if (make_layout(e, flags, &made))
			return NULL;
		*layout = made;
	}
	return layout;
}

/* Option O (spec 6.1). */
static slab_flags_t without_higher_order(const struct engine *e, slab_flags_t flags)
{
	struct slab_layout layout;

	if (make_layout(e, flags, &layout) == 0 &&
	    get_order(layout.stride) <= get_order(load_relaxed(&e->object_size)))
		return flags;
	return flags & ~DEBUG_LAYOUT_FLAGS;
}

/* Puts each slab on the list where it belongs now, and frees empty ones that are surplus. */
static void sort_node(struct engine *e, struct engine_node *node)
{
	struct list_head *const lists[] = { &node->full, &node->partial };
	struct page *empty = NULL;
	struct list_head *pos;
	struct list_head *tmp;

	lock_acquire(&node->list_lock);
	for (unsigned int i = 0; i < ARRAY_SIZE(lists); i++)
		list_for_each_safe(pos, tmp, lists[i]) {
			struct page *slab = list_entry(pos, struct page, lru);

			if (debug_is_surplus_locked(slab, false))
				debug_forget_locked(slab, &empty);
			else
				debug_place_locked(slab, true);
		}
	lock_release(&node->list_lock);
	debug_slab_free_list(e, empty);
}

int debug_set_flags(struct engine *e, slab_flags_t flags, bool no_higher_order)
{
	struct debug *d = e->debug;
	const struct slab_layout *layout = d->layout;

	flags &= DEBUG_SLAB_FLAGS;
	if (no_higher_order && flags & DEBUG_LAYOUT_FLAGS)
		flags = without_higher_order(e, flags);
	if (flags)
		layout = layout_for(e, flags);
	if (flags && !layout)
		return -E2BIG;
	/* Release: pairs with the acquire in debug_alloc(). */
	store_release(&d->layout, layout);
	store_relaxed(&d->flags, flags);
	for (unsigned int i = 0; i < d->nr_nodes; i++)
		sort_node(e, d->node[i]);
	return 0;
}

bool debug_may_merge(const struct engine *e)
{
	for (unsigned int i = 1; e->debug && i < DEBUG_LAYOUTS; i++)
		if (e->debug->layouts[i].stride)
			return false;
	return true;
}
