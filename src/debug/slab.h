/* SPDX-License-Identifier: MIT */
/*
 * debug/slab.h - what the files of the debug engine share: one slab, its counters, its lists
 *
 * Data:       struct slab_counters of a debug slab; colour says which list it is on.
 * Invariants: see debug/debug.h.
 * Locks:      `_locked`: the caller holds the list_lock of the slab's node. Everything else here
 *             either only computes, or works on a slab that is private.
 * Flow:       included by debug/ and debug/pages/pages.c.
 */
#ifndef DEBUG_SLAB_H
#define DEBUG_SLAB_H

#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "debug/debug.h"
#include "engine/descriptor.h"

/* Which list a slab is on: stored, since its free list may be damaged. */
enum debug_list { LIST_NONE, LIST_PARTIAL, LIST_FULL };

/* What an operation needs and determines before it takes a lock. */
struct debug_request {
	const void *caller;
	size_t size;	    /* asked for; 0: the object's */
	slab_flags_t flags; /* of now */
	struct track track;
};

static inline struct debug *debug_of_slab(const struct page *slab)
{
	return slab->engine->debug;
}

static inline struct engine_node *debug_node_of(const struct page *slab)
{
	return debug_of_slab(slab)->node[slab->node];
}

/* Objects that fit into a slab. */
static inline unsigned int debug_capacity(const struct page *slab)
{
	size_t objects = (PAGE_SIZE << slab->order) / slab->layout->stride;

	return (unsigned int)MIN(objects, (size_t)SLAB_MAX_OBJECTS);
}

static inline void *debug_object(const struct page *slab, unsigned int i)
{
	const struct slab_layout *layout = slab->layout;

	return (char *)page_address(slab) + layout->red_left_pad + (size_t)i * layout->stride;
}

/* Is p where an object of the slab begins? */
static inline bool debug_is_object(const struct page *slab, const void *p)
{
	uintptr_t offset = (uintptr_t)p - (uintptr_t)debug_object(slab, 0);

	return (uintptr_t)p >= (uintptr_t)debug_object(slab, 0) &&
	       offset % slab->layout->stride == 0 &&
	       offset / slab->layout->stride < debug_capacity(slab);
}

static inline unsigned int debug_object_index(const struct page *slab, const void *obj)
{
	uintptr_t offset = (uintptr_t)obj - (uintptr_t)debug_object(slab, 0);

	return (unsigned int)(offset / slab->layout->stride);
}

static inline void *debug_next_free(const struct page *slab, void *obj)
{
	return debug_freeptr_get(debug_of_slab(slab), slab->layout, obj);
}

/* The pointer is stored encoded: see debug_freeptr_code(). */
static inline void debug_set_next_free(const struct page *slab, void *obj, void *next)
{
	uintptr_t *slot = (uintptr_t *)((char *)obj + slab->layout->offset);

	*slot = debug_freeptr_code(debug_of_slab(slab), (uintptr_t)next, slot);
}

/* Do the objects store how many bytes were asked for? */
static inline bool debug_knows_size(const struct page *slab)
{
	return debug_of_slab(slab)->orig_size && slab->layout->debug & SLAB_STORE_USER;
}

/* Are free objects poisoned? Not if they are constructed, or may be read after their free. */
static inline bool debug_poisons_objects(const struct page *slab)
{
	const struct engine *e = slab->engine;

	return slab->layout->debug & SLAB_POISON && !e->ctor &&
	       !(load_relaxed(&e->flags) & SLAB_TYPESAFE_BY_RCU);
}

/* A bit for each object of a slab. */
struct debug_bitmap {
	uint64_t word[(SLAB_MAX_OBJECTS + 64) / 64];
};

static inline bool debug_bitmap_has(const struct debug_bitmap *map, unsigned int i)
{
	return map->word[i / 64] >> (i % 64) & 1;
}

/* ---- object.c ---- */

/*
 * Fills the red zones of an object, and its body if it is poisoned, for an object in use
 * (RED_ACTIVE) or a free one.
 */
void debug_fill(const struct page *slab, void *obj, unsigned char red);
/* Bytes that the program asked for; the layout's object size where that is not known. */
unsigned int debug_size_asked(const struct page *slab, void *obj);
void debug_set_size_asked(const struct page *slab, void *obj, size_t size);
/* A track of this thread, now, with the stack from caller on. Context: no lock held. */
struct track debug_make_track(const void *caller, bool stack);
/* The same for an object, if its layout has tracks. Context: as above. */
void debug_request_init(struct debug_request *r, const struct engine *e,
			const struct slab_layout *layout, const void *caller, size_t size);

/* ---- check.c: false after a report; damage is repaired ---- */

bool debug_check_slab_locked(struct engine *e, struct page *slab);
/* red: RED_ACTIVE or RED_INACTIVE, as the object should be. */
bool debug_check_object(struct engine *e, struct page *slab, void *obj, unsigned char red);
/* Its first size bytes are poison, as those of a free object. */
bool debug_check_poison(struct engine *e, struct page *slab, void *obj, unsigned int size);
/* Follows the free list, and compares counters with it. Is obj on it? obj NULL: is it undamaged? */
bool debug_on_freelist_locked(struct engine *e, struct page *slab, const void *obj);
/* The bytes behind the last object. */
void debug_check_pad(struct engine *e, struct page *slab);
/* Marks the objects of the free list, as far as it can be followed; it need not be checked. */
void debug_mark_free_locked(const struct page *slab, struct debug_bitmap *map);
/* Invariants of all debug slabs, for engine_ops.check. */
void debug_check(struct engine *e);

/* ---- slab.c ---- */

/*
 * A slab with every object free, constructed, counted in its node, on no list. NULL: out of memory.
 */
struct page *debug_slab_new(struct engine *e, const struct slab_layout *layout, gfp_t gfp,
			    int node);
/* Pages from engine_try_pages() become such a slab. */
void debug_slab_open(struct engine *e, const struct slab_layout *layout, struct page *slab);
/* Puts the slab on the list where it belongs. */
void debug_place_locked(struct page *slab, bool tail);
/* Takes the slab off its list. */
void debug_unlist_locked(struct page *slab);
/* Is it empty, and to be freed? force: whatever min_partial says. */
bool debug_is_surplus_locked(const struct page *slab, bool force);
/* Takes it off its list and out of the node's counters, and adds it to *list (by page.next). */
void debug_forget_locked(struct page *slab, struct page **list);
/* A check failed: nothing is allocated from it any more, and it is never freed. */
void debug_isolate_locked(struct page *slab);
/* Frees slabs; with F each is checked once more. Context: no lock held; reports are delivered. */
void debug_slab_free_list(struct engine *e, struct page *slabs);

/* ---- free.c ---- */

/* As debug_free(), for an object known to be of e. */
void debug_free_own(struct engine *e, struct page *slab, void *obj, const void *caller);

/* ---- validate.c ---- */

int debug_shrink(struct engine *e);
/* One slab; not an isolated one, of which nothing is known. */
void debug_walk_slab(struct page *slab, void (*visit)(void *slab, void *obj, void *arg), void *arg);
void debug_walk(struct engine *e, void (*visit)(void *slab, void *obj, void *arg), void *arg);
/* Free objects of the node's slabs; takes list_lock. */
unsigned long debug_count_free(struct engine_node *node);
/* Adds the debug slabs to *stats. */
void debug_add_stats(struct engine *e, struct engine_stats *stats);

/* ---- wrap.c ---- */

/* d->ops from d->inner. */
void debug_wrap_ops(struct debug *d);

#endif /* DEBUG_SLAB_H */
