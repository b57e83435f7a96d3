/* SPDX-License-Identifier: MIT */
/*
 * debug/kfence_pool.h - the pages of KFENCE and what is known of each object (spec 11.1)
 *
 * Data:       struct kfence_pool, one, made by kfence_pool_make(); struct kfence_object per object.
 * Invariants: object i has page 2 + 2i of the pool; the pages between them are guards, never accessible
 *             but after a report. A page of an object is accessible while that is allocated, or after
 *             a report. FREED and UNUSED objects are on the free list, in the order of their frees.
 *             Checked by kfence_check().
 * Locks:      kfence_pool.lock (RANK_KFENCE) for everything but start and the sizes, which are const.
 * Flow:       included by kfence*.c only.
 */
#ifndef DEBUG_KFENCE_POOL_H
#define DEBUG_KFENCE_POOL_H

#include "base/list.h"
#include "engine/engine.h"
#include "os/lock.h"
#include "page/page.h"

#define KFENCE_COVER_FRAMES 8

enum kfence_state {
	KFENCE_UNUSED,
	KFENCE_ALLOCATED,
	KFENCE_FREED,
	KFENCE_ZOMBIE, /* its cache was destroyed before it was freed */
};

/* Who did it. */
struct kfence_track {
	uint32_t stack; /* debug/stacks.h; 0: none */
	uint32_t tid;
	uint32_t cpu;
	uint64_t when_us; /* os_clock_us() */
};

struct kfence_object {
	struct list_head list; /* pool.free */
	enum kfence_state state;
	char *addr;
	size_t size;
	unsigned int hash;     /* of the first frames of its allocation */
	struct engine *engine; /* NULL: destroyed */
	char *opened;	       /* guard page beside it that a report made accessible, or NULL */
	struct kfence_track alloc;
	struct kfence_track free;
};

struct kfence_pool {
	struct lock lock;
	char *start;	       /* NULL: not made; atomic, written last */
	unsigned int nr_pages; /* of PAGE_SIZE */
	unsigned int nr_objects;
	struct kfence_object *object;
	struct list_head free;	  /* next one first */
	unsigned int *covered;	  /* counting Bloom filter of the allocated objects' stacks */
	unsigned int cover_order; /* of covered[] */
};

extern struct kfence_pool kfence_pool;
extern const struct slab_layout kfence_layout;

/* Pages and metadata for that many objects. 0; -ENOMEM; -EOPNOTSUPP: pages of the system are larger. */
cold int kfence_pool_make(unsigned int nr_objects);

static inline bool kfence_in_pool(const void *p)
{
	const char *start = __atomic_load_n(&kfence_pool.start, __ATOMIC_ACQUIRE);

	return start && (size_t)((const char *)p - start) < kfence_pool.nr_pages * PAGE_SIZE;
}

/* p lies in the pool. */
static inline unsigned int kfence_page_index(const void *p)
{
	return (unsigned int)(((const char *)p - kfence_pool.start) >> PAGE_SHIFT);
}

static inline char *kfence_page_at(unsigned int index)
{
	return kfence_pool.start + index * PAGE_SIZE;
}

/* The object of a page of the pool; NULL: no page of an object. */
static inline struct kfence_object *kfence_object_at(unsigned int index)
{
	unsigned int i = index / 2 - 1; /* of page 0: far too large */

	return index % 2 == 0 && i < kfence_pool.nr_objects ? &kfence_pool.object[i] : NULL;
}

static inline unsigned int kfence_number(const struct kfence_object *o)
{
	return (unsigned int)(o - kfence_pool.object);
}

static inline char *kfence_object_page(const struct kfence_object *o)
{
	return kfence_page_at(2 + 2 * kfence_number(o));
}

/* ---- all with the lock held ---- */

/* Makes a page accessible, or not. false: the system has no more mappings for us. */
cold bool kfence_open_locked(char *page);
cold void kfence_close_locked(char *page);

/* What fills the page around an object. */
static inline unsigned char kfence_canary(const char *address)
{
	return (unsigned char)(0xaa ^ ((uintptr_t)address & 7));
}

cold void kfence_fill_canary_locked(const struct kfence_object *o);
/* The first byte before or behind the object that is none; NULL: all well. */
cold const char *kfence_bad_canary_locked(const struct kfence_object *o, bool behind);

/* Marks the object's page as a slab of e with one object, in use or not; e NULL: as no slab. */
cold void kfence_mark_page_locked(const struct kfence_object *o, struct engine *e, bool inuse);

/* The filter. */
cold unsigned int kfence_cover_hash(const uintptr_t *pcs, unsigned int nr);
cold bool kfence_covered_locked(unsigned int hash);
cold void kfence_cover_locked(unsigned int hash, int by);

/* Numbers that follow one another at random, for places and gates. */
uint64_t kfence_draw(void);

/* Dies on a violation. */
cold void kfence_check(void);

/* ---- kfence_report.c: into debug/text.h; counts a bug. Lock held; o may be NULL for accesses ---- */

enum kfence_bug {
	KFENCE_OUT_OF_BOUNDS,
	KFENCE_USE_AFTER_FREE,
	KFENCE_CORRUPTION,
	KFENCE_INVALID_ACCESS,
	KFENCE_INVALID_FREE,
};

/* pcs: the stack of whoever is to blame, the first frame names him. */
cold void kfence_report_locked(enum kfence_bug bug, const struct kfence_object *o,
			       const char *address, bool write, const uintptr_t *pcs,
			       unsigned int nr);

/* ---- kfence_fault.c ---- */

/* The handler of access faults is in its place, again if the program took it away. 0 or -errno. */
cold int kfence_fault_install(void);

#endif /* DEBUG_KFENCE_POOL_H */
