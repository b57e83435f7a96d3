/* SPDX-License-Identifier: MIT */
/*
 * cache/reclaim/ahead.h - memory is reclaimed before the system takes it, or ends the process
 *
 * Why:        docs/adr/0063.
 * Data:       what USLAB_CONF=reclaim says.
 * Invariants: see ahead.c.
 * Locks:      no lock may be held by callers.
 * Flow:       called by cache/ and malloc/slow.c; calls shrinker.c, shrink.c, page/limit.h,
 *             os/memory/cgroup.h.
 */
#ifndef CACHE_RECLAIM_AHEAD_H
#define CACHE_RECLAIM_AHEAD_H

#include "cache/cache.h"
#include "page/limit.h"
#include "page/nested.h"

/* The option; false: it is refused. */
bool reclaim_set_option(const char *value);
/* Does it say something? */
bool reclaim_is_on(void);
/*
 * Follows what the option says. 0; -errno: no thread could be made. Context: as os_ticker_start().
 */
int reclaim_start(void);

/* Times that memory was reclaimed ahead; read by tools from outside. */
struct reclaim_counters {
	unsigned long cgroup; /* since the cgroup came near its limit; atomic */
	unsigned long psi;    /* since tasks waited for memory; atomic */
	unsigned long waits;  /* calls that waited for another one's reclaim, a moment; atomic */
};

extern struct reclaim_counters reclaim_counters;

/* limit_counters.due is set: a request with these flags reclaims, or waits a moment. */
cold void reclaim_due(gfp_t gfp);
cold bool reclaim_nested_look(gfp_t gfp);

/* As nested_call(), for a request with these flags; what is due is reclaimed first. */
static always_inline bool reclaim_nested_call(gfp_t gfp)
{
	return unlikely(!lock_is_plain()) && reclaim_nested_look(gfp);
}

/* In a child of fork(): no other thread reclaims. */
void reclaim_forked(void);

#endif /* CACHE_RECLAIM_AHEAD_H */
