/* SPDX-License-Identifier: MIT */
/*
 * cache/destroy.c - the last reference ends a cache; live objects keep it (spec 5.5)
 *
 * Data:       none of its own.
 * Invariants: a cache with live objects stays registered with refcount 0, its objects valid.
 * Locks:      cache_lock. The caller guarantees that nobody else uses the cache any more.
 * Flow:       called by api/; calls the front's drain and the engine's destroy and walk.
 */
#include "base/assert.h"
#include "cache/internal.h"
#include "os/die.h"
#include "page/meta.h"

struct leak_report {
	struct cache *cache;
	void *slab; /* start of the one whose banner was printed last */
};

static void report_object(void *slab, void *obj, void *arg)
{
	struct leak_report *report = arg;
	if (report->slab != slab) {
		os_say("BUG %s (Not tainted): Objects remaining in %s on __kmem_cache_shutdown()",
		       report->cache->name, report->cache->name);
		report->slab = slab;
	}
	os_say("Object %p @offset=%lu", obj, (unsigned long)((char *)obj - (char *)slab));
}

static void report_leak(struct cache *c, const void *caller)
{
	struct leak_report report = { .cache = c };

	c->engine.ops->walk(&c->engine, report_object, &report);
	os_say("kmem_cache_destroy %s: Slab cache still has objects when called from %p", c->name,
	       caller);
}

static void free_cache(struct cache *c)
{
	struct cache_alias *next;

	for (struct cache_alias *alias = c->aliases; alias; alias = next) {
		next = alias->next;
		meta_free(alias, sizeof(*alias));
	}
	meta_free(c, sizeof(*c));
}

void cache_destroy(struct kmem_cache *s, const void *caller)
{
	struct cache *c;

	lock_acquire(&cache_lock);
	c = cache_of(s);
	CHECK(c && c->refcount > 0); /* else: destroyed once too often */
	if (--c->refcount == 0) {
		c->front.ops->drain(&c->front);
		if (c->engine.ops->destroy(&c->engine)) {
			report_leak(c, caller);
		} else {
			c->front.ops->destroy(&c->front);
			cache_unregister_locked(c);
			cache_number_put_locked(c->front.id);
			free_cache(c);
		}
	}
	lock_release(&cache_lock);
}
