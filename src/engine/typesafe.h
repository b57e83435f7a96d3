/* SPDX-License-Identifier: MIT */
/*
 * engine/typesafe.h - SLAB_TYPESAFE_BY_RCU: what is freed keeps its type for a grace period
 *
 * Why:        docs/adr/0045.
 * Data:       struct footer behind an object that waits, where the kernel has its own (spec 1.7).
 * Invariants: engines whose slabs have objects of one cache (slub, slab) take freed ones back at
 *             once, and slabs that are given back wait. The others (slob, slobseg) write into free
 *             objects, construct again, and may give the bytes to another cache: there each object
 *             that is flushed waits, and counts as in use until then.
 * Locks:      none here; see os_rcu_defer().
 * Flow:       called by debug/slab.c and engine/; calls os/rcu/rcu.c, page/pcp.c.
 */
#ifndef ENGINE_TYPESAFE_H
#define ENGINE_TYPESAFE_H

#include "engine/engine.h"
#include "engine/limit.h"
#include "page/pcp.h"

/* Bytes for it behind object_size, as in the kernel (spec 1.7). */
#define ENGINE_FOOTER_BYTES 24u

/* Frees the pages of a slab, or has them wait. */
static inline void engine_free_pages(const struct engine *e, struct page *slab)
{
	engine_limit_give(e, 1ul << slab->order);
	if (unlikely(engine_is_typesafe(e)))
		pcp_free_later(slab, slab->order, (enum pcp_kind)e->page_lists);
	else
		pcp_free(slab, slab->order, (enum pcp_kind)e->page_lists);
}

/*
 * Has objects of a type-safe cache wait, and calls e->ops->reclaim with them after that. One that
 * waits already is reported. Context: no lock of an engine held.
 */
cold void engine_defer(struct engine *e, void **objs, unsigned int n);

#endif /* ENGINE_TYPESAFE_H */
