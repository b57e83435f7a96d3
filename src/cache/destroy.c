/* SPDX-License-Identifier: MIT */
/*
 * cache/destroy.c - drops a reference; the last one frees the cache, unless it has live objects
 * (spec 5.5)
 *
 * Data:       the objects that are left in a cache, while its report is written.
 * Invariants: a cache with live objects or lent sheaves stays registered with refcount 0, and these
 *             stay valid.
 * Locks:      cache_lock. The caller guarantees that no other thread uses the cache any more.
 * Flow:       called by api/; calls the front's drain, the engine's destroy
 *             and walk, debug/report/report.c.
 */
#include "base/assert.h"
#include "cache/grace/grace.h"
#include "cache/group/group.h"
#include "cache/instrument/instrument.h"
#include "cache/internal.h"
#include "cache/lent.h"
#include "cache/mobility/mobility.h"
#include "cache/pressure.h"
#include "debug/kfence/kfence.h"
#include "debug/report/report.h"
#include "engine/placement.h"
#include "os/process/die.h"
#include "page/meta.h"
#include "page/nested.h"

#define NOTE_MAX 128  /* bytes */
#define LEFT_MAX 2048 /* more lines than fit in a report */

/* Nothing is reported while the engine walks: it takes locks in between. */
static struct {
	void *obj[LEFT_MAX];
	unsigned int nr;
} left;

static void note_object_left(void *slab, void *obj, void *arg)
{
	(void)slab;
	(void)arg;
	if (left.nr < LEFT_MAX)
		left.obj[left.nr++] = obj;
}

static void report_leak(struct cache *c, const void *caller)
{
	struct page *last = NULL;

	left.nr = 0;
	c->engine.ops->walk(&c->engine, note_object_left, NULL);
	for (unsigned int i = 0; i < left.nr; i++) {
		struct page *slab = page_head_of(left.obj[i]);

		if (slab != last)
			report_leak_begin(&c->engine, slab);
		report_leak_object(&c->engine, slab, left.obj[i]);
		last = slab;
	}
	report_leak_end(&c->engine, caller);
}

/* A sheaf that the program has, even an empty one, leads to the cache. */
static bool report_lent(struct cache *c)
{
	struct lent_sum lent = lent_sum(c);
	char note[NOTE_MAX];

	if (!lent.sheaves)
		return false;
	os_format(note, sizeof(note),
		  "uslab: kmem_cache_destroy(): sheaves that are lent: %lu, objects in them: %lu",
		  lent.sheaves, lent.objects);
	report_slab_noted(&c->engine, NULL, REPORT_SHEAF, note);
	report_deliver(); /* what follows takes the engine's locks */
	return true;
}

static bool has_objects(struct cache *c)
{
	struct engine_stats stats;

	c->engine.ops->stats(&c->engine, &stats);
	return stats.total_objects > stats.free_objects;
}

/* Ends the engine of a cache whose front is drained. false: the program has something of it. */
static bool end_engine(struct cache *c, const void *caller)
{
	bool lent = report_lent(c);

	if (lent ? !has_objects(c) : !c->engine.ops->destroy(&c->engine))
		return !lent;
	report_leak(c, caller);
	return false;
}

static void free_cache(struct cache *c)
{
	struct cache_alias *next;

	kfence_cache_gone(&c->engine);
	placement_set_policy(&c->engine, NULL);
	instrument_destroyed_locked(c);
	if (c->engine.debug)
		debug_detach(&c->engine);
	for (struct cache_alias *alias = c->aliases; alias; alias = next) {
		next = alias->next;
		meta_free(alias, sizeof(*alias));
	}
	meta_free(c, sizeof(*c));
}

void cache_destroy(struct kmem_cache *s, const void *caller)
{
	struct cache *c;

	pressure_remove(cache_of(s));
	mobility_remove(cache_of(s));
	nested_settle(); /* objects that handlers freed are not in use */
	c = cache_of(s);
	if (c)
		grace_settle(c); /* nor those that wait for a grace period */
	lock_acquire(&cache_lock);
	c = cache_of(s);
	CHECK(c);	 /* else: a second destroy */
	if (c->refcount) /* 0: objects were in use at the last destroy; try again */
		c->refcount--;
	if (!c->refcount) {
		instrument_enter();
		cache_verify_frees_locked(c, true);
		c->front.ops->drain(&c->front);
		group_hide_cache_locked(c, true);
		if (end_engine(c, caller)) {
			group_release_cache_locked(c);
			c->front.ops->destroy(&c->front);
			cache_unregister_locked(c);
			cache_number_put_locked(c->front.id);
			free_cache(c);
		} else {
			group_hide_cache_locked(c, false);
			cache_verify_frees_locked(c, false);
		}
		instrument_leave();
	}
	cache_unlock();
	/* of the objects that are left, and of the last checks of debug slabs */
	report_deliver();
}
