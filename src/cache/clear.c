/* SPDX-License-Identifier: MIT */
/*
 * cache/clear.c - frees all objects of a cache at once, as those of an arena
 *
 * Why:        docs/adr/0047.
 * Data:       which objects of one slab are in use, on the stack (4 KiB).
 * Invariants: each slab is looked at once, before any of its objects is freed here: what fronts
 *             hold by then is of slabs that were looked at before.
 * Locks:      cache_lock while slabs are looked for, so that none is freed meanwhile by a shrink;
 *             objects are freed without it. The caller guarantees that no other thread uses the
 *             cache.
 * Flow:       called by api/manage_api.c; calls live.c, free.c, shrink.c and
 *             cache/grace/.
 */
#include <errno.h>

#include "base/atomic.h"
#include "cache/grace/grace.h"
#include "cache/internal.h"
#include "cache/lent.h"
#include "cache/live.h"
#include "page/nested.h"
#include "page/page.h"

#define BATCH 64 /* objects that are freed at once */

/* Objects of the next slab that has some, from page *at on. false: there is none. */
static bool next_used_locked(struct cache *c, unsigned long *at, struct live_objects *used)
{
	const unsigned long nr_pages = load_relaxed(&page_map.nr_pages);

	used->end = 0;
	while (!used->end && *at < nr_pages) {
		struct page *page = page_at((*at)++);

		if (load_relaxed(&page->type) != PAGE_SLAB ||
		    load_relaxed(&page->engine) != &c->engine)
			continue;
		*at += page->nr_pages - 1;
		live_read(c, page, used);
	}
	return used->end;
}

/* But those that lie in lent sheaves: they are free already. */
static void free_used(struct cache *c, const struct live_objects *used, bool lent,
		      const void *caller)
{
	void *objs[BATCH];
	unsigned int n = 0;
	unsigned int i = 0;
	void *obj;

	while ((obj = live_next(used, &i))) {
		if (lent && lent_holds(obj))
			continue;
		objs[n++] = obj;
		if (n == BATCH) {
			cache_free_bulk_for(c, n, objs, caller);
			n = 0;
		}
	}
	cache_free_bulk_for(c, n, objs, caller);
}

static int drain(struct cache *c)
{
	int ret = 0;

	lock_acquire(&cache_lock);
	if (c->engine.ops->heap)
		ret = -EOPNOTSUPP;
	else if (c->refcount > 1)
		ret = -EBUSY;
	else
		cache_drain_locked(c);
	cache_unlock();
	return ret;
}

static bool next_used(struct cache *c, unsigned long *at, struct live_objects *used)
{
	bool found;

	lock_acquire(&cache_lock);
	found = next_used_locked(c, at, used);
	cache_unlock();
	return found;
}

int cache_clear(struct cache *c, const void *caller)
{
	bool lent = lent_sum(c).objects;
	struct live_objects used;
	unsigned long at = 0;
	int ret;

	nested_settle(); /* what handlers freed is not in use */
	grace_settle(c); /* nor what is freed after a grace period */
	ret = !os_rcu_is_bound() && grace_has(c) ? -EBUSY : drain(c);
	while (!ret && next_used(c, &at, &used))
		free_used(c, &used, lent, caller);
	if (!ret)
		cache_shrink(c);
	return ret;
}
