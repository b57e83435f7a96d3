/* SPDX-License-Identifier: MIT */
/*
 * cache/group/own.h - classes of the drop-in that a group uses much have a cache of its own
 *
 * Why:        docs/adr/0069.
 * Data:       none here.
 * Invariants: such a cache has one of the numbers that page class bytes have and no class takes, so
 *             that free() hits. It is made for a class and never destroyed: a number that somebody
 *             still has in his hands is that of a cache whose objects have the right size. It
 *             belongs to one group (cache.c), and to the next one when that was destroyed and all
 *             its slabs are gone. Until then it is closed: nobody allocates of it, and what is
 *             freed goes to its slab. A thread that is stopped in the middle of malloc() for so
 *             long may get one object that is charged to the next group.
 * Locks:      see own.c.
 * Flow:       called by malloc/.
 *
 * A hit is malloc_hot_group() in malloc/hot.h.
 */
#ifndef CACHE_GROUP_OWN_H
#define CACHE_GROUP_OWN_H

#include "cache/group/group.h"

/* Set by malloc/. */
struct own_classes {
	unsigned int nr; /* classes are caches 1 .. nr */
	size_t most;	 /* bytes of an object */
	/* What a cache for the class is like; name has room for CACHE_NAME_MAX bytes. */
	void (*describe)(unsigned int class, struct cache_spec *spec, char *name);
};

void group_own_init(const struct own_classes *of);

/*
 * An object of the cache that the group of that number, which this thread is in, has for that
 * class; NULL: it has none, or that may have no other slab, or the number is GROUP_NONE. A handler
 * may have taken the thread elsewhere meanwhile. No nested call.
 */
void *group_own_alloc(uint32_t id, unsigned int class, gfp_t gfp);
/* That cache; NULL: it has none. */
struct cache *group_own_cache(uint32_t id, unsigned int class);
/*
 * No array served the call: it has one when this was so often enough, and one that was closed for
 * the group's limit is opened when that is not exceeded any more.
 */
void group_own_missed(uint32_t id, unsigned int class);
/* Calls visit for all that there are for a class. */
void group_own_each(unsigned int class, void (*visit)(struct cache *c, void *arg), void *arg);
void group_own_check(void);

#endif /* CACHE_GROUP_OWN_H */
