/* SPDX-License-Identifier: MIT */
/*
 * cache/group/cache.c - caches that belong to a group: their objects are charged to it, whoever
 * allocates them
 *
 * Why:        docs/adr/0069.
 * Data:       the group of a cache (engine/charged.h); the table's bits, of caches whose front and
 *             engine are whole.
 * Invariants: a cache gets a group, and loses it, while it has no slabs. The group's number stays
 *             its own until then.
 * Locks:      cache_lock for changes. A bit is cleared under groups_lock: who has that may look at
 *             the caches whose bits are set.
 * Flow:       called by charge.c, group.c, own.c, api/limits_api.c, cache/destroy.c, pressure.c
 *             and watch.c; calls charge.c, group.c, drain.c, switch.c, the front and the engine.
 *
 * Hits of such a cache are those of any other: objects are charged when they leave their slabs,
 * many at once. What fronts hold of them is subtracted from the usage that is told, and comes back
 * when a charge meets a limit.
 */
#include <errno.h>

#include "base/bits.h"
#include "cache/group/group.h"
#include "cache/internal.h"
#include "engine/charged.h"

/* ---- a cache and its group ---- */

/* These take whole slabs of the engine. */
static bool takes_slabs(const struct front *f)
{
	return f->ops == &front_cpuslab_ops || f->ops == &front_sheaves_618_ops;
}

static int may_adopt(const struct cache *c)
{
	if (c->engine.ops->heap || takes_slabs(&c->front) || load_relaxed(&c->flags) & SLAB_ACCOUNT)
		return -EOPNOTSUPP;
	return c->refcount > 1 || engine_group(&c->engine) ? -EBUSY : 0;
}

/* Once: a cache that gets another group may be in the hands of who was stopped in it. */
static void start_charging(struct engine *e)
{
	const struct engine_ops *plain = e->debug ? e->debug->inner : e->ops;
	const struct engine_ops *ops = engine_charged_ops(plain);

	engine_groups[e->id].size = e->size;
	if (ops == plain)
		return;
	if (e->debug)
		debug_set_inner(e, ops);
	else
		e->ops = ops;
}

/* The group of that number has the cache already. */
static int adopt(struct cache *c, uint32_t id)
{
	static const struct engine_charges charges = { group_charge_objects,
						       group_uncharge_objects };

	store_release(&engine_charges, &charges); /* the same each time */
	c->alone = 1;
	if (engine_set_group(&c->engine, id)) {
		start_charging(&c->engine);
		return 0;
	}
	group_drop_cache(id, c->engine.id);
	return -EBUSY;
}

static int adopt_by_handle_locked(struct cache *c, struct uslab_group *handle)
{
	int ret = may_adopt(c);
	uint32_t id = ret ? GROUP_NONE : group_hold_cache(handle, c->engine.id);

	if (ret)
		return ret;
	return id ? adopt(c, id) : -ENOENT;
}

int group_adopt(struct cache *c, struct uslab_group *handle)
{
	int ret;

	lock_acquire(&cache_lock);
	ret = adopt_by_handle_locked(c, handle);
	cache_unlock();
	return ret;
}

int group_adopt_id_locked(struct cache *c, uint32_t id)
{
	int ret = may_adopt(c);

	if (ret)
		return ret;
	return group_hold_cache_of(id, c->engine.id) ? adopt(c, id) : -ENOENT;
}

bool group_release_cache_locked(struct cache *c)
{
	uint32_t id = (uint32_t)engine_group(&c->engine);

	if (!id)
		return true;
	if (!engine_set_group(&c->engine, GROUP_NONE))
		return false;
	group_drop_cache(id, c->engine.id);
	return true;
}

void group_hide_cache_locked(struct cache *c, bool hidden)
{
	if (!engine_group(&c->engine))
		return;
	if (hidden)
		group_unlist_cache(c->engine.id);
	else
		group_list_cache(c->engine.id);
}

/* ---- the caches of a group ---- */

static bool is_listed(unsigned int id)
{
	/* pairs with group_list_cache() */
	return load_acquire(&groups_table->caches[id / 64]) >> (id % 64) & 1;
}

/* The next one from number id on that belongs to g or to a group below it; 0: there is none. */
static unsigned int next_cache(const struct group *g, unsigned int id)
{
	for (; id < USLAB_NR_HANDLES; id++) {
		unsigned long group;

		if (!load_relaxed(&groups_table->caches[id / 64])) {
			id |= 63;
			continue;
		}
		group = is_listed(id) ? load_relaxed(&engine_groups[id].group) : GROUP_NONE;
		if (group && group < GROUPS_MAX && group_is_below(group_at((uint32_t)group), g))
			return id;
	}
	return 0;
}

uint64_t group_caches_ahead_locked(const struct group *g)
{
	uint64_t ahead = 0;

	for (unsigned int id = 0; (id = next_cache(g, id + 1));) {
		struct cache *c = cache_of(percpu_handle(id));

		ahead += c->front.ops->held(&c->front) * (uint64_t)c->engine.size;
	}
	return ahead;
}

static uint64_t held_by(const struct group *g)
{
	uint64_t held;

	lock_acquire(&cache_lock);
	held = group_caches_ahead_locked(g);
	cache_unlock();
	return held;
}

/* Bytes that have to come back, so that so many more may be charged; of none: nothing. */
static uint64_t missing(const struct group *g, size_t bytes)
{
	uint64_t limit = load_relaxed(&g->limit);
	uint64_t usage = load_relaxed(&g->usage);

	if (!bytes)
		return 0;
	if (bytes > limit)
		return UINT64_MAX;
	return usage > limit - bytes ? usage - (limit - bytes) : 0;
}

void group_caches_drain(struct group *g, size_t bytes)
{
	if (!next_cache(g, 1) || held_by(g) < missing(g, bytes))
		return;
	for (unsigned int id = 0; (id = next_cache(g, id + 1));) {
		lock_acquire(&cache_lock);
		if (next_cache(g, id) == id) /* it is there still, and below g */
			cache_empty_front_locked(cache_of(percpu_handle(id)));
		cache_unlock();
	}
}

void group_caches_close(const struct group *g)
{
	for (unsigned int id = 0; (id = next_cache(g, id + 1));) {
		lock_acquire(&cache_lock);
		if (next_cache(g, id) == id && group_is_over(g)) /* likewise */
			cache_watch_locked(cache_of(percpu_handle(id)), WATCH_OVER, true);
		cache_unlock();
	}
}

/* Is its group within all limits, or has it none? */
static bool may_open(const struct cache *c)
{
	unsigned long group = engine_group(&c->engine);

	return group < GROUPS_MAX && !(group && group_is_over(group_at((uint32_t)group)));
}

void group_cache_open(struct cache *c)
{
	if (!lock_is_plain() || !may_open(c))
		return;
	lock_acquire(&cache_lock);
	if (c->watch & WATCH_OVER && may_open(c))
		cache_watch_locked(c, WATCH_OVER, false);
	cache_unlock();
}

enum group_room group_make_room(struct cache *c)
{
	unsigned long group = engine_group(&c->engine);
	size_t bytes = c->engine.size;
	uint32_t id = (uint32_t)group;

	if (group >= GROUPS_MAX) /* it changes */
		return GROUP_HAS_ROOM;
	if (group_charge_objects(id, bytes, ENGINE_CHARGE_ONE)) {
		group_uncharge_objects(id, bytes);
		return GROUP_HAS_ROOM;
	}
	if (group_charge_slow(id, bytes, GROUP_CHARGE_MORE) == GROUP_REFUSED)
		return GROUP_HAS_NONE;
	group_uncharge_slow(id, bytes);
	return GROUP_MADE_ROOM;
}
