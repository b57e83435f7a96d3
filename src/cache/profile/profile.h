/* SPDX-License-Identifier: MIT */
/*
 * cache/profile/profile.h - allocation profiling: who allocated an object, in bytes and calls
 *
 * Why:        docs/adr/0050.
 * Data:       a word beside each object that is counted (page/ext.h; of blocks that are mappings of
 *             their own page/large.h): generation and number of its call site (sites.h).
 * Invariants: a word of the present generation is that of a live object which is counted, and its
 *             cache has WATCH_TAGS: each free of it comes by profile_drop(). Checked by
 *             profile_check().
 * Locks:      cache_lock to switch it on and off, and to set WATCH_TAGS; sites.h for counters.
 * Flow:       called by api/profile_api.c, evacuate.c, heap.c, kmalloc.c, nolock.c, watch.c,
 *             create.c, control.c, init.c, options.c and check.c; calls sites.c, extension.c,
 *             switch.c.
 */
#ifndef CACHE_PROFILE_H
#define CACHE_PROFILE_H

#include "cache/cache.h"
#include "cache/profile/sites.h"

/* USLAB_CONF=mem_profiling=0|1|never. false: refused. */
bool profile_set_option(const char *value);
/* Switches it on if the options ask for it; once. 0 or -errno. */
cold int profile_start(void);

/* 0; -EPERM: never; -ENOMEM; -EOVERFLOW. Takes cache_lock. */
cold int profile_switch(bool on);

/* Was it ever on? Relaxed: who has an object that is counted knows. */
static inline bool profile_is_known(void)
{
	return unlikely(load_relaxed(&sites_table));
}

/*
 * An object or block, live and the caller's, is counted for that tag; NULL: not. c: the cache that
 * it is of; NULL: the address tells, as it does to kfree(). keep: not if it is counted already. p
 * may be any address, but with c NULL no object of a heap that kfree() does not take.
 */
void profile_add(struct alloc_tag *tag, struct cache *c, const void *p, bool keep);

/*
 * What is live at p, an object of c, or (NULL) a block, is about to be freed. The caller waits for
 * locks.
 */
cold void profile_drop_slow(struct cache *c, const void *p);

static inline void profile_drop(struct cache *c, const void *p)
{
	if (profile_is_known())
		profile_drop_slow(c, p);
}

/*
 * An object of c may be about to move to another one of c, the caller's: what is counted for it is
 * counted for that one as well, until one of both is freed.
 */
cold void profile_copy_slow(struct cache *c, const void *from, const void *to);

static inline void profile_copy(struct cache *c, const void *from, const void *to)
{
	if (profile_is_known())
		profile_copy_slow(c, from, to);
}

/* A cache that was registered just now. */
cold void profile_created_locked(struct cache *c);

/* An allocation that should have been counted, and was not. */
cold void profile_lose(void);

void profile_check(void);

#endif /* CACHE_PROFILE_H */
