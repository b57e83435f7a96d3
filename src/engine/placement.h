/* SPDX-License-Identifier: MIT */
/*
 * engine/placement.h - from which nodes the slabs of a cache come (spec 0.4, 3.10, 4.9)
 *
 * Why:        docs/adr/0062.
 * Data:       the policies of caches, by number. The others are os/memory/policy.h's.
 * Invariants: while a cache is bound (OS_POLICY_BIND) no slab of it that is a block lies on another
 *             node, but one whose maker has still to ask placement_keeps().
 * Locks:      the registry lock of cache/ for changes; readers take none.
 * Flow:       called by cache/policy.c, cache/destroy.c, cache/direct.c, debug/alloc.c,
 *             debug/kfence/kfence.c, debug/slab.c, engine/ and front/queues.c; calls
 *             os/memory/policy.h, os/memory/place.h and page/.
 *
 * A cache's policy goes before that of the thread, which goes before that of the process. A node
 * that the call names goes before all of them; but a bound cache has no slab elsewhere, whatever
 * the call says: the nearest of its nodes serves then, and with __GFP_THISNODE none.
 *
 * Callers on machines with one node need not come here.
 */
#ifndef ENGINE_PLACEMENT_H
#define ENGINE_PLACEMENT_H

#include "engine/engine.h"
#include "os/cpu/cpu.h"
#include "os/memory/policy.h"
#include "page/page.h"

/*
 * The kernel's cpuset.memory_spread_slab for all threads (USLAB_CONF=spread_slab): objects of
 * caches of this engine with SLAB_MEM_SPREAD come from all nodes in turn. NULL: of none. Set before
 * caches exist.
 */
extern const struct engine_ops *placement_spreads;

/* Of a cache; NULL: it has none. It stays readable for ever. */
const struct os_policy *placement_policy(const struct engine *e);
/* Sets it, or NULL. 0; -ENOMEM: nothing has changed. Context: registry lock. */
int placement_set_policy(const struct engine *e, const struct os_policy *policy);

struct os_place placement_next_slow(const struct engine *e, gfp_t gfp, int node);
/*
 * From which nodes the next slab, or object, of a cache comes; the cursor of its policy moves on.
 * e: NULL for a heap. node: named by the call, or -1.
 */
static inline struct os_place placement_next(const struct engine *e, gfp_t gfp, int node)
{
	if (likely(os_topology.nr_nodes == 1))
		return (struct os_place){ .nodes = OS_ALL_NODES };
	return placement_next_slow(e, gfp, node);
}

/* Only the first node of a place, and no certainty beyond that of its zone. */
static inline struct os_place placement_first(const struct os_place *place)
{
	struct os_place first = *place;

	first.nodes &= 1ull << place->first;
	return first;
}

/* Without that, where to look for slabs with free objects first: by spec 4.9 on the CPU's node. */
unsigned int placement_search(const struct engine *e, unsigned int nr_nodes, int node);
/* The node from which the others are searched, in the order of their distance (spec 4.9). */
unsigned int placement_zonelist(const struct engine *e);
/* Is it bound to nodes? */
bool placement_is_bound(const struct engine *e);
/* May an object of e lie on that node? */
bool placement_allows(const struct engine *e, unsigned int node);
/* The same, and the node has memory. */
bool placement_serves(const struct engine *e, unsigned int node);

/* Does the call want a node without memory, or one that the cache is not bound to, and no other? */
static inline bool placement_refuses(const struct engine *e, gfp_t gfp, int node)
{
	return unlikely(gfp & __GFP_THISNODE) && os_topology.nr_nodes > 1 && node >= 0 &&
	       (unsigned int)node < os_topology.nr_nodes &&
	       !placement_serves(e, (unsigned int)node);
}

/*
 * A call that found no memory begins anew if the policy is another one by now: it may have looked
 * where the cache was bound to before.
 */
static inline bool placement_changed(const struct engine *e, const struct os_policy *policy)
{
	return unlikely(os_topology.nr_nodes > 1) && placement_policy(e) != policy;
}

/* Do all objects of this thread, which runs on node local, come from there? */
bool placement_is_local(const struct engine *e, unsigned int local);

/*
 * A block of pages, counted as the cache's (limit.h); page.order is not set. NULL: out of memory
 * there, or more than the cache may have. e: NULL for a heap.
 */
struct page *placement_pages(const struct engine *e, unsigned int order,
			     const struct os_place *place);
/*
 * To be asked by whoever made a slab, once it is a block, and before anybody gets an object of it.
 * false: the cache was bound to other nodes meanwhile; the slab must go, and the call begins anew.
 */
bool placement_keeps(const struct engine *e, const struct page *slab);

#endif /* ENGINE_PLACEMENT_H */
