/* SPDX-License-Identifier: MIT */
/*
 * cache/stats.c - a cache in numbers, for the program; tools count from outside (inspect/)
 *
 * Why:        docs/adr/0047.
 * Data:       none.
 * Invariants: on a quiet cache the numbers are those of inspect/snapshot.c.
 * Locks:      cache_lock, and what engine and front take.
 * Flow:       called by api/manage_api.c; calls the front's held, the engine's stats,
 *             debug/kfence/kfence.c.
 */
#include "base/atomic.h"
#include "cache/instrument/instrument.h"
#include "cache/internal.h"
#include "cache/lent.h"
#include "cache/mobility/mobility.h"
#include "debug/kfence/kfence.h"

/* Of new slabs. */
static const struct slab_layout *layout_of(const struct cache *c)
{
	const struct engine *e = &c->engine;
	bool debugged = load_relaxed(&c->flags) & DEBUG_SLAB_FLAGS && e->debug;
	const struct slab_layout *layout = debugged ? load_acquire(&e->debug->layout) : NULL;

	return layout ? layout : e->layout; /* pairs with debug_set_flags() */
}

static void fill_moves(const struct cache *c, struct kmem_cache_statistics *stats)
{
	const struct mobility *m = mobility_find_locked(c);
	struct mobility_counters none = { 0 };
	const struct mobility_counters *counters = m ? &m->counters : &none;

	stats->defrag_slabs = load_relaxed(&counters->slabs);
	stats->defrag_bytes = load_relaxed(&counters->bytes);
	stats->defrag_moved = load_relaxed(&counters->moved);
	stats->defrag_refused = load_relaxed(&counters->refused);
}

static void fill(struct cache *c, struct kmem_cache_statistics *stats)
{
	const struct slab_layout *layout = layout_of(c);
	struct kfence_share guarded = kfence_share_of(&c->engine);
	struct engine_stats e;
	unsigned long free;

	c->engine.ops->stats(&c->engine, &e);
	stats->object_size = load_relaxed(&c->engine.object_size);
	stats->slab_size = layout->kind == LAYOUT_DEBUG ? layout->stride : c->engine.size;
	stats->objs_per_slab = layout->objects;
	stats->objects_lent = lent_sum(c).objects;
	stats->total_objects = e.total_objects + guarded.pages;
	stats->slabs = e.nr_slabs + guarded.pages;
	stats->slab_bytes = e.slab_bytes + guarded.pages * PAGE_SIZE;
	free = e.free_objects + guarded.pages - guarded.inuse + stats->objects_lent +
	       c->front.ops->held(&c->front);
	fill_moves(c, stats);
	/* they are counted one after the other */
	stats->objects_free = free < stats->total_objects ? free : stats->total_objects;
	stats->objects = stats->total_objects - stats->objects_free;
}

void cache_stats(struct cache *c, struct kmem_cache_statistics *stats)
{
	lock_acquire(&cache_lock);
	instrument_enter();
	fill(c, stats);
	instrument_leave();
	cache_unlock();
}
