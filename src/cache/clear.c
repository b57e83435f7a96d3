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
 * Flow:       called by api/manage_api.c; calls the engine's walk_slab, free.c, shrink.c and
 *             cache/grace/.
 */
#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "cache/grace/grace.h"
#include "cache/internal.h"
#include "cache/lent.h"
#include "page/nested.h"
#include "page/page.h"

#define BATCH 64 /* objects that are freed at once */

/* The objects in use of a slab: start + i * stride for each bit i. */
struct used {
	char *start;
	size_t stride;
	unsigned int end; /* behind the last bit */
	uint64_t word[(SLAB_MAX_OBJECTS + 64) / 64];
};

static void note_used(void *slab, void *obj, void *arg)
{
	struct used *used = arg;
	size_t offset = (size_t)((char *)obj - (char *)slab);
	size_t i = offset / used->stride;

	used->start = (char *)slab + offset % used->stride;
	used->end = (unsigned int)i + 1;
	used->word[i / 64] |= 1ull << (i % 64);
}

/* Objects of the next slab that has some, from page *at on. false: there is none. */
static bool next_used_locked(struct cache *c, unsigned long *at, struct used *used)
{
	const unsigned long nr_pages = load_relaxed(&page_map.nr_pages);

	memset(used->word, 0, sizeof(used->word));
	used->end = 0;
	while (!used->end && *at < nr_pages) {
		struct page *page = page_at((*at)++);

		if (load_relaxed(&page->type) != PAGE_SLAB ||
		    load_relaxed(&page->engine) != &c->engine)
			continue;
		*at += page->nr_pages - 1;
		used->stride = page->layout->stride;
		c->engine.ops->walk_slab(&c->engine, page, note_used, used);
	}
	return used->end;
}

/* But those that lie in lent sheaves: they are free already. */
static void free_used(struct cache *c, const struct used *used, bool lent, const void *caller)
{
	void *objs[BATCH];
	unsigned int n = 0;

	for (unsigned int i = 0; i < used->end; i++) {
		void *obj = used->start + i * used->stride;

		if (!(used->word[i / 64] >> (i % 64) & 1) || (lent && lent_holds(obj)))
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

static bool next_used(struct cache *c, unsigned long *at, struct used *used)
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
	struct used used;
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
