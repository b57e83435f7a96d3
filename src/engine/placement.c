/* SPDX-License-Identifier: MIT */
/*
 * engine/placement.c - from which nodes the slabs of a cache come (spec 0.4, 3.10, 4.9)
 *
 * Why:        docs/adr/0062.
 * Data:       table[number of the cache]: its policy, and the cursor of INTERLEAVE. A policy that
 *             was given once stays in a list, so that a reader without a lock never sees one that
 *             changes; programs have few.
 * Invariants: see placement.h.
 * Locks:      see placement.h.
 * Flow:       see placement.h.
 *
 * Contract of binding a live cache, without a lock that makers of slabs would have to take. Both
 * sides store first, then fence, then look:
 *
 *     maker of a slab   pages of a node that the policy allows; the slab is a block (page.type);
 *                       fence; policy again: another one that forbids the node? then undo it
 *     setter            policy; fence; is any block of the cache on a node that it forbids?
 *                       then the old policy again, and -EBUSY
 *
 * One of the two sees the other: if the maker's fence comes first, the setter finds the block; else
 * the maker finds the new policy. A setter that finds a block whose maker is about to undo it says
 * -EBUSY without need; it may be called again. Progress: makers wait for nobody, and begin anew
 * only after a change of the policy.
 */
#include "engine/placement.h"

#include <errno.h>

#include "base/atomic.h"
#include "engine/limit.h"
#include "engine/nodes.h"
#include "os/cpu/cpu.h"
#include "os/cpu/nodes.h"
#include "os/memory/place.h"
#include "page/buddy.h"
#include "page/meta.h"
#include "page/numa.h"
#include "page/pcp.h"

struct kept_policy {
	struct os_policy policy; /* const */
	struct kept_policy *next;
};

struct cache_placement {
	const struct os_policy *policy; /* of kept; atomic */
	uint32_t cursor;		/* atomic */
};

static struct cache_placement *table; /* USLAB_NR_HANDLES; NULL until a cache has a policy */
static struct kept_policy *kept;

const struct engine_ops *placement_spreads;

static struct cache_placement *placement_of(const struct engine *e)
{
	struct cache_placement *all = load_acquire(&table); /* pairs with placement_set_policy() */

	return likely(!all) ? NULL : &all[e->id];
}

const struct os_policy *placement_policy(const struct engine *e)
{
	struct cache_placement *of = e ? placement_of(e) : NULL;

	return of ? load_acquire(&of->policy) : NULL; /* pairs with placement_set_policy() */
}

static const struct os_policy *keep(const struct os_policy *policy)
{
	struct kept_policy *k;

	for (k = kept; k; k = k->next)
		if (k->policy.mode == policy->mode && k->policy.mask == policy->mask)
			return &k->policy;
	k = meta_alloc(sizeof(*k));
	if (!k)
		return NULL;
	k->policy = *policy;
	k->next = kept;
	kept = k;
	return &k->policy;
}

int placement_set_policy(const struct engine *e, const struct os_policy *policy)
{
	const struct os_policy *stays = NULL;

	if (!table && policy) {
		struct cache_placement *all = meta_alloc(USLAB_NR_HANDLES * sizeof(*all));

		if (!all)
			return -ENOMEM;
		store_release(&table, all);
	}
	if (policy && !(stays = keep(policy)))
		return -ENOMEM;
	if (table) {
		store_release(&table[e->id].policy, stays);
		fence_seq_cst(); /* pairs with placement_keeps() */
	}
	return 0;
}

/* ---- asked ----------------------------------------------------------------------------------- */

static bool is_bound(const struct os_policy *policy)
{
	return policy && policy->mode == OS_POLICY_BIND;
}

/* The policy has no word here but for BIND: the call names the node. */
static struct os_place place_named(const struct os_policy *policy, gfp_t gfp, unsigned int node)
{
	bool this_node = gfp & __GFP_THISNODE;
	struct os_place place = {
		.first = os_nodes_with_memory(node),
		.nodes = this_node ? os_node_bit(node) & os_nodes.memory : OS_ALL_NODES,
		.sure = this_node,
	};

	if (is_bound(policy)) {
		place.nodes &= policy->mask;
		place.sure = true;
		if (!(gfp & __GFP_THISNODE))
			place.first = os_nodes_nearest(policy->mask, node);
	}
	return place;
}

/* Spec 3.10: it goes before the policy of the thread. */
static bool spreads(const struct engine *e)
{
	return unlikely(placement_spreads) && e && engine_is(e, placement_spreads) &&
	       load_relaxed(&e->flags) & SLAB_MEM_SPREAD;
}

struct os_place placement_next_slow(const struct engine *e, gfp_t gfp, int node)
{
	const struct os_policy *policy = placement_policy(e);
	unsigned int local = os_current_node();
	struct os_place place;

	if (node >= 0 && (unsigned int)node < os_topology.nr_nodes)
		return place_named(policy, gfp, (unsigned int)node);
	if (policy)
		place = os_policy_place_by(policy, &placement_of(e)->cursor, local);
	else
		place = spreads(e) ? os_policy_spread() : os_policy_place(local);
	if (gfp & __GFP_THISNODE) {
		place.nodes &= os_node_bit(place.first);
		place.sure = true;
	}
	return place;
}

/* Where a policy of the cache has its objects, as long as its cursor does not say so. */
static unsigned int home_of(const struct os_policy *policy, unsigned int local)
{
	uint32_t cursor = 0;

	if (policy->mode == OS_POLICY_INTERLEAVE)
		return os_nodes_nearest(policy->mask, local);
	return os_policy_place_by(policy, &cursor, local).first;
}

unsigned int placement_search(const struct engine *e, unsigned int nr_nodes, int node)
{
	const struct os_policy *policy;
	unsigned int first;

	if (nr_nodes == 1)
		return 0;
	first = os_nodes_with_memory(engine_first_node(nr_nodes, node));
	policy = placement_policy(e);
	if (likely(!policy))
		return first;
	if (node >= 0 && (unsigned int)node < nr_nodes)
		return is_bound(policy) ? os_nodes_nearest(policy->mask, first) : first;
	return home_of(policy, first);
}

unsigned int placement_zonelist(const struct engine *e)
{
	const struct os_policy *policy = placement_policy(e);
	unsigned int local = os_current_node();

	return policy ? home_of(policy, local) : os_policy_peek(local);
}

bool placement_is_bound(const struct engine *e)
{
	return is_bound(placement_policy(e));
}

bool placement_allows(const struct engine *e, unsigned int node)
{
	const struct os_policy *policy = placement_policy(e);

	return !is_bound(policy) || policy->mask & os_node_bit(node);
}

bool placement_serves(const struct engine *e, unsigned int node)
{
	return os_nodes.memory & os_node_bit(node) && placement_allows(e, node);
}

bool placement_is_local(const struct engine *e, unsigned int local)
{
	const struct os_policy *policy = placement_policy(e);

	if (policy)
		return policy->mode != OS_POLICY_INTERLEAVE && home_of(policy, local) == local;
	return !spreads(e) && os_policy_stays(local);
}

/* ---- pages ----------------------------------------------------------------------------------- */

/*
 * On made-up machines a node is a number. On real ones the pages of a zone may have come from
 * another node than they were to be of, when that was full: then they are no good here.
 */
static bool is_there(const struct os_place *place, const struct page *page, unsigned int order)
{
	return !place->sure || os_topology.made_up ||
	       os_settle_on(page_address(page), PAGE_SIZE << order, page->node);
}

static unsigned int lists_of(const struct engine *e)
{
	return e ? e->page_lists : PCP_NONE;
}

/* From these nodes and no others, the nearest first. */
static struct page *pages_of_nodes(const struct engine *e, unsigned int order,
				   const struct os_place *place)
{
	const uint8_t *near = os_nodes.order[place->first];

	for (unsigned int i = 0; i < os_topology.nr_nodes; i++) {
		struct page *page;

		if (!(place->nodes & os_node_bit(near[i])))
			continue;
		page = pcp_alloc(near[i], order, lists_of(e), true);
		if (page && likely(is_there(place, page, order)))
			return page;
		if (page)
			pcp_free(page, order, lists_of(e));
	}
	return NULL;
}

struct page *placement_pages(const struct engine *e, unsigned int order,
			     const struct os_place *place)
{
	enum pcp_kind kind = lists_of(e);
	struct page *page;

	if (e && unlikely(!engine_limit_take(e, 1ul << order)))
		return NULL;
	if (likely(place->nodes == OS_ALL_NODES))
		page = kind == PCP_NONE ? buddy_alloc_apart((int)place->first, order)
					: pcp_alloc((int)place->first, order, kind, false);
	else
		page = pages_of_nodes(e, order, place);
	if (page)
		numa_count(place, page, 1ul << order);
	else if (e)
		engine_limit_give(e, 1ul << order);
	return page;
}

bool placement_keeps(const struct engine *e, const struct page *slab)
{
	if (likely(os_topology.nr_nodes == 1))
		return true;
	fence_seq_cst(); /* the block is seen before the policy is: pairs with placement_set_policy() */
	return likely(placement_allows(e, slab->node));
}
