/* SPDX-License-Identifier: MIT */
/*
 * cache/idle.c - arrays and depots that nobody uses go back, without a thread for it
 *
 * Why:        docs/adr/0090.
 * Data:       which cache is looked at next.
 * Invariants: what comes back is not compared with the free lists of its slabs, as in a reap.
 * Locks:      cache_lock, which is only tried.
 * Flow:       called by init.c; called back by front/array_limit.c, by misses; calls
 *             front/array_idle.c.
 *
 * A process leaves arrays behind on each CPU that it was on, and in each size that it has done
 * with. On a machine with many CPUs that may be more than all that it has in use. So misses look at
 * some caches in each epoch, in turn, and what is as it was two seconds ago goes back. A step is
 * short, whatever there is. What it leaves is done by others, which follow some milliseconds later.
 */
#include "cache/internal.h"

#include "cache/instrument/instrument.h"
#include "front/array.h"
#include "front/depot.h"
#include "page/realtime.h"

#define STEP_LOOKS 64u /* of all CPUs, each two words */
#define STEP_ARRAYS 4u /* what a CPU has of a cache, up to 62 objects, with a fence; or a sheaf */
#define STEP_PAUSE 4u  /* ms until the next step, where one had too little */

static unsigned int next; /* how many caches of cache_list have had their turn; cache_lock */
static uint64_t stepped;  /* when; atomic, a hint */

/* true: there is more to do. */
static bool idle_step_locked(void)
{
	struct array_budget budget = { .looks = STEP_LOOKS, .arrays = STEP_ARRAYS };
	unsigned int at = 0;
	struct list_head *pos;

	list_for_each(pos, &cache_list) {
		struct cache *c = list_entry(pos, struct cache, list);

		if (at++ < next)
			continue;
		if (front_has_arrays(&c->front) && !array_give_idle(&c->front, &budget))
			return true;
		next = at;
		if (!budget.looks || !budget.arrays)
			return true;
	}
	next = 0;
	return false;
}

static bool idle_step(void)
{
	uint64_t now = depot_clock();
	bool more;

	if (realtime_is_on() || !lock_is_plain())
		return false;
	if (now - load_relaxed(&stepped) < STEP_PAUSE)
		return true;
	if (!lock_try(&cache_lock))
		return false;
	store_relaxed(&stepped, now);
	instrument_enter();
	more = idle_step_locked();
	instrument_leave();
	cache_unlock();
	return more;
}

void cache_idle_start(void)
{
	array_limit_each_epoch = idle_step;
}
