/* SPDX-License-Identifier: MIT */
/*
 * cache/clear.c - frees all objects of a cache at once, as those of an arena
 *
 * Why:        docs/adr/0047.
 * Data:       which objects of a part of one slab are in use, on the stack. It is small: 512 bytes
 *             with those that are freed, for threads with stacks of 4 KiB.
 * Invariants: each object is looked at once, before it or one behind it is freed here: what fronts
 *             hold by then was looked at before.
 * Locks:      cache_lock while slabs are looked for, so that none is freed meanwhile by a shrink;
 *             objects are freed without it. The caller guarantees that no other thread uses the
 *             cache.
 * Flow:       called by api/manage_api.c; calls free.c, shrink.c and
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

#define PART 2048u /* objects of a slab that are looked at at once; most slabs have fewer */
#define BATCH 32u  /* that are freed at once */

/* Where to go on: page, and number of the object in its slab. */
struct position {
	unsigned long page;
	unsigned int object;
};

/* Objects in use of a slab, of those with numbers from first on. */
struct part {
	char *start;
	size_t stride;
	unsigned int first;
	unsigned int nr;
	uint64_t word[PART / 64];
};

static void note_used(void *slab, void *obj, void *arg)
{
	struct part *part = arg;
	size_t offset = (size_t)((char *)obj - (char *)slab);
	size_t i = offset / part->stride - part->first; /* modulo 2^64 */

	if (i >= PART)
		return;
	part->start = (char *)slab + offset % part->stride;
	part->word[i / 64] |= 1ull << (i % 64);
	part->nr++;
}

static void read_part_locked(struct cache *c, struct page *slab, struct position *at,
			     struct part *part)
{
	const size_t size = (size_t)slab->nr_pages << PAGE_SHIFT;

	memset(part, 0, sizeof(*part));
	part->stride = slab->layout->stride;
	part->first = at->object;
	c->engine.ops->walk_slab(&c->engine, slab, note_used, part);
	at->object += PART;
	if (at->object * part->stride < size)
		return;
	at->page += slab->nr_pages;
	at->object = 0;
}

/* The next objects in use from there on. false: there are none. */
static bool next_part_locked(struct cache *c, struct position *at, struct part *part)
{
	const unsigned long nr_pages = load_relaxed(&page_map.nr_pages);

	part->nr = 0;
	while (!part->nr && at->page < nr_pages) {
		struct page *page = page_at(at->page);

		if (load_relaxed(&page->type) == PAGE_SLAB &&
		    load_relaxed(&page->engine) == &c->engine)
			read_part_locked(c, page, at, part);
		else
			*at = (struct position){ .page = at->page + 1 };
	}
	return part->nr;
}

/* But those that lie in lent sheaves: they are free already. */
static void free_part(struct cache *c, const struct part *part, bool lent, const void *caller)
{
	void *objs[BATCH];
	unsigned int n = 0;

	for (unsigned int i = 0; i < PART; i++) {
		void *obj = part->start + (size_t)(part->first + i) * part->stride;

		if (!(part->word[i / 64] >> (i % 64) & 1) || (lent && lent_holds(obj)))
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

static bool next_part(struct cache *c, struct position *at, struct part *part)
{
	bool found;

	lock_acquire(&cache_lock);
	found = next_part_locked(c, at, part);
	cache_unlock();
	return found;
}

int cache_clear(struct cache *c, const void *caller)
{
	bool lent = lent_sum(c).objects;
	struct position at = { 0 };
	struct part part;
	int ret;

	nested_settle(); /* what handlers freed is not in use */
	grace_settle(c); /* nor what is freed after a grace period */
	ret = !os_rcu_is_bound() && grace_has(c) ? -EBUSY : drain(c);
	while (!ret && next_part(c, &at, &part))
		free_part(c, &part, lent, caller);
	if (!ret)
		cache_shrink(c);
	return ret;
}
