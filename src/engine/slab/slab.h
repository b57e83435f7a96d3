/* SPDX-License-Identifier: MIT */
/*
 * engine/slab/slab.h - SLAB: slabs with an array of free object numbers (spec 3)
 *
 * Why:        docs/adr/0009, docs/adr/0027.
 * Data:       struct slab_cache per cache, struct slab_node per node; the slab is the page
 *             descriptor: freelist is the address of its index array, counters {inuse, objects,
 *             colour}, where inuse is what the kernel calls active.
 * Invariants: a slab is on the list of its node that its inuse names: 0 free, objects full, else
 *             partial; or it is being emptied (frozen, see evacuate.c); or it is isolated,
 *             counts as full and is on none (frozen). Entries
 *             inuse..objects-1 of the index array are the numbers of its free objects, the
 *             next to go first. free_objects is their number in all slabs of the node.
 *             Checked by slab_check().
 * Locks:      slab_node.list_lock (RANK_ENGINE) guards a node, its slabs and their index arrays.
 *             A new slab is private until it is on a list. free_objects is also read without it.
 * Flow:       included by engine/slab/ and cache/config/options.c; called by evacuate.c, slab.c,
 *             cache/config/options.c and through slab_ops and through slab_evacuation.
 *
 * The per-CPU, shared and alien arrays of spec 3.1 are the front `queues`; what they hold is in use
 * here. Of the parameters of a cache, pack, hardened and randomised have no meaning for SLAB: there
 * is no free pointer to encode, and what hardening does (spec 3.8) is to the
 * arrays. No debug layouts.
 */
#ifndef ENGINE_SLAB_SLAB_H
#define ENGINE_SLAB_SLAB_H

#include <string.h>

#include "base/atomic.h"
#include "engine/descriptor.h"
#include "engine/mistake.h"
#include "engine/nodes.h"
#include "engine/placement.h"
#include "os/lock/lock.h"
#include "page/page.h"

#define SLAB_MIN_SIZE 16 /* SLAB_OBJ_MIN_SIZE: bytes; so 255 objects are enough for a page */
#define SLAB_MAX_NUM 255 /* objects in a slab: numbers are one byte */

BUILD_ASSERT(sizeof(struct slab_counters) == sizeof(uint64_t));
BUILD_ASSERT((PAGE_SIZE >> 8) <= SLAB_MIN_SIZE);

/* Where a slab's index array is (spec 3.2), in the order in which they are tried. */
enum slab_placement {
	/*
	 * in one of the slab's free objects; nowhere while it is full; after that in a descriptor
	 * if a drain brings the first object back
	 */
	SLAB_INDEX_OBJECT,
	SLAB_INDEX_OFF, /* in a block of its own */
	SLAB_INDEX_ON,	/* at the very end of the slab */
};

/* What follows from a cache's sizes and flags (spec 3.3, 3.4). */
struct slab_geometry {
	unsigned int size; /* bytes from one object to the next */
	unsigned int order;
	unsigned int num;	 /* objects in a slab */
	unsigned int left_over;	 /* bytes of a slab without objects and index array */
	unsigned int colour;	 /* different places of object 0; 0 is as good as 1 */
	unsigned int colour_off; /* bytes between them */
	enum slab_placement placement;
};

/*
 * Of a slab that is frozen: it is being emptied, and on the list of these whatever its inuse; no
 * isolated slab has so many live objects.
 */
#define SLAB_EVACUATED 0xffffu

struct slab_node {
	struct lock list_lock;
	struct list_head partial; /* struct page.lru; refills take the head of these three */
	struct list_head full;
	struct list_head free;	    /* slabs that have no object in use; the tail goes first */
	struct list_head evacuated; /* slabs that are being emptied */
	unsigned long nr_partial;
	unsigned long total_slabs;
	unsigned long free_slabs;
	unsigned long isolated;	    /* slabs whose index array was overwritten, for ever */
	unsigned long free_objects; /* in all slabs; read without the lock as a hint */
	unsigned long free_limit;   /* more free objects than this, and free slabs go */
	unsigned int colour_next;
	bool free_touched; /* the free list was looked at since the last reap */
	bool said;	   /* reports wait for the release of list_lock: engine_unlock() */
} __attribute__((aligned(CACHE_LINE)));

struct slab_cache {
	struct slab_geometry geometry;
	uint64_t reciprocal;	   /* 2^32 / geometry.size, rounded up */
	struct slab_layout layout; /* the same for tools and debug/ */
	unsigned int nr_nodes;
	struct slab_node *node[]; /* nr_nodes */
};

static inline struct slab_cache *slab_cache_of(const struct engine *e)
{
	return e->state;
}

static inline bool slab_is_evacuated(struct slab_counters counters)
{
	return counters.frozen && counters.formatted == SLAB_EVACUATED;
}

/* Object 0: s_mem of the kernel. */
static inline char *slab_objects(const struct slab_cache *c, const struct page *slab)
{
	return (char *)page_address(slab) +
	       (size_t)engine_counters(slab).colour * c->geometry.colour_off;
}

/* Are these pages a slab of the cache? */
static inline bool slab_is_of(const struct slab_cache *c, const struct page *slab)
{
	return load_relaxed(&slab->type) == PAGE_SLAB && load_relaxed(&slab->layout) == &c->layout;
}

/*
 * The slab of this cache in which an object starts at p, and its number. NULL: none does. Any
 * context. Multiplication by the reciprocal is exact for multiples of the size, and whatever it
 * makes of other addresses, or of those before object 0, does not lead back to them.
 */
static inline struct page *slab_home(const struct slab_cache *c, const void *p,
				     unsigned int *number)
{
	struct page *slab = page_block_of(p);
	uint64_t offset;
	uint64_t i;

	if (unlikely(!slab || !slab_is_of(c, slab)))
		return NULL;
	offset = (uint64_t)((const char *)p - slab_objects(c, slab));
	i = (offset * c->reciprocal) >> 32;
	if (unlikely(i >= c->geometry.num || i * c->geometry.size != offset))
		return NULL;
	*number = (unsigned int)i;
	return slab;
}

/* ---- geometry.c ---- */

/* 0 or -E2BIG. max_order: a further order only where a lower one cannot hold an object. */
int slab_geometry(struct slab_geometry *g, unsigned int object_size, unsigned int align,
		  slab_flags_t flags, bool has_ctor, unsigned int max_order);
/* slab_max_order of the kernel's command line, as set. */
unsigned int slab_max_order(void);
/* Sets it, before the first cache exists. 0 or -EINVAL. */
int slab_set_max_order(unsigned int order);
/* Objects that a CPU's queue moves at once unless told otherwise (spec 3.5). */
unsigned int slab_batchcount(unsigned int size);
/* free_limit of a node with so many CPUs. */
unsigned long slab_free_limit(unsigned int num, unsigned int cpus, unsigned int batchcount);

/* ---- index.c ---- */

/*
 * Gives a new slab, whose colour is set, its index array: with all objects, or (full) none, which
 * needs no entry. false: out of memory.
 */
bool slab_index_new(const struct slab_cache *c, struct page *slab, bool full);
void slab_index_delete(const struct slab_cache *c, struct page *slab);
/*
 * Up to max (>= 1) free objects into objs, of a slab that has some. 0: nothing is taken, what the
 * array says cannot be. Context: list_lock, or private.
 */
unsigned int slab_index_take(const struct slab_cache *c, struct page *slab, void **objs,
			     unsigned int max);
/*
 * Frees object number `number`. false: it is free already, by the first entry of the array, or with
 * verify by all of them. verify: a drain, so no page of the slab may become resident by this.
 * Context: list_lock.
 */
bool slab_index_put(const struct slab_cache *c, struct page *slab, unsigned int number,
		    bool verify);
/* Is a number free? Context: list_lock. */
bool slab_index_has(const struct page *slab, unsigned int number);
/* Marks the free objects; false if the array cannot be right. Context: list_lock. */
bool slab_index_mark(const struct slab_cache *c, const struct page *slab,
		     bool is_free[SLAB_MAX_NUM]);

/* ---- node.c ---- */

struct slab_node *slab_node_new(void);
void slab_node_delete(struct slab_node *node);
/* Adds to free_objects. */
void slab_node_add_free_locked(struct slab_node *node, long objects);
/* On and off the list that the slab's inuse names. tail: that end of the partial list. */
void slab_node_link_locked(struct slab_node *node, struct page *slab, bool tail);
void slab_node_unlink_locked(struct slab_node *node, struct page *slab);
/*
 * A slab on no list whose array cannot be right is isolated: it counts as
 * full for ever. Reports it.
 */
cold void slab_node_isolate_locked(struct engine *e, struct slab_node *node, struct page *slab);
/* The slab whose turn it is: head of the partial, then of the free list. NULL: neither. */
struct page *slab_node_pick_locked(struct slab_node *node);
/* The node forgets the last of its free slabs, which joins *dropped. false: there is none. */
bool slab_node_drop_locked(struct slab_node *node, struct page **dropped);

/* ---- grow.c ---- */

/*
 * A slab of that place with its objects constructed, and all free or (full) all in use, on no list
 * and not counted yet. Context: no lock held; may map memory. NULL: out of memory.
 */
struct page *slab_grow(struct engine *e, const struct os_place *place, bool full);
/* Likewise one below page far (page/low.h), its objects free. NULL: none is to be had there. */
struct page *slab_grow_low(struct engine *e, unsigned long far);
/*
 * One with all its objects free without waiting, of what that node has free now; for caches without
 * a constructor. NULL also where index arrays are blocks of their own.
 */
struct page *slab_try_grow_locked(struct engine *e, unsigned int node);
/* Gives slabs back that are linked by page.next. Context: no lock held. */
void slab_release(struct engine *e, struct page *slabs);

/* ---- try.c: as struct engine_ops says ---- */

void *slab_try_alloc(struct engine *e, int node);
bool slab_try_free(struct engine *e, void *obj);

/* ---- refill.c, free.c, reap.c, check.c ---- */

unsigned int slab_refill(struct engine *e, void **objs, unsigned int want, gfp_t gfp, int node);
unsigned int slab_take_partial(struct engine *e, void **objs, unsigned int want);
/* As `take` of engine/evacuation.h. */
unsigned int slab_take_listed(struct engine *e, unsigned int node, void **objs, unsigned int want,
			      unsigned long far, bool grows);
unsigned int slab_take_new(struct engine *e, void **objs, unsigned int want, gfp_t gfp);
void slab_flush(struct engine *e, void **objs, unsigned int n);
unsigned long slab_reap(struct engine *e, unsigned int node);
int slab_shrink(struct engine *e);
void slab_walk(struct engine *e, void (*visit)(void *slab, void *obj, void *arg), void *arg);
void slab_walk_slab(struct engine *e, struct page *slab,
		    void (*visit)(void *slab, void *obj, void *arg), void *arg);
bool slab_is_free(struct engine *e, struct page *slab, const void *obj);
void slab_check(struct engine *e);
extern const struct engine_evacuation slab_evacuation; /* evacuate.c */

#endif /* ENGINE_SLAB_SLAB_H */
