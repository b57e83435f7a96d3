/* SPDX-License-Identifier: MIT */
/*
 * cache/grace/sheaves.c - kfree_rcu() of caches whose front has sheaves: by rcu_free sheaves (spec A7)
 *
 * Why:        docs/adr/0049.
 * Data:       the entries of rcu_free sheaves: a block without a struct rcu_head is its address;
 *             one with a head is the head's address + 1, whose seal says which block it is.
 * Invariants: see grace.h and front/sheaves_rcu.c.
 * Locks:      those of the front; cache_lock where all caches are gone through. Objects are freed
 *             without any.
 * Flow:       called by free.c, batch.c, api/rcu_api.c and cache/reap.c; called back by os/rcu/rcu.c; calls front/sheaves_rcu.c,
 *             check.c, cache/object.h, cache/kmalloc/kfree_bulk.c for a cache that is watched.
 *
 * After the grace period the sheaf goes to the barn of the node where it was filled, so that its
 * objects are allocated again without a look at their slabs.
 */
#include "base/atomic.h"
#include "cache/grace/grace.h"
#include "cache/object.h"
#include "debug/debug.h"
#include "front/sheaves.h"

#define WITH_HEAD 1u

static bool used; /* some cache's sheaf has had an entry; atomic */

/* ---- entries --------------------------------------------------------------------------------- */

static void *entry_of(void *p, struct grace_seal *head)
{
	return head ? (char *)head + WITH_HEAD : p;
}

static struct grace_seal *head_of(const void *entry)
{
	uintptr_t at = (uintptr_t)entry;

	return at & WITH_HEAD ? (struct grace_seal *)(at - WITH_HEAD) : NULL;
}

static void *block_of(const void *entry)
{
	struct grace_seal *head = head_of(entry);

	return head ? load_relaxed(&head->p) : (void *)entry;
}

/* ---- after the grace period ------------------------------------------------------------------ */

/* Makes entries objects; returns how many are to be freed. */
static unsigned int break_seals(struct sheaf *sheaf)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < sheaf->nr; i++) {
		void *entry = sheaf->obj[i];
		void *p = block_of(entry);

		if (!head_of(entry) || grace_break_seal(head_of(entry), p))
			sheaf->obj[n++] = p;
	}
	return n;
}

/* What a free does before the front; returns how many objects are left for it. */
static unsigned int receive(struct cache *c, unsigned int nr, void **p)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < nr; i++)
		if (cache_receive(c, p[i], NULL))
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
	if (unlikely(!load_relaxed(&used)))
		store_relaxed(&used, true);
	return sheaves_gather(&c->front, p, entry_of(p, head), release_sheaves);
}

void grace_hand_over_sheaves(const struct cache *c)
{
	struct list_head *pos;

	if (!load_relaxed(&used))
		return;
	lock_acquire(&cache_lock);
	list_for_each(pos, &cache_list) {
		struct cache *each = list_entry(pos, struct cache, list);

		if ((!c || c == each) && front_has_sheaves(&each->front))
			sheaves_hand_over(&each->front, true);
	}
	cache_unlock();
}

/* ---- looking --------------------------------------------------------------------------------- */

static bool is_any(__attribute__((unused)) const void *entry,
		   __attribute__((unused)) const void *what)
{
	return true;
}

static bool sheaf_is_of(const struct os_rcu_item *item, const void *c)
{
	return container_of(item, struct sheaf, item)->front == &((const struct cache *)c)->front;
}

bool grace_sheaves_have(struct cache *c)
{
	if (!front_has_sheaves(&c->front))
		return false;
	return sheaves_find_waiting(&c->front, is_any, NULL) ||
	       os_rcu_find(OS_RCU_SHEAVES, sheaf_is_of, c) || os_rcu_releases(OS_RCU_SHEAVES);
}

static bool is_block(const void *entry, const void *p)
{
	return block_of(entry) == p;
}

/* Sheaves that are left to look at. */
struct look {
	const void *p;
	const struct front *front;
	unsigned int left;
};

static bool sheaf_has_block(const struct os_rcu_item *item, const void *arg)
{
	const struct sheaf *sheaf = container_of(item, struct sheaf, item);
	struct look *look = (struct look *)arg;

	if (sheaf->front != look->front || !look->left)
		return false;
	look->left--;
	for (unsigned int i = 0; i < sheaf->nr; i++)
		if (is_block(sheaf->obj[i], look->p))
			return true;
	return false;
}

bool grace_sheaves_hold(const void *p, unsigned int looks)
{
	struct page *slab = page_slab_of(p);
	struct look look = { .p = p, .left = looks };
	struct cache *c;

	if (!slab || slab->layout->kind != LAYOUT_PLAIN)
		return false;
	c = container_of(slab->engine, struct cache, engine);
	if (!front_has_sheaves(&c->front))
		return false;
	look.front = &c->front;
	return sheaves_find_waiting(&c->front, is_block, p) ||
	       os_rcu_find(OS_RCU_SHEAVES, sheaf_has_block, &look);
}
