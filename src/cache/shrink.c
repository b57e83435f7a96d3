/* SPDX-License-Identifier: MIT */
/*
 * cache/shrink.c - gives memory back: drains fronts, frees empty slabs
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      cache_lock: one drain of a front at a time, and no cache disappears meanwhile.
 * Flow:       called by cache/, api/ and malloc/.
 */
#include "base/atomic.h"
#include "cache/grace/grace.h"
#include "cache/group/group.h"
#include "cache/instrument/instrument.h"
#include "cache/internal.h"
#include "cache/pressure.h"
#include "page/nested.h"

int cache_shrink(struct cache *c)
{
	int ret;

	pressure_reclaim(c);
	nested_settle();
	grace_hand_over();
	lock_acquire(&cache_lock);
	ret = cache_shrink_locked(c);
	cache_unlock();
	return ret;
}

void cache_shrink_all(void)
{
	struct list_head *pos;

	pressure_reclaim(NULL);
	nested_settle();
	grace_hand_over();
	lock_acquire(&cache_lock);
	list_for_each(pos, &cache_list)
		cache_shrink_locked(list_entry(pos, struct cache, list));
	cache_unlock();
	if (group_destroyed) /* caches of groups that were destroyed may be free by now */
		group_destroyed(GROUP_NONE);
}
