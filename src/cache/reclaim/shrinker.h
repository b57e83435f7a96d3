/* SPDX-License-Identifier: MIT */
/*
 * cache/reclaim/shrinker.h - shrinkers: functions of the program that count objects and free some
 *
 * Why:        docs/adr/0063.
 * Data:       the shrinkers that are registered.
 * Invariants: see shrinker.c.
 * Locks:      no lock may be held by callers.
 * Flow:       called by ahead.c, fork.c, pressure.c, api/shrinker_api.c, api/init.c; calls what was
 *             registered.
 */
#ifndef CACHE_RECLAIM_SHRINKER_H
#define CACHE_RECLAIM_SHRINKER_H

#include "cache/cache.h"
#include <uslab/shrinker.h>

/* The kernel's: of the objects 1 / 2^priority are looked at, times 4 / seeks. */
#define SHRINKER_GENTLE 12u

/* Read by tools from outside. */
struct shrinker_counters {
	unsigned long registered; /* now; atomic */
	unsigned long scanned;	  /* objects that were looked at, since the start; atomic */
	unsigned long freed;	  /* of these; atomic */
};

extern struct shrinker_counters shrinker_counters;

/* 0; -ENOMEM; -EEXIST; -EINVAL. */
int shrinker_add(struct shrinker *s);
/* Until no other thread runs it. false: it was not registered. */
bool shrinker_remove(struct shrinker *s);

/* May a request with these flags run shrinkers in this thread, and are there any? */
bool shrinkers_may_run(gfp_t gfp);
/* Calls each once or more, as the kernel at that priority. Objects that were freed. */
unsigned long shrinkers_run(gfp_t gfp, unsigned int priority);

/* In a child of fork(): no other thread runs one. */
void shrinkers_forked(void);

#endif /* CACHE_RECLAIM_SHRINKER_H */
