/* SPDX-License-Identifier: MIT */
/*
 * cache/mobility/defrag.c - one step of defragmentation: slabs from the emptiest up, for some time
 *
 * Why:        docs/adr/0060.
 * Data:       struct mobility: the round, which goes on in the next step.
 * Invariants: between two steps no slab is being emptied, and the front is open unless another bit
 *             closes it.
 * Locks:      cache_lock to claim the cache, and to close and open its front.
 * Flow:       called by api/mobility_api.c and auto.c; calls choice.c, evacuate.c, switch.c, the
 *             engine's end, page/purge.c.
 *
 * A round: for each node what choice.c finds, from the emptiest slabs up. It ends early on a node
 * where no other partial slab has a free object, and none may be made for it (page/low.h): then
 * nothing is to be won.
 *
 * The front is closed from the first slab that is to be emptied to the end of the step: the fence
 * of that is the only one, and what CPUs hold of the cache comes back with it.
 *
 * Pages that come back are purged by the budget, too. In the middle of a round few of them lie
 * beside others, and each system call interrupts all CPUs of the process: so more of them may stay
 * until they have merged, and the round's last steps purge these.
 */
#include <errno.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "cache/instrument/instrument.h"
#include "cache/internal.h"
#include "cache/lent.h"
#include "cache/mobility/mobility.h"
#include "os/time/clock.h"
#include "page/buddy.h"

#define PURGE_US 500u /* what a purge of a step should have */
#define FEW_SLABS 16  /* partial ones, that are not worth it by themselves */

/* ---- the front ---- */

static void watch_moves(struct mobility_run *r, bool on)
{
	lock_acquire(&cache_lock);
	instrument_enter();
	cache_watch_locked(r->c, WATCH_MOVES, on);
	instrument_leave();
	cache_unlock();
	r->has_closed = on;
}

/* ---- rounds ---- */

static void begin_round(struct mobility *m, int scope)
{
	m->round = (struct mobility_round){
		.begun = true,
		.scope = scope,
		.node = scope == NUMA_NO_NODE ? 0 : (unsigned int)scope,
	};
}

static void begin_node(struct mobility_round *round)
{
	round->use = 0;
	round->left = 0;
	round->surveys = false;
}

/* false: there is no other one. */
static bool next_node(struct mobility *m)
{
	struct mobility_round *round = &m->round;

	begin_node(round);
	round->node++;
	round->begun = round->scope == NUMA_NO_NODE && round->node < os_topology.nr_nodes;
	return round->begun;
}

/* ---- slabs ---- */

static void end_one(struct mobility_run *r, unsigned int i, bool tail)
{
	struct mobility_counters *counters = &r->m->counters;
	unsigned long pages;

	instrument_enter();
	pages = r->ops->end(&r->c->engine, &r->m->set, i, tail);
	instrument_leave();
	if (!pages)
		return;
	store_relaxed(&counters->slabs, counters->slabs + 1);
	store_relaxed(&counters->bytes, counters->bytes + pages * PAGE_SIZE);
}

/* They are looked at again, first of all. */
static void end_all(struct mobility_run *r)
{
	r->m->round.left += r->m->set.nr;
	while (r->m->set.nr)
		end_one(r, r->m->set.nr - 1, true);
}

/* Are there partial slabs, if only far up, that nothing is moved to? */
static bool has_listed(const struct mobility_run *r)
{
	return r->ops->listed(&r->c->engine, r->node);
}

/*
 * Empties the slabs of the set, the last one first. Where no other slab has a free object, one of
 * the set becomes one that objects go to.
 */
static enum mobility_result empty_slabs(struct mobility_run *r)
{
	struct evacuated *set = &r->m->set;

	while (set->nr) {
		unsigned long moved = r->m->counters.moved;
		enum mobility_result result = mobility_empty(r, set->slab[set->nr - 1]);
		bool again = result == MOBILITY_LATE &&
			     (!r->has_tried || r->m->counters.moved != moved);

		if (result == MOBILITY_NO_SPACE && (set->nr > 1 || has_listed(r))) {
			end_one(r, 0, false);
			continue;
		}
		/* what could not be emptied is filled up next, and not looked at for ever */
		end_one(r, set->nr - 1, again);
		r->m->round.left += again;
		if (result != MOBILITY_DONE)
			return result;
	}
	return MOBILITY_DONE;
}

/* What CPUs hold is in use for its slabs: if there is nothing to empty it goes back, once. */
static enum mobility_found find(struct mobility_run *r)
{
	enum mobility_found found = mobility_find(r);

	if (found != MOBILITY_FOUND_NONE || r->has_closed || !r->c->front.ops->held(&r->c->front))
		return found;
	watch_moves(r, true);
	begin_node(&r->m->round);
	return mobility_find(r);
}

/*
 * The slab of spares that go back is at the list's tail then, and looked at before those that are
 * left. No more often than there are slabs: where objects are refused, two slabs might take turns.
 */
static void look_once_more(struct mobility_run *r)
{
	struct mobility_round *round = &r->m->round;

	if (!r->nr_spares || !round->more)
		return;
	round->more--;
	round->left++;
}

/* One node. false: the budget is used up. */
static bool run_node(struct mobility_run *r)
{
	enum mobility_result result = MOBILITY_DONE;
	enum mobility_found found;

	while (result == MOBILITY_DONE && (found = find(r)) == MOBILITY_FOUND) {
		unsigned long moved = r->m->counters.moved;

		if (!r->has_closed)
			watch_moves(r, true);
		r->node = r->m->round.node;
		result = empty_slabs(r);
		if (r->m->counters.moved != moved)
			look_once_more(r);
		mobility_give_spares(r);
	}
	end_all(r);
	return result == MOBILITY_NO_SPACE ||
	       (result == MOBILITY_DONE && found == MOBILITY_FOUND_NONE);
}

/* The slabs of a round, as far as the budget goes. */
static void run_slabs(struct mobility_run *r, int node)
{
	struct mobility *m = r->m;

	if (!m->round.begun || m->round.scope != node)
		begin_round(m, node);
	buddy_expect_merges(true);
	while (run_node(r) && next_node(m)) {}
	if (r->has_closed)
		watch_moves(r, false);
	m->round.purges = !m->round.begun;
}

/* What has merged by the end of a round. false: the budget is used up. */
static bool purge(const struct mobility_run *r)
{
	if (mobility_is_late(r))
		return false;
	buddy_expect_merges(false);
	return buddy_rebalance();
}

/* The last ones of a step would have time for few pages: they are for the next step. */
static void bound_purges(uint64_t end_us)
{
	uint64_t now_us = os_clock_us();
	uint64_t left_us = end_us - MIN(end_us, now_us);

	if (end_us)
		buddy_purge_until(end_us, MIN(left_us / 2, PURGE_US));
	else
		buddy_purge_until(UINT64_MAX, 0);
}

/* 0: the round has ended; 1: the budget has. */
static int run(struct mobility *m, int node, uint64_t end_us)
{
	struct mobility_run r = {
		.m = m,
		.c = m->cache,
		.ops = m->cache->engine.ops->evacuation,
		.end_us = end_us,
		.has_lent = lent_sum(m->cache).objects,
	};

	if (load_relaxed(&m->cache->watch) & WATCH_DEBUG) {
		m->round.begun = false; /* new objects come from debug slabs, and stay there */
		return 0;
	}
	bound_purges(end_us);
	if (!m->round.purges || m->round.scope != node)
		run_slabs(&r, node);
	if (m->round.purges)
		m->round.purges = !purge(&r);
	buddy_purge_until(0, 0);
	return m->round.begun || m->round.purges;
}

/* 0: there is none. */
static uint64_t end_of(uint64_t budget_us)
{
	uint64_t now_us = os_clock_us();

	return budget_us ? now_us + MIN(budget_us, UINT64_MAX - now_us) : 0;
}

int cache_defrag(struct cache *c, int node, uint64_t budget_us)
{
	uint64_t end_us = end_of(budget_us);
	struct mobility *m;
	int ret;

	if (node < NUMA_NO_NODE || node >= (int)os_topology.nr_nodes)
		return -EINVAL;
	if (nested_call())
		return -EBUSY;
	lock_acquire(&cache_lock);
	m = mobility_find_locked(c);
	ret = mobility_claim_locked(m);
	cache_unlock();
	if (ret)
		return ret;
	ret = run(m, node, end_us);
	mobility_release(m);
	return ret;
}

/* ---- several caches ---- */

static unsigned long count_partial(struct cache *c, unsigned long *slabs)
{
	const struct engine_evacuation *ops = c->engine.ops->evacuation;
	struct engine *e = &c->engine;
	unsigned long partial = 0;

	*slabs = 0;
	for (unsigned int node = 0; node < os_topology.nr_nodes; node++) {
		partial += ops->listed(e, node);
		*slabs += ops->slabs(e, node);
	}
	return partial;
}

/*
 * Begun rounds go on. Else partial slabs have to be that share of all, and more than the last round
 * left by a quarter, or it would do the same again.
 */
static bool is_worth_it(const struct mobility *m, unsigned int threshold)
{
	unsigned long slabs;
	unsigned long partial;

	if (!threshold || m->round.begun)
		return true;
	partial = count_partial(m->cache, &slabs);
	return partial * 100 >= slabs * threshold &&
	       partial > m->settled + m->settled / 4 + FEW_SLABS;
}

/* The next cache whose round has not ended in this sweep, claimed. NULL: there is none. */
static struct mobility *claim_next(struct control_sweep *sweep)
{
	struct mobility *found = NULL;
	struct list_head *pos;
	int ret;

	sweep->matched = 0;
	sweep->more = false;
	lock_acquire(&cache_lock);
	list_for_each(pos, &mobility_list) {
		struct mobility *m = list_entry(pos, struct mobility, list);

		if (!cache_matches_any_locked(m->cache, sweep->patterns, sweep->size))
			continue;
		sweep->matched++;
		if (m->sweep == sweep->number || !is_worth_it(m, sweep->threshold))
			continue;
		ret = found ? -EBUSY : mobility_claim_locked(m);
		if (!ret)
			found = m;
		else if (ret == -EBUSY)
			sweep->more = true;
	}
	cache_unlock();
	return found;
}

static void end_sweep(struct mobility *m, const struct control_sweep *sweep)
{
	unsigned long slabs;

	m->sweep = sweep->number;
	m->settled = count_partial(m->cache, &slabs);
}

void cache_defrag_sweep(struct control_sweep *sweep)
{
	uint64_t end_us = end_of(sweep->budget_us);
	struct mobility *m;

	while ((m = claim_next(sweep))) {
		unsigned long before = m->counters.bytes;
		bool more = run(m, NUMA_NO_NODE, end_us);

		sweep->bytes += m->counters.bytes - before;
		if (!more)
			end_sweep(m, sweep);
		mobility_release(m);
		if (more || (end_us && os_clock_us() >= end_us)) {
			sweep->more |= more;
			return;
		}
	}
}
