/* SPDX-License-Identifier: MIT */
/*
 * cache/pressure.h - what is done when memory is short: callbacks of the program, then another try
 *
 * Why:        docs/adr/0047.
 * Data:       struct pressure, of an allocation that has failed, between its attempts.
 * Invariants: see pressure.c.
 * Locks:      `_locked`: cache_lock; the others: no lock may be held.
 * Flow:       called by cache/, api/manage_api.c and malloc/slow.c.
 */
#ifndef CACHE_PRESSURE_H
#define CACHE_PRESSURE_H

#include "cache/cache.h"

struct pressure {
	gfp_t wanted;		   /* set by the caller */
	size_t size;		   /* bytes of the request; likewise */
	struct cache *cache;	   /* that is to have the object; NULL: none; likewise */
	const char *whose;	   /* name for messages, if there is no cache; NULL: whole pages */
	bool is_malloc;		   /* for whole pages of malloc(), which has no flags; likewise */
	gfp_t gfp;		   /* of the next attempt */
	unsigned int round;	   /* so often room was made */
	unsigned int group_rounds; /* of these, in the group of the cache */
	uint64_t found;	    /* the trace of the failed shrink; 0: caches were not shrunk for it */
	unsigned int place; /* where it is kept */
	bool in_vain;	    /* nothing was freed since caches were last shrunk in vain */
	enum { PRESSURE_FAILED, PRESSURE_SHRUNK, PRESSURE_LAST } state;
};

/* After a failure: is there to be another attempt? Only the last one may warn. */
cold bool pressure_again(struct pressure *p);

/* It failed, and there is no use in another attempt: says so if a limit was met. */
cold void pressure_refused(const struct pressure *p);

/* Calls the reclaim callback of c; NULL: those of all caches. Not inside of a callback. */
void pressure_reclaim(const struct cache *c);

/* Of a new cache, if spec has one: 0 or -ENOMEM. */
int pressure_add_locked(struct cache *c, const struct cache_spec *spec);
/* Of a cache that nobody knows as yet. */
void pressure_drop_locked(const struct cache *c);
/* The callback of c, if it has one, is not called any more, and has returned in other threads. */
void pressure_remove(const struct cache *c);

void pressure_set_hook(uslab_oom_hook hook, void *arg);

/* In a child of fork(): no other thread runs a callback. */
void pressure_forked(void);

#endif /* CACHE_PRESSURE_H */
