/* SPDX-License-Identifier: MIT */
/*
 * cache/debug/failslab.h - allocations that are made to fail (spec 6.5)
 *
 * Data:       struct failslab: the kernel's attributes of fault injection.
 * Invariants: probability is 0 .. 100; times counts down to 0, or is -1 for ever.
 * Locks:      written under cache_lock and read without: all of it is atomic.
 * Flow:       called by debug.c, options.c and watch.c for caches with WATCH_FAULTS.
 */
#ifndef CACHE_FAILSLAB_H
#define CACHE_FAILSLAB_H

#include "cache/cache.h"

struct failslab {
	unsigned long interval;	   /* so many calls that pass the other tests, then one may fail */
	unsigned long probability; /* percent; 0: off */
	long space;		   /* bytes that are still given before the first failure */
	long times;		   /* failures to come; -1: no end */
	unsigned long calls;	   /* for interval */
	unsigned int verbose;	   /* 1: a line for each failure, 2: and its stack */
	bool ignore_gfp_wait;	   /* requests that may block (GFP_KERNEL) never fail */
	bool cache_filter;	   /* only caches with A */
	char task_filter[16];	   /* only threads with such a name, a shell's pattern; "": all */
};

extern struct failslab failslab;

/* Must this allocation fail? WATCH_FAULTS is set. */
cold bool failslab_should_fail(const struct cache *c, size_t size, gfp_t gfp, const void *caller);

/* Sets or clears the cache's WATCH_FAULTS, by its debug flags and what failslab is set to. */
cold void failslab_watch_locked(struct cache *c);

/* One attribute by the kernel's name ("ignore-gfp-wait", "N"); false: no such name or value. */
cold bool failslab_set(const char *key, const char *value);

#endif /* CACHE_FAILSLAB_H */
