/* SPDX-License-Identifier: MIT */
/*
 * cache/debug/guard.h - guarded pages (debug/kfence/kfence.h) for all caches
 *
 * Data:       none.
 * Invariants: once there are guarded pages every cache has WATCH_ROUTE and WATCH_KFENCE, unless
 *             memory was short for it, its inline hits could not free such objects, or its objects
 *             have keys.
 * Locks:      the registry lock, where the name says so.
 * Flow:       called by create.c, init.c, control.c; calls debug/kfence/kfence.c, switch.c,
 *             os/time/ticker.c.
 *
 * Hit paths do not sample: only misses are counted, each for all the objects that a miss brings. A
 * program that only hits gets no guarded pages. kfence.interval=MS has a thread drain the front of
 * one cache after the other, every MS milliseconds, and open the gate: its next allocation misses,
 * and is guarded.
 */
#ifndef CACHE_GUARD_H
#define CACHE_GUARD_H

#include "cache/cache.h"

/*
 * If the options ask for it, makes the pool, and sets the bits of all caches; again: nothing. No
 * lock may be held. 0 or -errno.
 */
cold int guard_start(void);
/* The thread, if the options ask for one. Context: see os/time/ticker.h. 0 or -errno. */
cold int guard_start_thread(void);

/* A cache that was registered just now. */
cold void guard_created_locked(struct cache *c);

#endif /* CACHE_GUARD_H */
