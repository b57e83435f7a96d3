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
	bool no_merge;
	bool hardened;
	bool randomised;
	bool stats;
};

extern struct lock cache_lock;
extern struct cache_defaults cache_defaults;

/* registry.c; all under cache_lock */
int cache_number_get_locked(unsigned int wanted, unsigned int *id);
void cache_number_put_locked(unsigned int id);
void cache_register_locked(struct cache *c);
void cache_unregister_locked(struct cache *c);

#endif /* CACHE_INTERNAL_H */
