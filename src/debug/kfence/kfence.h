/* SPDX-License-Identifier: MIT */
/*
 * debug/kfence/kfence.h - some allocations in a page of their own, beside an inaccessible page
 * (spec 11)
 *
 * Data:       a pool of pages as spec 11.1 says, made when it is switched on;
 *             metadata per object; a gate.
 * Invariants: an object's page is PAGE_SLAB with layout->kind LAYOUT_GUARD, page->engine its
 *             cache's, one object; guard pages and pages of freed objects are inaccessible.
 * Locks:      RANK_KFENCE for pool and metadata. The gate takes none.
 * Flow:       called by cache/ and wrap.c; the SIGSEGV handler calls report functions.
 *
 * kfree() and free() free an object here at once, since its page has page class 0.
 * kmem_cache_free() may push it onto the CPU's array on the hit path, which does not look at pages:
 * until it is flushed from the array (debug/wrap.c) it counts as allocated, uses after its free are
 * not noticed, and it may be allocated again as any object of the cache.
 */
#ifndef DEBUG_KFENCE_H
#define DEBUG_KFENCE_H

#include "engine/engine.h"
#include "page/page.h"

#define KFENCE_DEFAULT_SAMPLE 100000
#define KFENCE_DEFAULT_OBJECTS 255u /* CONFIG_KFENCE_NUM_OBJECTS */
#define KFENCE_MAX_SAMPLE (1ul << 31)

/*
 * USLAB_CONF=kfence.sample=N,kfence.objects=N,kfence.interval=MS; the key is what follows the
 * point. sample: about one allocation in N is guarded; none given: KFENCE_DEFAULT_SAMPLE; 0: off
 * (default). objects: from 1 to what the machine can hold (kfence_most_objects()), before
 * kfence_start(); else one line says so. interval: see cache/debug/guard.h; 0: off; with no sample
 * so far it means that of the default. false: refused.
 */
cold bool kfence_set_option(const char *key, const char *value);
cold bool kfence_is_wanted(void); /* sample is not 0 */
cold unsigned int kfence_interval(void);

/* Pool and fault handler are made. 0 or -errno; again: 0. */
cold int kfence_start(void);
/* They are made; some objects may be guarded, whatever the sample is by now. */
cold bool kfence_is_on(void);

/*
 * A guarded object if this allocation is sampled: constructed, aligned, of size bytes (0, or with a
 * constructor: the cache's), zeroed if gfp says so; exactly these bytes may be written. NULL: not
 * sampled, or no object is free. One load when the sample is 0. weight: how many allocations this
 * call stands for (a miss of an array stands for all of its objects). No lock may be held.
 */
cold void *kfence_alloc(struct engine *e, size_t size, gfp_t gfp, const void *caller,
			unsigned int weight);

/* On each CPU the next allocation is sampled. */
cold void kfence_open_gate(void);

/*
 * Any address in a page with LAYOUT_GUARD. Mistakes are reported, and nothing freed. Locks: none
 * held above RANK_KFENCE; reports are delivered here.
 */
cold void kfence_free(void *obj, const void *caller);

/*
 * To be called before the library reads the object that starts at p for caller. If it was freed,
 * that is reported as the fault would be, with caller to blame, and it can be read from now on.
 * Locks: as kfence_free().
 */
cold bool kfence_report_read(const void *p, const void *caller);

/* Exact bytes of the object that starts at p, allocated or freed; 0: there is none. */
cold size_t kfence_size(const void *p);

/* What is known of the object whose page p lies in. */
struct kfence_info {
	const void *start;
	const struct engine *engine; /* NULL: its cache is gone */
	uint32_t allocated;	     /* stacks, see debug/stacks.h; 0: none */
	uint32_t freed;
};

/* false: p lies in no page of an object. Any address; the object may change meanwhile. */
cold bool kfence_describe(const void *p, struct kfence_info *info);

/* Calls visit for the object of a guarded page, if it is in use. No lock may be held. */
cold void kfence_walk(struct page *slab, void (*visit)(void *slab, void *obj, void *arg),
		      void *arg);

/* Guarded pages that are or were the engine's objects, and how many of these are in use. */
struct kfence_share {
	unsigned long pages;
	unsigned long inuse;
};
cold struct kfence_share kfence_share_of(const struct engine *e);

/* The cache is destroyed: its objects become inaccessible and are never used again (zombies). */
cold void kfence_cache_gone(struct engine *e);

static inline bool kfence_is_object(const struct page *page)
{
	return page && page->type == PAGE_SLAB && page->layout->kind == LAYOUT_GUARD;
}

struct kfence_counters {
	unsigned long enabled;
	unsigned long allocated;
	unsigned long allocations;
	unsigned long frees;
	unsigned long zombies;
	unsigned long bugs;
	unsigned long skipped_incompatible;
	unsigned long skipped_capacity;
	unsigned long skipped_covered;
};
extern struct kfence_counters kfence_counters; /* read by tools from outside */

/* Asserts the invariants. */
cold void kfence_check(void);

cold void kfence_each_lock(void (*act)(struct lock *l));

#endif /* DEBUG_KFENCE_H */
