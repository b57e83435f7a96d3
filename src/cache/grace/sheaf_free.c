/* SPDX-License-Identifier: MIT */
/*
 * cache/grace/sheaf_free.c - kfree_rcu() by rcu_free sheaves, where a cache's front has some (spec
 * A7)
 *
 * Why:        docs/adr/0049.
 * Data:       none of its own.
 * Invariants: see grace.h and front/sheaves_rcu.c.
 * Locks:      none held here.
 * Flow:       called by free.c; called back by front/sheaves_rcu.c; calls check.c, cache/object.h,
 *             front/sheaves_rcu.c, sheaves.c, cache/kmalloc/kfree_bulk.c for a watched cache.
 *
 * After the grace period the sheaf goes to the barn of the node where it was filled, so that its
 * objects are allocated again without a look at their slabs.
 */
#include "base/atomic.h"
#include "cache/grace/grace.h"
#include "cache/object.h"
#include "debug/debug.h"
#include "engine/place.h"
#include "front/sheaves.h"

/* ---- after the grace period ------------------------------------------------------------------ */

/* The object around a head. What the head itself says may have been written by anybody. */
static void *block_around(struct grace_seal *head)
{
	struct page *slab = page_slab_of(head);
	struct engine_places places;
	size_t offset;

	if (unlikely(!slab)) /* the object was freed otherwise */
		return head;
	places = engine_places(slab);
	offset = (size_t)((const char *)head - places.first);
	return (char *)head - offset % slab->layout->stride;
}

/* Makes entries objects; returns how many are to be freed. */
static unsigned int break_seals(struct sheaf *sheaf)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < sheaf->nr; i++) {
		void *p = sheaf->obj[i];
		struct grace_seal *head = grace_entry_head(p);

		if (head)
			p = block_around(head);
		if (!head || grace_break_seal(head, p))
			sheaf->obj[n++] = p;
	}
	return n;
}

/*
 * Is obj, which bears the mark of a free object, one of the n that this sheaf had before? That is
 * reported. Elsewhere cache_receive() finds it, but these are in no place of the front yet.
 */
static bool comes_twice(struct cache *c, void *obj, unsigned int n, void *const *p)
{
	if (likely(!c->engine.mark || !mark_is_set(obj, c->engine.mark)))
		return false;
	while (n)
		if (p[--n] == obj) {
			cache_report_free(c, page_slab_of(obj), obj, FIX_NOT_FREED);
			return true;
		}
	return false;
}

/* What a free does before the front; returns how many objects are left for it. */
static unsigned int receive(struct cache *c, unsigned int nr, void **p)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < nr; i++)
		if (!comes_twice(c, p[i], n, p) && cache_receive(c, p[i], NULL))
			p[n++] = p[i];
	return n;
}

static void release_sheaf(struct sheaf *sheaf)
{
	struct cache *c = container_of(sheaf->front, struct cache, front);
	unsigned int nr = break_seals(sheaf);

	if (cache_is_watched(c, ~0u)) { /* since the objects came here */
		kmalloc_free_bulk(NULL, nr, sheaf->obj);
		nr = 0;
	}
	store_relaxed(&sheaf->nr, receive(c, nr, sheaf->obj));
	sheaves_return(&c->front, sheaf);
}

static void release_sheaves(struct os_rcu_item *first)
{
	while (first) {
		struct sheaf *sheaf = container_of(first, struct sheaf, item);

		first = first->next;
		release_sheaf(sheaf);
	}
}

/* ---- before ---------------------------------------------------------------------------------- */

/* The cache of a plain object, if it has such sheaves and nothing else is to be done. */
static struct cache *cache_with_sheaves(const void *p)
{
	struct page *slab = page_slab_of(p);
	struct cache *c;

	if (!slab || slab->layout->kind != LAYOUT_PLAIN)
		return NULL;
	c = container_of(slab->engine, struct cache, engine);
	return front_has_sheaves(&c->front) && !cache_is_watched(c, ~0u) ? c : NULL;
}

bool grace_into_sheaf(void *p, struct grace_seal *head)
{
	struct cache *c = cache_with_sheaves(p);

	if (!c)
		return false;
	if (unlikely(!load_relaxed(&grace_sheaves_used)))
		store_relaxed(&grace_sheaves_used, true);
	return sheaves_gather(&c->front, p, grace_entry(p, head), release_sheaves);
}
