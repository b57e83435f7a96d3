/* SPDX-License-Identifier: MIT */
/*
 * cache/check.c - all invariants of all caches
 *
 * Data:       none.
 * Invariants: none of its own: see the files of this floor.
 * Locks:      cache_lock; no other thread uses the caches meanwhile.
 * Flow:       called by tests; calls the checks of fronts, engines and heaps, debug/pages/blocks.c.
 */
#include "base/assert.h"
#include "cache/grace/grace.h"
#include "cache/instrument/instrument.h"
#include "cache/internal.h"
#include "cache/lent.h"
#include "cache/mobility/mobility.h"
#include "cache/group/group.h"
#include "cache/profile/profile.h"
#include "debug/pages/blocks.h"
#include "page/ext.h"

static void heap_check(const struct engine_heap *heap)
{
	heap->check(heap);
}

static void check_watch(const struct cache *c)
{
	bool closed = c->watch & WATCH_CLOSED;

	CHECK(!(c->flags & DEBUG_SLAB_FLAGS) == !(c->watch & WATCH_DEBUG));
	/* some fronts stay closed, see cache_watch_locked() */
	CHECK(!closed || c->watch & WATCH_PAST_FRONT);
	CHECK(closed || !(c->watch & WATCH_PAST_FRONT) ||
	      (c->engine.debug && cache_marks_behind(c)));
	CHECK(!(c->watch & WATCH_PAST_FRONT) == !(c->front.closed & FRONT_CLOSED));
	CHECK(!(c->watch & WATCH_WORDS) || c->watch & (WATCH_TAGS | WATCH_GROUPS));
	CHECK(c->engine.debug || !(c->watch & (WATCH_ROUTE | WATCH_DEBUG)));
	CHECK(!(c->watch & WATCH_DEBUG) || (c->engine.debug->flags && c->engine.debug->layout));
}

void cache_check_all(void)
{
	struct list_head *pos;

	instrument_enter();
	lock_acquire(&cache_lock);
	list_for_each(pos, &cache_list) {
		struct cache *c = list_entry(pos, struct cache, list);

		CHECK(cache_number_is_taken(c->front.id) && c->engine.id == c->front.id);
		CHECK(c->handle == percpu_handle(c->front.id) && c->handle->cache == c);
		CHECK(c->refcount >= 0);
		check_watch(c);
		c->front.ops->check(&c->front);
		c->engine.ops->check(&c->engine);
	}
	lent_check();
	mobility_check();
	grace_check();
	cache_heaps_each(heap_check);
	blocks_check();
	profile_check();
	group_check();
	page_ext_check();
	cache_unlock();
	instrument_leave();
}
