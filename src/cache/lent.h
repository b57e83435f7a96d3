/* SPDX-License-Identifier: MIT */
/*
 * cache/lent.h - lent sheaves: free objects that the program has put by, to allocate them without
 * fail
 *
 * Why:        docs/adr/0039.
 * Data:       struct slab_sheaf (page/meta.c), one per lent sheaf; lent_sheaves, the list of all.
 * Invariants: obj[0 .. count-1] are free, as those that a front holds: marked where they were,
 *             clear in page/used.h, in use in their slabs; but those of debug slabs are as
 *             allocated ones. Checked by lent_check().
 * Locks:      lent_lock (RANK_LENT) guards the list. obj[] is written while the sheaf is off the
 *             list. count is the owner's, who alone takes objects; others read it under the lock,
 *             and see it fall.
 * Flow:       used by api/sheaf_api.c, cache/ and inspect/.
 *
 * Whoever finds an object among the first count ones has found a free object: one that is
 * allocated was taken, and count was less, before its owner could do anything with it.
 */
#ifndef CACHE_LENT_H
#define CACHE_LENT_H

#include "base/atomic.h"
#include "cache/cache.h"

struct slab_sheaf {
	struct list_head list;
	struct cache *cache;	  /* const while it is lent, NULL after that */
	uint32_t count;		  /* objects that are left; atomic */
	uint32_t capacity : 31;	  /* objects that fit */
	uint32_t is_of_front : 1; /* has been a sheaf of the front, and is to be one again */
	void *obj[];
};

extern struct list_head lent_sheaves; /* read by tools from outside */

/* ---- lent.c: the public functions of <uslab/slab.h> ---- */

struct slab_sheaf *lent_prefill(struct cache *c, gfp_t gfp, unsigned int size, const void *caller);
void *lent_alloc(struct cache *c, gfp_t gfp, struct slab_sheaf *sheaf, const void *caller);
int lent_refill(struct cache *c, gfp_t gfp, struct slab_sheaf **sheaf, unsigned int size,
		const void *caller);
void lent_return(struct cache *c, struct slab_sheaf *sheaf, const void *caller);

/* The object on top; there is one. */
static inline void *lent_pop(struct slab_sheaf *sheaf)
{
	void *obj = sheaf->obj[sheaf->count - 1];

	store_relaxed(&sheaf->count, sheaf->count - 1);
	return obj;
}

/* ---- lent_list.c ---- */

void lent_add(struct slab_sheaf *sheaf);
void lent_remove(struct slab_sheaf *sheaf);

/* Does that address belong to a lent sheaf? Any address. */
cold bool lent_is_listed(const struct slab_sheaf *sheaf);
/* Is the object in a lent sheaf? Looks at all of them. */
cold bool lent_holds(const void *obj);

struct lent_sum {
	unsigned long sheaves;
	unsigned long objects;
};
/* What of that cache is lent. */
cold struct lent_sum lent_sum(const struct cache *c);

void lent_each_lock(void (*act)(struct lock *l)); /* for fork */
void lent_check(void);

#endif /* CACHE_LENT_H */
