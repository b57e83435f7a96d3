/* SPDX-License-Identifier: MIT */
/*
 * cache/policy.c - from which nodes the objects of a cache come, set on live caches
 *
 * Why:        docs/adr/0062.
 * Data:       none; the policies are engine/placement.c's.
 * Invariants: see engine/placement.h. A cache with a policy is alone.
 * Locks:      cache_lock: one change at a time; alloc and free go on.
 * Flow:       called by api/policy_api.c; calls drain.c, engine/placement.c.
 */
#include <errno.h>

#include "base/atomic.h"
#include "cache/grace/grace.h"
#include "cache/internal.h"
#include "engine/placement.h"
#include "page/nested.h"
#include "page/page.h"

/* Is there a slab that its policy forbids? */
static bool has_strays_locked(struct cache *c)
{
	const unsigned long nr_pages = load_relaxed(&page_map.nr_pages);

	for (unsigned long i = 0; i < nr_pages; i++) {
		const struct page *page = page_at(i);

		if (load_relaxed(&page->type) == PAGE_SLAB &&
		    load_relaxed(&page->engine) == &c->engine &&
		    !placement_allows(&c->engine, load_relaxed(&page->node)))
			return true;
	}
	return false;
}

static int set_locked(struct cache *c, const struct os_policy *policy)
{
	const struct os_policy *before = placement_policy(&c->engine);
	int ret;

	if (c->engine.ops->heap)
		return -EOPNOTSUPP;
	if (c->refcount > 1)
		return -EBUSY;
	ret = placement_set_policy(&c->engine, policy);
	if (!ret && placement_is_bound(&c->engine)) {
		cache_shrink_locked(c);
		if (has_strays_locked(c)) {
			placement_set_policy(&c->engine, before);
			ret = -EBUSY;
		}
	}
	if (!ret)
		c->alone = 1;
	return ret;
}

int cache_set_policy(struct cache *c, const struct os_policy *policy)
{
	int ret;

	nested_settle(); /* what handlers freed, and what waits for RCU, is not in use */
	grace_settle(c);
	lock_acquire(&cache_lock);
	ret = set_locked(c, policy->mode == OS_POLICY_DEFAULT ? NULL : policy);
	cache_unlock();
	return ret;
}
