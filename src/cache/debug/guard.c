/* SPDX-License-Identifier: MIT */
/*
 * cache/debug/guard.c - guarded pages (debug/kfence/kfence.h) for all caches
 *
 * Data:       the cache that the thread has drained last.
 * Invariants: see guard.h.
 * Locks:      cache_lock.
 * Flow:       see guard.h; calls debug/kfence/kfence.c, switch.c, os/time/ticker.c.
 */
#include "cache/debug/guard.h"

#include "cache/group/group.h"
#include "cache/internal.h"
#include "debug/kfence/kfence.h"
#include "os/time/ticker.h"

static unsigned int emptied; /* number of the cache; cache_lock */

void guard_created_locked(struct cache *c)
{
	/* an inline free would read the mark behind an object that ends with its page */
	if (cache_marks_behind(c) && front_has_arrays(&c->front) && percpu_is_inline(c->front.id) &&
	    c->front.id >= USLAB_ID_FIRST_FREE)
		return;
	if (group_has_keys(c)) /* they would have no hits any more */
		return;
	if (unlikely(kfence_is_on()) && !cache_route_locked(c))
		cache_watch_locked(c, WATCH_KFENCE, true);
}

int guard_start(void)
{
	struct list_head *pos;
	int ret;

	if (!kfence_is_wanted() || kfence_is_on())
		return 0;
	ret = kfence_start();
	if (ret)
		return ret;
	lock_acquire(&cache_lock);
	list_for_each(pos, &cache_list)
		guard_created_locked(list_entry(pos, struct cache, list));
	cache_unlock();
	return 0;
}

/* The next one, by number, whose front holds objects; NULL: no front does. */
static struct cache *next_to_empty_locked(void)
{
	struct cache *first = NULL;
	struct cache *next = NULL;
	struct list_head *pos;

	list_for_each(pos, &cache_list) {
		struct cache *c = list_entry(pos, struct cache, list);

		if (!c->front.ops->held(&c->front))
			continue;
		if (!first || c->front.id < first->front.id)
			first = c;
		if (c->front.id > emptied && (!next || c->front.id < next->front.id))
			next = c;
	}
	return next ? next : first;
}

static void empty_one(void)
{
	struct cache *c;

	/* it may be held for long: skips this round */
	if (!kfence_is_wanted() || !lock_try(&cache_lock))
		return;
	c = next_to_empty_locked();
	if (c) {
		emptied = c->front.id;
		kfence_open_gate();
		cache_drain_locked(c);
	}
	cache_unlock();
}

int guard_start_thread(void)
{
	unsigned int ms = kfence_interval();

	return ms && kfence_is_on() ? os_ticker_start("uslab-kfence", ms, empty_one) : 0;
}
