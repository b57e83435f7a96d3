/* SPDX-License-Identifier: MIT */
/*
 * cache/internal.h - what the files of this floor share and nobody else sees
 *
 * Data:       the registry's lock and numbers, the defaults of USLAB_CONF.
 * Invariants: see cache/registry.c.
 * Locks:      cache_lock (RANK_CACHE).
 * Flow:       included by cache/ only.
 */
#ifndef CACHE_INTERNAL_H
#define CACHE_INTERNAL_H

#include "cache/cache.h"
#include "os/lock.h"

struct cache_defaults {
	const struct engine_ops *engine;
	const struct front_ops *front;
	unsigned int reap_ms; /* time between two rounds of reaping; 0: no reaping */
	bool no_merge;
	bool hardened;
	bool randomised;
	bool stats;
};

extern struct lock cache_lock;
extern struct cache_defaults cache_defaults;

/*
 * choice.c: sets what the spec leaves open: engine, front and capacity, by the rules of USLAB_CONF
 * and then the defaults. Where a front does not go with an engine, USLAB_CONF gives way to the
 * program, with one line on stderr. -EINVAL: the program asked for both.
 */
int cache_resolve(struct cache_spec *spec);

/* Rules for caches whose name is like the pattern; later ones win. false: no such name, no room. */
bool cache_add_engine_rule(const char *pattern, const char *name);
bool cache_add_front_rule(const char *pattern, const char *name);
bool cache_add_capacity_rule(const char *pattern, unsigned int capacity);

/* topology.c: the option of that name, before everything else; did it take this value? */
void cache_make_topology(void);
bool cache_topology_is(const char *value);

/* registry.c; all under cache_lock */
int cache_number_get_locked(unsigned int wanted, unsigned int *id);
void cache_number_put_locked(unsigned int id);
void cache_register_locked(struct cache *c);
void cache_unregister_locked(struct cache *c);

#endif /* CACHE_INTERNAL_H */
