/* SPDX-License-Identifier: MIT */
/*
 * cache/mobility/mobility.c - which caches' objects may be moved, how, and by whom just now
 *
 * Why:        docs/adr/0060.
 * Data:       mobility_list.
 * Invariants: a struct mobility is in the list from the first call that gives the cache functions
 *             to the start of its destruction. Checked by mobility_check().
 * Locks:      cache_lock.
 * Flow:       called by api/mobility_api.c, control/attribute.c, cache/check.c, destroy.c, fork.c,
 *             stats.c and defrag.c; calls switch.c.
 */
#include "cache/mobility/mobility.h"

#include <errno.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "cache/internal.h"
#include "os/lock/wait.h"
#include "os/process/die.h"
#include "page/meta.h"

struct list_head mobility_list = { &mobility_list, &mobility_list };

/* What this thread runs; it may be in a function of the program. */
static __thread struct mobility *inside __attribute__((tls_model("initial-exec")));

struct mobility *mobility_find_locked(const struct cache *c)
{
	struct list_head *pos;

	list_for_each(pos, &mobility_list)
		if (list_entry(pos, struct mobility, list)->cache == c)
			return list_entry(pos, struct mobility, list);
	return NULL;
}

static bool is_movable(const struct mobility *m)
{
	return m && (m->functions.move || m->functions.migrate);
}

/* Pairs with mobility_release(): what that thread did is over. */
static void wait_for(const struct mobility *m)
{
	unsigned int us = 0;

	while (inside != m && load_acquire(&m->running))
		os_nap(&us);
}

static int refuse(const struct cache *c, const struct mobility_functions *functions)
{
	if (cache_is_by_size(c) || (functions->isolate && !functions->migrate) ||
	    (functions->migrate && !c->engine.ctor))
		return -EINVAL;
	if (!c->engine.ops->evacuation)
		return -EOPNOTSUPP;
	return c->refcount > 1 ? -EBUSY : 0;
}

/* NULL: out of memory. */
static struct mobility *get_locked(struct cache *c)
{
	struct mobility *m = mobility_find_locked(c);

	if (m)
		return m;
	m = meta_alloc(sizeof(*m));
	if (!m)
		return NULL;
	m->cache = c;
	m->ratio = MOBILITY_RATIO;
	list_add(&m->list, &mobility_list);
	return m;
}

int mobility_set(struct cache *c, const struct mobility_functions *functions)
{
	struct mobility *m = NULL;
	int ret;

	lock_acquire(&cache_lock);
	ret = refuse(c, functions);
	if (!ret) {
		m = get_locked(c);
		ret = m ? 0 : -ENOMEM;
	}
	if (!ret) {
		c->alone = 1; /* a user who merges would have objects that move */
		m->functions = *functions;
		store_relaxed(&m->replaced,
			      1); /* for a step that is under way, maybe this thread's */
	}
	cache_unlock();
	if (!ret)
		wait_for(m);
	return ret;
}

int mobility_set_ratio_locked(struct cache *c, unsigned int percent)
{
	struct mobility *m = mobility_find_locked(c);

	if (!m)
		return -EOPNOTSUPP;
	if (percent > 100)
		return -EINVAL;
	store_relaxed(&m->ratio, percent);
	return 0;
}

int mobility_set_ratio(struct cache *c, unsigned int percent)
{
	int ret;

	lock_acquire(&cache_lock);
	ret = mobility_set_ratio_locked(c, percent);
	cache_unlock();
	return ret;
}

int mobility_claim_locked(struct mobility *m)
{
	if (!is_movable(m))
		return -EOPNOTSUPP;
	if (m->running || inside) /* a function of the program wants objects to be moved */
		return -EBUSY;
	store_relaxed(&m->running, 1);
	m->used = m->functions;
	store_relaxed(&m->replaced, 0);
	inside = m;
	return 0;
}

void mobility_release(struct mobility *m)
{
	inside = NULL;
	store_release(&m->running, 0); /* pairs with wait_for() */
}

void mobility_remove(const struct cache *c)
{
	struct mobility *m;

	lock_acquire(&cache_lock);
	m = mobility_find_locked(c);
	if (m)
		list_del(&m->list);
	cache_unlock();
	if (!m)
		return;
	wait_for(m);
	meta_free(m, sizeof(*m));
}

/* What the thread had taken of other slabs is lost, as is all that a thread holds that is gone. */
static void end_locked(struct mobility *m)
{
	while (m->set.nr)
		m->cache->engine.ops->evacuation->end(&m->cache->engine, &m->set, 0, true);
	if (m->cache->watch & WATCH_MOVES)
		cache_watch_locked(m->cache, WATCH_MOVES, false);
	m->round.begun = false;
	store_relaxed(&m->running, 0);
}

void mobility_forked_locked(void)
{
	struct list_head *pos;

	list_for_each(pos, &mobility_list) {
		struct mobility *m = list_entry(pos, struct mobility, list);

		if (m->running && inside != m)
			end_locked(m);
	}
}

void mobility_check(void)
{
	struct list_head *pos;

	list_for_each(pos, &mobility_list) {
		const struct mobility *m = list_entry(pos, struct mobility, list);

		CHECK(m->cache->alone && m->cache->engine.ops->evacuation);
		CHECK(m->running || (!m->set.nr && !(m->cache->watch & WATCH_MOVES)));
	}
}
