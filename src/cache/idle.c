/* SPDX-License-Identifier: MIT */
/*
 * cache/idle.c - arrays and depots that nobody uses go back, without a thread for it
 *
 * Why:        docs/adr/0090.
 * Data:       which cache is looked at next.
 * Invariants: none.
 * Locks:      cache_lock, which is only tried.
 * Flow:       called by init.c; called back by front/array_limit.c, once in an epoch, by a miss;
 *             calls front/array_idle.c.
 *
 * A process leaves arrays behind on each CPU that it was on, and in each size that it has done
 * with. On a machine with many CPUs that may be more than all that it has in use. So misses look at
 * some caches in each epoch, in turn, and what is as it was two seconds ago goes back. A step is
 * short, whatever there is: what it leaves is done by later ones.
 */
#include "cache/internal.h"

#include "cache/instrument/instrument.h"
#include "front/array.h"
#include "page/realtime.h"

#define STEP_LOOKS 64u /* of all CPUs, each two words */
#define STEP_ARRAYS 4u /* that go back: each is a fence, and up to 62 objects to their slabs */

static unsigned int next; /* how many caches of cache_list have had their turn; cache_lock */

static void idle_step_locked(void)
{
	struct array_budget budget = { STEP_LOOKS, STEP_ARRAYS };
	unsigned int at = 0;
	struct list_head *pos;

	list_for_each(pos, &cache_list) {
		struct cache *c = list_entry(pos, struct cache, list);

		if (at++ < next)
			continue;
		next = at;
		if (front_has_arrays(&c->front))
			array_give_idle(&c->front, &budget);
		if (!budget.looks || !budget.arrays)
			return;
	}
	next = 0;
}

static void idle_step(void)
{
	if (realtime_is_on() || !lock_is_plain() || !lock_try(&cache_lock))
		return;
	instrument_enter();
	idle_step_locked();
	instrument_leave();
	cache_unlock();
}

void cache_idle_start(void)
{
	array_limit_each_epoch = idle_step;
}
