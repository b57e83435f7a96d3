/* SPDX-License-Identifier: MIT */
/*
 * cache/grace/sheaves.c - rcu_free sheaves of all caches: handed over, and looked through (spec A7)
 *
 * Why:        docs/adr/0049.
 * Data:       grace_sheaves_used.
 * Invariants: see grace.h and front/sheaves_rcu.c.
 * Locks:      those of the front; cache_lock where all caches are gone through.
 * Flow:       called by api/rcu_api.c, batch.c and cache/reap.c; calls
 *             front/sheaves_rcu.c, os/rcu/rcu.c. As batch.c it calls nothing that frees blocks.
 */
#include "base/atomic.h"
#include "cache/grace/grace.h"
#include "cache/internal.h"
#include "debug/debug.h"
#include "front/sheaves.h"

/* ---- handing over ---------------------------------------------------------------------------- */

bool grace_sheaves_used;

void grace_hand_over_sheaves(const struct cache *c)
{
	struct list_head *pos;

	if (!load_relaxed(&grace_sheaves_used))
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
	return grace_entry_block(entry) == p;
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
