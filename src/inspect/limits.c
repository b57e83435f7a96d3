/* SPDX-License-Identifier: MIT */
/*
 * inspect/limits.c - limits of a process and of its caches, what was reclaimed for them, and
 * which groups caches belong to
 *
 * Data:       struct snapshot of the caller.
 * Invariants: none.
 * Locks:      none.
 * Flow:       called by inspect/snapshot.c.
 */
#include "cache/group/group.h"
#include "cache/reclaim/ahead.h"
#include "cache/reclaim/shrinker.h"
#include "engine/charged.h"
#include "engine/limit.h"
#include "inspect/internal.h"
#include "page/buddy.h"
#include "page/keep.h"
#include "page/large.h"
#include "page/limit.h"

/* As limit_held(); bytes. */
static unsigned long held(struct snapshot *s)
{
	struct large_counters large = { 0 };
	struct keep_counters keep = { 0 };
	unsigned long pages = 0;

	for (unsigned int node = 0; node < s->totals.nodes; node++) {
		unsigned long of_node;
		uint64_t zone = s->root.zones + node * sizeof(struct buddy_zone);

		if (snapshot_read(s, zone + offsetof(struct buddy_zone, held), &of_node,
				  sizeof(of_node)))
			pages += of_node;
	}
	snapshot_read(s, s->root.large_counters, &large, sizeof(large));
	snapshot_read(s, s->root.keep_counters, &keep, sizeof(keep));
	return (pages << PAGE_SHIFT) + large.bytes + keep.bytes;
}

/* Of cache i of a table of the process, with elements of that size; false: it has none there. */
static bool read_of(struct snapshot *s, uint64_t table, unsigned int i, void *to, size_t size)
{
	unsigned int id = s->cache[i].id;

	return table && id && id < USLAB_NR_HANDLES &&
	       snapshot_read(s, table + id * size, to, size);
}

static void read_caches(struct snapshot *s)
{
	for (unsigned int i = 0; i < s->nr_caches; i++) {
		struct snapshot_cache *c = &s->cache[i];
		struct engine_limit limit;
		struct engine_group group;

		if (read_of(s, s->root.cache_limits, i, &limit, sizeof(limit))) {
			c->limit = limit.most << PAGE_SHIFT;
			c->limit_refused = limit.refused;
		}
		if (read_of(s, s->root.cache_groups, i, &group, sizeof(group))) {
			c->group = group.group < GROUPS_MAX ? (unsigned int)group.group
							    : GROUP_NONE;
			c->group_size = c->group ? (unsigned int)group.size : 0;
		}
	}
}

void snapshot_limits(struct snapshot *s)
{
	struct snapshot_totals *t = &s->totals;
	struct shrinker_counters shrinkers;
	struct reclaim_counters reclaims;
	struct limit_counters limits;

	if (!s->root.limits || !snapshot_read(s, s->root.limits, &limits, sizeof(limits)))
		return;
	t->limit = limits.limit == LIMIT_NONE ? 0 : limits.limit << PAGE_SHIFT;
	t->limit_refused = limits.refused;
	t->held_bytes = held(s);
	if (s->root.shrinkers &&
	    snapshot_read(s, s->root.shrinkers, &shrinkers, sizeof(shrinkers))) {
		t->shrinkers = shrinkers.registered;
		t->shrinker_scanned = shrinkers.scanned;
		t->shrinker_freed = shrinkers.freed;
	}
	if (s->root.reclaims && snapshot_read(s, s->root.reclaims, &reclaims, sizeof(reclaims))) {
		t->reclaims_cgroup = reclaims.cgroup;
		t->reclaims_psi = reclaims.psi;
	}
	read_caches(s);
}
