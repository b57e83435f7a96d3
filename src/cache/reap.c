/* SPDX-License-Identifier: MIT */
/*
 * cache/reap.c - gives idle objects and slabs back step by step (spec 3.9), and sets queue limits
 * (spec 3.5)
 *
 * Why:        docs/adr/0009.
 * Data:       none.
 * Invariants: none.
 * Locks:      cache_lock: one reap or tune at a time, and no cache disappears meanwhile.
 * Flow:       called by init.c, api/limits_api.c and control.c; called back by os/time/ticker.c;
 *             calls the fronts' reap and tune, front/array_limit.c and page/buddy.h.
 *
 * A round works for every CPU in turn, wherever it runs; in the kernel each CPU has its own timer.
 * Depots that grew and free pages are looked at by misses and frees; a round does it for a program
 * that makes none of these any more.
 */
#include <errno.h>

#include "cache/instrument/instrument.h"
#include "cache/grace/grace.h"
#include "cache/internal.h"
#include "front/array.h"
#include "os/cpu/cpu.h"
#include "os/time/ticker.h"
#include "page/buddy.h"

/* Also with a front without queues the engine may keep idle slabs. */
static void reap_engine(struct engine *e)
{
	if (!e->ops->reap)
		return;
	for (unsigned int node = 0; node < os_topology.nr_nodes; node++)
		e->ops->reap(e, node);
}

static void reap_cache(struct cache *c)
{
	if (!c->front.ops->reap) {
		reap_engine(&c->engine);
		return;
	}
	for (unsigned int cpu = 0; cpu < os_topology.nr_cpu_ids; cpu++)
		c->front.ops->reap(&c->front, cpu);
}

static void reap_all_locked(void)
{
	struct list_head *pos;

	instrument_enter();
	list_for_each(pos, &cache_list)
		reap_cache(list_entry(pos, struct cache, list));
	array_limit_reap_all();
	instrument_leave();
	buddy_rebalance();
}

void cache_reap(void)
{
	grace_hand_over_sheaves(NULL);
	grace_hand_over();
	lock_acquire(&cache_lock);
	reap_all_locked();
	cache_unlock();
}

/* For the timer: skips this round if the registry lock is held (spec 3.9). */
static void try_reap(void)
{
	grace_hand_over_sheaves(NULL);
	grace_hand_over();
	if (!lock_try(&cache_lock))
		return;
	reap_all_locked();
	cache_unlock();
}

int cache_reap_start(unsigned int interval_ms)
{
	return os_ticker_start("uslab-reap", interval_ms, try_reap);
}

int cache_tune_locked(struct cache *c, unsigned int limit, unsigned int batchcount,
		      unsigned int shared)
{
	if (!c->front.ops->tune)
		return -EOPNOTSUPP;
	return c->front.ops->tune(&c->front, limit, batchcount, shared);
}

int cache_tune(struct cache *c, unsigned int limit, unsigned int batchcount, unsigned int shared)
{
	int ret;

	lock_acquire(&cache_lock);
	ret = cache_tune_locked(c, limit, batchcount, shared);
	cache_unlock();
	return ret;
}
