/* SPDX-License-Identifier: MIT */
/*
 * debug/kfence/kfence_pool.h - the pages of KFENCE and the metadata of each object (spec 11.1)
 *
 * Data:       struct kfence_pool, one, made by kfence_pool_make(), in pieces that are blocks of the
 *             arena; struct kfence_object per object.
 * Invariants: object i of a piece has page 2 + 2i of it; the pages between them are guards, never
 *             accessible but after a report. A page of an object is accessible while that is
 *             allocated, or after a report. FREED and UNUSED objects are on the free list, in the
 *             order of their frees. Checked by kfence_check().
 * Locks:      kfence_pool.lock (RANK_KFENCE) for everything but start and
 *             the sizes, which are const.
 * Flow:       included by kfence*.c only.
 */
#ifndef DEBUG_KFENCE_POOL_H
#define DEBUG_KFENCE_POOL_H

#include "base/bits.h"
#include "base/list.h"
#include "engine/engine.h"
#include "os/lock/lock.h"
#include "page/buddy.h"
#include "page/page.h"

#define KFENCE_COVER_FRAMES 8

/* A piece is a block of the largest order, the last one possibly a smaller block. */
#define KFENCE_PIECE_PAGES (1u << BUDDY_MAX_ORDER)
#define KFENCE_PIECE_OBJECTS (KFENCE_PIECE_PAGES / 2 - 1)

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
	char **piece; /* where each begins; NULL: not made; atomic, written last */
	/* by block of the arena: 1 + the number of the piece that lies there, or 0 */
	uint16_t *piece_at;
	unsigned int nr_objects;
	uint32_t *closings; /* by page: how often it was closed; atomic */
	struct kfence_object *object;
	struct list_head free;	  /* next one first */
	unsigned int *covered;	  /* counting Bloom filter of the allocated objects' stacks */
	unsigned int cover_order; /* of covered[] */
};

extern struct kfence_pool kfence_pool;
extern const struct slab_layout kfence_layout;

/*
 * Pages and metadata for that many objects. 0; -ENOMEM; -EOPNOTSUPP: pages
 * of the system are larger.
 */
cold int kfence_pool_make(unsigned int nr_objects);

/*
 * How many objects this machine can hold: each open page is a mapping that splits another
 * one, and the pool takes half of what vm.max_map_count allows at most; an eighth of the
 * memory; a quarter of the arena.
 */
cold unsigned int kfence_most_objects(void);

static inline unsigned int kfence_nr_pieces(unsigned int nr_objects)
{
	return DIV_ROUND_UP(nr_objects, KFENCE_PIECE_OBJECTS);
}

/* Objects of the piece of that number. */
static inline unsigned int kfence_piece_objects(unsigned int piece, unsigned int nr_objects)
{
	return MIN(nr_objects - piece * KFENCE_PIECE_OBJECTS, KFENCE_PIECE_OBJECTS);
}

/* Pages of a piece with so many objects. */
static inline unsigned int kfence_piece_pages(unsigned int nr_objects)
{
	return 2 * (nr_objects + 1);
}

static inline unsigned int kfence_block_of(const void *p)
{
	return (unsigned int)(page_index(p) >> BUDDY_MAX_ORDER);
}

/*
 * p lies in the pool. Pages are numbered piece by piece, each from a multiple
 * of KFENCE_PIECE_PAGES on.
 */
static inline unsigned int kfence_page_index(const void *p)
{
	unsigned int piece = kfence_pool.piece_at[kfence_block_of(p)] - 1u;

	return piece * KFENCE_PIECE_PAGES +
	       (unsigned int)(((const char *)p - kfence_pool.piece[piece]) >> PAGE_SHIFT);
}

static inline char *kfence_page_at(unsigned int index)
{
	return kfence_pool.piece[index / KFENCE_PIECE_PAGES] +
	       (size_t)(index % KFENCE_PIECE_PAGES) * PAGE_SIZE;
}

static inline bool kfence_in_pool(const void *p)
{
	/* pairs with kfence_pool_make */
	char **start = __atomic_load_n(&kfence_pool.piece, __ATOMIC_ACQUIRE);
	unsigned int piece = start && page_in_arena(p) ? kfence_pool.piece_at[kfence_block_of(p)]
						       : 0;
	size_t pages;

	if (!piece)
		return false;
	pages = kfence_piece_pages(kfence_piece_objects(piece - 1, kfence_pool.nr_objects));
	return (size_t)((const char *)p - start[piece - 1]) < pages * PAGE_SIZE;
}

/* The object of a page of the pool; NULL: no page of an object. */
static inline struct kfence_object *kfence_object_at(unsigned int index)
{
	unsigned int i = index % KFENCE_PIECE_PAGES / 2 - 1; /* of page 0: far too large */
	unsigned int number = index / KFENCE_PIECE_PAGES * KFENCE_PIECE_OBJECTS + i;

	return index % 2 == 0 && i < KFENCE_PIECE_OBJECTS && number < kfence_pool.nr_objects
		       ? &kfence_pool.object[number]
		       : NULL;
}

static inline unsigned int kfence_number(const struct kfence_object *o)
{
	return (unsigned int)(o - kfence_pool.object);
}

static inline char *kfence_object_page(const struct kfence_object *o)
{
	unsigned int number = kfence_number(o);

	return kfence_page_at(number / KFENCE_PIECE_OBJECTS * KFENCE_PIECE_PAGES + 2 +
			      2 * (number % KFENCE_PIECE_OBJECTS));
}

/* ---- all with the lock held ---- */

/* Makes a page accessible, or not. false: the limit on mappings is reached. */
cold bool kfence_open_locked(char *page);
cold void kfence_close_locked(char *page);

/* Changes whenever the page is closed. */
static inline uint32_t kfence_closings(const char *page)
{
	return __atomic_load_n(&kfence_pool.closings[kfence_page_index(page)], __ATOMIC_RELAXED);
}

/* What fills the page around an object. */
static inline unsigned char kfence_canary(const char *address)
{
	return (unsigned char)(0xaa ^ ((uintptr_t)address & 7));
}

cold void kfence_fill_canary_locked(const struct kfence_object *o);
/* The first wrong canary byte before or behind the object; NULL: none is. */
cold const char *kfence_bad_canary_locked(const struct kfence_object *o, bool behind);

/* Marks the object's page as a slab of e with one object, in use or not; e NULL: as no slab. */
cold void kfence_mark_page_locked(const struct kfence_object *o, struct engine *e, bool inuse);

/* The filter. */
cold unsigned int kfence_cover_hash(const uintptr_t *pcs, unsigned int nr);
cold bool kfence_covered_locked(unsigned int hash);
cold void kfence_cover_locked(unsigned int hash, int by);

/* Random numbers, for places and gates. */
uint64_t kfence_draw(void);

/* Asserts the invariants. */
cold void kfence_check(void);

/*
 * kfence_report.c: into debug/report/report_text.h; counts a bug. Lock held; accesses: o may be
 * NULL
 */

enum kfence_bug {
	KFENCE_OUT_OF_BOUNDS,
	KFENCE_USE_AFTER_FREE,
	KFENCE_CORRUPTION,
	KFENCE_INVALID_ACCESS,
	KFENCE_INVALID_FREE,
};

enum kfence_access { KFENCE_READ, KFENCE_WRITE, KFENCE_EXECUTE };

/* pcs: the stack of the access; its first frame is named as the culprit. */
cold void kfence_report_locked(enum kfence_bug bug, const struct kfence_object *o,
			       const char *address, enum kfence_access access, const uintptr_t *pcs,
			       unsigned int nr);

/* ---- kfence_fault.c ---- */

/* Installs the handler of access faults, also again if the program replaced it. 0 or -errno. */
cold int kfence_fault_install(void);

#endif /* DEBUG_KFENCE_POOL_H */
