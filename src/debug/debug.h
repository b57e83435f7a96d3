/* SPDX-License-Identifier: MIT */
/*
 * debug/debug.h - debug slabs: objects that are checked, poisoned, fenced and
 * tracked (spec 4.4, 4.13)
 *
 * Data:       struct debug per cache that ever had a debug flag, with its own slabs and lists; one
 *             layout for each combination of Z, P and U that was asked for.
 * Invariants: a debug slab is on its node's partial list iff it has a free object and the
 *             layout of new slabs, else on the full list; isolated slabs (a check failed) are on
 *             neither. frozen marks isolated slabs. Objects that a front holds count as in use. The
 *             class byte of their pages is 0, so that kfree() and free() take no hit path. Checked
 *             by engine_ops.check.
 * Locks:      engine_node.list_lock (RANK_ENGINE) guards lists, free lists and counters of the
 *             node's debug slabs, and the bytes around their objects. Stacks are taken before it.
 * Flow:       called by debug/, cache/, malloc/, inspect/ and tools; stands between a cache and its
 *             engine: engine->ops is debug.ops from debug_attach() on, which gives debug objects
 *             back to debug slabs and everything else to the engine's own ops. Calls
 *             engine->debug->inner, report.c, stacks.c.
 *
 * Debug slabs are the same for every engine: those of the kernel's SLUB, page type PAGE_SLAB,
 * page->engine the cache's engine, layout->kind LAYOUT_DEBUG. So a cache in use can be switched:
 * plain objects stay in the engine's slabs, objects of debug slabs stay here, until they are freed.
 */
#ifndef DEBUG_DEBUG_H
#define DEBUG_DEBUG_H

#include "engine/engine.h"
#include "engine/nodes.h"
#include "os/lock/lock.h"
#include "page/page.h"

#define DEBUG_LAYOUT_FLAGS (SLAB_RED_ZONE | SLAB_POISON | SLAB_STORE_USER)
#define DEBUG_LAYOUTS 8 /* combinations of these */
/* Spec 5.1. */
#define DEBUG_DEFAULT (SLAB_CONSISTENCY_CHECKS | SLAB_RED_ZONE | SLAB_POISON | SLAB_STORE_USER)

/* Bytes (spec 0.5). */
#define POISON_INUSE 0x5a
#define POISON_FREE 0x6b
#define POISON_END 0xa5
#define RED_INACTIVE 0xbb
#define RED_ACTIVE 0xcc

/* Who allocated or freed an object; two of them behind info_end when U is set. Read by tools. */
struct track {
	uint64_t addr;	 /* the caller; 0: never */
	uint32_t handle; /* of its stack, debug/stacks.h; 0: none */
	uint32_t cpu;
	uint32_t pid;	 /* of the thread */
	uint32_t sample; /* how the allocation was sampled: DEBUG_SAMPLE(); 0: it was not */
	uint64_t when;	 /* jiffies: milliseconds of os_clock_ms() */
};

BUILD_ASSERT(sizeof(struct track) == 32);

/*
 * An allocation of so many bytes (below 2^24) was sampled by random skips with a mean of 2^mean
 * bytes: with probability 1 - exp(-bytes / 2^mean), whose inverse is its weight.
 */
#define DEBUG_SAMPLE(bytes, mean) ((uint32_t)(mean) << 24 | (uint32_t)(bytes))
#define DEBUG_SAMPLE_BYTES(sample) ((sample)&0xffffffu)
#define DEBUG_SAMPLE_MEAN(sample) ((sample) >> 24)

enum track_item { TRACK_ALLOC, TRACK_FREE };

struct debug {
	struct engine *engine;
	const struct engine_ops *inner;	  /* the engine's own */
	slab_flags_t flags;		  /* F Z P U T of now; atomic */
	const struct slab_layout *layout; /* of new debug slabs; atomic */
	bool orig_size; /* objects remember how many bytes were asked for (kmalloc, malloc; U) */
	bool hardened;
	uint64_t random;	   /* of free pointers, if hardened */
	uint64_t tracking_since;   /* see below; of the cache floor; atomic */
	unsigned long min_partial; /* fewer partial slabs than this: an empty one stays; atomic */
	unsigned int nr_nodes;
	struct slab_layout layouts[DEBUG_LAYOUTS]; /* by debug_layout_index(); stride 0: not made */
	struct engine_ops ops; /* inner's, with those replaced that wrap.c has */
	struct engine_node *node[];
};

/*
 * tracking_since: os_clock_ms() when users began to be stored as they are now, of all objects (U)
 * or of those that are sampled; 0: they are not. Users of older objects are not stored, or were
 * stored before a gap.
 */
#define DEBUG_SINCE_EVER 1 /* since before the first object */

/* ---- layout.c: pure functions ---- */

/*
 * The offsets of spec 4.4. flags: Z, P, U and SLAB_TYPESAFE_BY_RCU; has_ctor; orig_size: 4 more
 * bytes after the tracks. Leaves the orders alone.
 */
void debug_layout_sizes(struct slab_layout *layout, unsigned int object_size, unsigned int align,
			slab_flags_t flags, bool has_ctor, bool orig_size);
/* Order and objects by the kernel's rules (spec 4.3). 0 or -E2BIG. */
int debug_layout_orders(struct slab_layout *layout);
/* Offset behind the last metadata of an object: where its padding begins. */
unsigned int debug_info_end(const struct slab_layout *layout, bool orig_size);

static inline unsigned int debug_layout_index(slab_flags_t flags)
{
	return (flags & SLAB_RED_ZONE ? 1u : 0u) | (flags & SLAB_POISON ? 2u : 0u) |
	       (flags & SLAB_STORE_USER ? 4u : 0u);
}

/* ---- where things are; slab and obj belong together ---- */

static inline bool debug_is_slab(const struct page *page)
{
	return page && page->type == PAGE_SLAB && page->layout->kind == LAYOUT_DEBUG;
}

/* Is the free pointer behind the object? (spec 4.4) */
static inline bool debug_freeptr_outside(const struct slab_layout *layout)
{
	return layout->offset >= layout->inuse;
}

static inline unsigned int debug_tracks_offset(const struct slab_layout *layout)
{
	return layout->inuse + (debug_freeptr_outside(layout) ? (unsigned int)sizeof(void *) : 0);
}

static inline struct track *debug_track(const struct slab_layout *layout, void *obj,
					enum track_item item)
{
	return (struct track *)((char *)obj + debug_tracks_offset(layout)) + item;
}

static inline uint32_t *debug_orig_size(const struct slab_layout *layout, void *obj)
{
	return (uint32_t *)debug_track(layout, obj, TRACK_FREE + 1);
}

/* Code of a free pointer, both ways (spec 4.5). */
static inline uintptr_t debug_freeptr_code(const struct debug *d, uintptr_t value,
					   const uintptr_t *slot)
{
	return d->hardened ? value ^ d->random ^ __builtin_bswap64((uintptr_t)slot) : value;
}

static inline void *debug_freeptr_get(const struct debug *d, const struct slab_layout *layout,
				      void *obj)
{
	uintptr_t *slot = (uintptr_t *)((char *)obj + layout->offset);

	return (void *)debug_freeptr_code(d, *slot, slot);
}

/* ---- attach.c; callers hold the registry lock ---- */

/*
 * From now on the cache can have debug slabs: makes struct debug, with no flags, and replaces the
 * engine's ops by its own. orig_size: objects remember how many bytes were asked for (kmalloc,
 * malloc). 0 or -ENOMEM. Again: 0.
 */
int debug_attach(struct engine *e, bool orig_size, bool hardened);

/*
 * Sets the flags of new debug slabs and of checks: F Z P U T, 0 for none. no_higher_order: option
 * O, Z, P and U are dropped where they would raise the smallest order. 0, -E2BIG (nothing changed).
 */
int debug_set_flags(struct engine *e, slab_flags_t flags, bool no_higher_order);

/*
 * May other caches still merge with this one? Not if a layout depends on the object's size (spec
 * 5.4).
 */
bool debug_may_merge(const struct engine *e);

/* Frees struct debug, after ops->destroy() said 0; puts the inner ops back. */
void debug_detach(struct engine *e);
/*
 * What stands behind the operations of an engine that has struct debug, which has no slabs and
 * which nobody uses.
 */
void debug_set_inner(struct engine *e, const struct engine_ops *inner);

/* ---- alloc.c, free.c (spec 4.13, 7.3, 7.4) ---- */

/*
 * One object out of a debug slab, checked, filled, tracked. size: bytes asked for, 0: object_size.
 * Not zeroed. NULL: out of memory.
 */
void *debug_alloc(struct engine *e, gfp_t gfp, int node, size_t size, const void *caller);

/*
 * The same without waiting, in any context (lock_tries_begin()): filled and tracked, without a
 * stack; not checked, since that may end in a report. NULL: none can be had so.
 */
void *debug_try_alloc(struct engine *e, int node, size_t size, const void *caller);

/* The object, which debug_alloc() just gave, was sampled: remembers how, if its slab has U. */
void debug_mark_sample(void *obj, uint32_t sample);

/* That object is now caller's, as if he had allocated it. No lock held. */
void debug_set_user(void *obj, const void *caller);

/*
 * Frees an object of a debug slab (debug_is_slab(page_head_of(obj))) to cache e. A mistake is
 * reported, and nothing is freed; an object of another cache is reported and freed to its own.
 */
void debug_free(struct engine *e, void *obj, const void *caller);

/* ---- object.c ---- */

/*
 * Bytes that may be used (spec 5.7): what was asked for if that is known, object_size
 * with Z or P, else inuse.
 */
size_t debug_usable_size(const struct page *slab, const void *obj);
/*
 * The program resizes the object in place; new_size is at most object_size. Stores the size, and
 * fills the rest red. false: slabs of this layout store no size.
 */
bool debug_resize(struct page *slab, void *obj, size_t new_size);
/* With F, before a resize: true if the object is free already; that is reported. No lock held. */
bool debug_report_free(struct page *slab, void *obj);

/* ---- element.c: an object of a debug slab comes to a memory pool, or leaves it ---- */

void debug_poison_kept(struct page *slab, void *obj);
/* What was written meanwhile is reported; the caller delivers it. Then the object is as new. */
void debug_check_kept(struct page *slab, void *obj);

/* ---- validate.c (spec 7.8) ---- */

/* Checks all debug slabs, full ones too. Returns how many. */
unsigned long debug_validate(struct engine *e);

#endif /* DEBUG_DEBUG_H */
