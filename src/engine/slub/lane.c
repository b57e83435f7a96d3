/* SPDX-License-Identifier: MIT */
/*
 * engine/slub/lane.c - CPUs take small objects from different slabs
 *
 * Why:        docs/adr/0074, docs/adr/0080.
 * Data:       struct page.stamp of a slab: the lane that took from it. A lane is a CPU, or several
 *             whose numbers are congruent. Of each node how long which lane has not taken anything.
 * Invariants: none: which slab a CPU takes from is a matter of speed.
 * Locks:      list_lock.
 * Flow:       called by refill.c and slub.c; front/array_near.c looks at the stamps.
 *
 * Small objects share cache lines. If two CPUs hold some of one line, each write to one waits until
 * the other CPU has given the line up, in programs whose threads share nothing. Of objects of a few
 * lines, prefetchers of one CPU take those of the other. So a slab is that lane's which takes from
 * it first, and others make new ones rather than take from it. It becomes another's when its own
 * has not taken anything for long, since the program has moved to other CPUs, or when so much
 * memory lies in partial slabs that it has to be used. In realtime there are no lanes: to pass
 * slabs by takes time.
 */
#include "base/bits.h"
#include "engine/slub/slab.h"
#include "os/cpu/cpu.h"

#define LOOKS 32ul	 /* slabs that are passed by at a time, in search of one's own */
#define PATIENCE 250u	 /* slabs of an idle lane that others pass by before they take from them */
#define PARTIAL_MOST 64u /* slabs on the list: if there are more, any will do */
#define MOST_SIZE 256u	 /* bytes; of larger ones slabs are a page or two: page/area.c */

bool slub_may_have_lanes(const struct slub *s, unsigned int size)
{
	return s->lazy && size <= MOST_SIZE && os_topology.nr_cpu_ids > 1;
}

static bool may_take(struct engine_node *node, const struct page *slab, unsigned int own)
{
	unsigned int lane = engine_slab_lane(slab);

	if (lane == ENGINE_NO_LANE || lane == own || node->passed[lane] >= PATIENCE)
		return true;
	if (!slub_read(slab).counters.inuse) /* nobody holds any of its lines */
		return true;
	node->passed[lane]++;
	return false;
}

/* Another lane's slab to the other end of the list, so that the next refill need not pass it. */
static void pass(struct engine_node *node, struct page *slab, bool backwards)
{
	list_del(&slab->lru);
	if (backwards)
		list_add(&slab->lru, &node->partial);
	else
		list_add_tail(&slab->lru, &node->partial);
}

struct page *slub_lane_next_locked(struct engine_node *node, bool backwards)
{
	unsigned long looks = MIN(node->nr_partial, LOOKS);
	unsigned int own = os_current_lane();
	struct page *slab;

	node->passed[own] = 0;
	for (; looks; looks--) {
		slab = slub_first_partial(node, backwards);
		if (may_take(node, slab, own))
			break;
		pass(node, slab, backwards);
	}
	if (!looks && node->nr_partial <= PARTIAL_MOST)
		return NULL;
	slab = slub_first_partial(node, backwards);
	engine_set_slab_lane(slab, own);
	return slab;
}

void slub_lane_keep(struct page *slab)
{
	engine_set_slab_lane(slab, os_current_lane());
}
