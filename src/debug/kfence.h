/* SPDX-License-Identifier: MIT */
/*
 * debug/kfence.h - some allocations in a page of their own, beside a page that nobody may touch (spec 11)
 *
 * Data:       a pool of pages as spec 11.1 says, made when it is switched on; metadata per object; a gate.
 * Invariants: an object's page is PAGE_SLAB with layout->kind LAYOUT_GUARD, page->engine its cache's,
 *             one object; guard pages and pages of freed objects are inaccessible.
 * Locks:      RANK_KFENCE for pool and metadata. The gate takes none.
 * Flow:       called by cache/watch.c and debug_ops; the SIGSEGV handler calls report functions.
 */
#ifndef DEBUG_KFENCE_H
#define DEBUG_KFENCE_H

#include "engine/engine.h"
#include "page/page.h"

/*
 * USLAB_CONF=kfence.sample=N,kfence.objects=N,kfence.interval=MS. sample: about one allocation in N goes
 * to a guarded page; 0: off (default). Before threads, or by a command at run time. 0 or -errno.
 */
bool kfence_set_option(const char *key, const char *value);

/* Pool and signal handler are made. 0 or -errno; again: 0. */
int kfence_start(void);
bool kfence_is_on(void);

/*
 * Is this allocation one for a guarded page? If so the object, constructed, aligned, of size bytes. NULL:
 * it is not, or there is none free. One load when the gate is closed. weight: how many allocations this
 * call stands for (a miss of an array stands for all of its objects).
 */
void *kfence_alloc(struct engine *e, size_t size, gfp_t gfp, const void *caller,
		   unsigned int weight);

/* An object whose page has LAYOUT_GUARD. Mistakes are reported, and nothing freed. */
void kfence_free(void *obj, const void *caller);

/* Exact bytes of the object that p points into the page of. */
size_t kfence_size(const void *p);

/* The cache goes away: its objects stay readable to nobody and are never used again (zombies). */
void kfence_cache_gone(struct engine *e);

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

void kfence_fork_prepare(void);
void kfence_fork_parent(void);
void kfence_fork_child(void);

#endif /* DEBUG_KFENCE_H */
