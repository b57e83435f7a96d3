/* SPDX-License-Identifier: MIT */
/*
 * cache/drain.c - empties the front of one cache, and gives its empty slabs back
 *
 * Data:       none.
 * Invariants: what comes back is compared with the free list of its slab, but where it is said.
 * Locks:      cache_lock, held by the caller: one drain of a front at a time.
 * Flow:       called by cache/; calls the front and the engine.
 */
#include "base/atomic.h"
#include "cache/instrument/instrument.h"
#include "cache/internal.h"

void cache_verify_frees_locked(struct cache *c, bool on)
{
	store_relaxed(&c->engine.verify_frees, on);
}

void cache_drain_locked(struct cache *c)
{
	cache_verify_frees_locked(c, true);
	c->front.ops->drain(&c->front);
	cache_verify_frees_locked(c, false);
}

/* Without these checks, which take as long as the slabs' free lists are. */
void cache_empty_front_locked(struct cache *c)
{
	instrument_enter();
	c->front.ops->drain(&c->front);
	instrument_leave();
}

void cache_give_back_locked(struct cache *c)
{
	instrument_enter();
	c->front.ops->drain(&c->front);
	c->engine.ops->shrink(&c->engine);
	instrument_leave();
}

int cache_shrink_locked(struct cache *c)
{
	int ret;

	instrument_enter();
	cache_verify_frees_locked(c, true);
	c->front.ops->drain(&c->front);
	ret = c->engine.ops->shrink(&c->engine);
	cache_verify_frees_locked(c, false);
	instrument_leave();
	return ret;
}
