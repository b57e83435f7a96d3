/* SPDX-License-Identifier: MIT */
/*
 * engine/slob/slob.h - SLOB: simple list of blocks, the kernel's K&R heap (spec 1)
 *
 * Why:        docs/adr/0008, docs/adr/0027.
 * Data:       two heaps, one for each form: struct slob_heap with the lists of pages that have free
 *             bytes (one list: slob:1991; by size, since 2008: slob). Per cache only struct slob.
 *             A page: struct page.freelist, the lowest free block, and .counters, the free bytes.
 * Invariants: a page is on one list iff it has free bytes, and no page is ever empty. In a page the
 *             free list is in ascending order and no two free blocks touch. A page whose list was
 *             overwritten is isolated: it counts as full for ever. slob_heap_check().
 * Locks:      slob_heap.lock (RANK_ENGINE), one for everything in the heap: lists, pages, counters,
 *             engine.heap_objects. Not held while pages come and go.
 * Flow:       slob.c (table) and block.c (kmalloc) call heap.c, which calls page.c; direct.c is for
 *             objects of whole pages. Calls page/buddy.c.
 *
 * A free block of s units (2 bytes each) whose next free block, in order of addresses, begins at
 * unit n of the page: {s, n}; if it is one unit: {-n}. n is 2048 for the last one.
 */
#ifndef ENGINE_SLOB_SLOB_H
#define ENGINE_SLOB_SLOB_H

#include "base/atomic.h"
#include "engine/mistake.h"
#include "os/lock/lock.h"
#include "page/page.h"

#define SLOB_UNIT 2ul /* bytes */
#define SLOB_PAGE_UNITS (PAGE_SIZE / SLOB_UNIT)

#define SLOB_LISTS 3
#define SLOB_SMALL 256u	  /* bytes; below: first list */
#define SLOB_MEDIUM 1024u /* bytes; below: second list */

/*
 * In front of what kmalloc and free by address must be able to find: {size, number of the cache}.
 */
#define SLOB_HEADER 8u

/* How a block is cut out of a page. */
struct slob_shape {
	unsigned int size;   /* bytes, with the header; 1 .. PAGE_SIZE */
	unsigned int align;  /* of the address behind the header; power of two, 8 .. PAGE_SIZE */
	unsigned int header; /* bytes: 0 or SLOB_HEADER */
};

struct slob_heap {
	struct lock lock;
	unsigned int last_list;		   /* index of the last list in use; const */
	const struct engine_heap *ops;	   /* what its pages point at; const */
	struct list_head list[SLOB_LISTS]; /* struct page.lru */
	struct engine self;		   /* who is named in reports on pages; const */
	bool said;			   /* reports wait for the release: engine_unlock() */
	unsigned long isolated;		   /* pages; counters has them, and for each an object */
	struct engine_heap_counters counters;
};

/* Of a cache; const but for nr_direct. */
struct slob {
	struct slob_heap *heap;
	struct slob_shape shape; /* of its blocks in the heap */
	bool direct;		 /* objects are whole pages, not in the heap */
	unsigned long nr_direct; /* of these, in use; atomic */
	/* stride: as the user sees it; objects: what a page could hold */
	struct slab_layout layout;
};

static inline struct slob *slob_of(const struct engine *e)
{
	return e->state;
}

/* ---- page.c: blocks in a page; the caller holds the heap's lock, or the page is private ---- */

static inline unsigned int slob_page_free_bytes(const struct page *page)
{
	return (uint32_t)page->counters;
}

/*
 * The upper half of page.counters is that of an isolated page, whose lower one is 0: a flag, and
 * how many bytes of it are in use and expected back.
 */
#define SLOB_ISOLATED (1ull << 32)
#define SLOB_LEFT_SHIFT 33

static inline bool slob_page_is_isolated(const struct page *page)
{
	return page->counters & SLOB_ISOLATED;
}

/* What slob_page_take() returns when the free list cannot be right: nothing is done. */
#define SLOB_BROKEN ((void *)1)

enum slob_put {
	SLOB_PUT,	/* done */
	SLOB_PUT_AGAIN, /* nothing done: some of it is free */
	SLOB_PUT_BROKEN /* nothing done: the free list cannot be right */
};

/* Makes a page one free block. */
void slob_page_init(struct page *page);
/* The first block that fits, cut to shape. NULL: none does. Or SLOB_BROKEN. */
void *slob_page_take(struct page *page, const struct slob_shape *shape);
/* Takes back a block of size bytes. */
enum slob_put slob_page_put(struct page *page, void *block, unsigned int size);
/* Is the free list as it should be? */
bool slob_page_is_whole(const struct page *page);

/* ---- heap.c ---- */

extern struct slob_heap slob_1991_heap; /* of slob:1991 */
extern struct slob_heap slob_heap;	/* of slob */

/* slob.c: what the two are to other floors. */
extern const struct engine_heap slob_1991_heap_ops;
extern const struct engine_heap slob_heap_ops;

/* As for any cache, a node that does not exist counts as none: -1 (spec 5.10). */
int slob_node(int node);
/*
 * 1 << order pages, from node or, if that is -1, as the thread's policy says. NULL: out of memory.
 */
struct page *slob_get_pages(unsigned int order, gfp_t gfp, int node);

/* To a counter that the heap's lock guards and tools read without it. */
static inline void slob_add_locked(unsigned long *counter, unsigned long n)
{
	store_relaxed(counter, load_relaxed(counter) + n);
}

static inline void slob_sub_locked(unsigned long *counter, unsigned long n)
{
	store_relaxed(counter, load_relaxed(counter) - n);
}

/*
 * A block of that shape from the heap's pages. The lock is held on return, but dropped while a page
 * is fetched. node as slob_node() says. NULL: out of memory.
 */
void *slob_take_locked(struct slob_heap *heap, const struct slob_shape *shape, gfp_t gfp, int node);
/*
 * Takes a block back, for e. A page that became empty is added to *empty, linked by page.next.
 * false: it is no block in use of this heap, which was reported.
 */
bool slob_put_locked(struct slob_heap *heap, struct engine *e, void *block, unsigned int size,
		     struct page **empty);
/* engine_mistake(), to be delivered with the lock's release. Returns false. */
cold bool slob_say_locked(struct slob_heap *heap, struct engine *e, void *obj,
			  enum engine_mistake what);
/* Isolates each page on the lists whose free list cannot be right. */
void slob_heap_verify(struct slob_heap *heap);
/*
 * The same two without waiting and reports: pages that the zones have free now; false: nothing was
 * done, since the page would be empty, or something is wrong.
 */
void *slob_try_take_locked(struct slob_heap *heap, const struct slob_shape *shape, int node);
bool slob_try_put_locked(struct slob_heap *heap, void *block, unsigned int size);
/* Gives pages back that slob_put_locked() found empty. Context: no lock held. */
void slob_free_pages(struct page *pages);
/* The page of a heap of SLOB that p lies in; NULL: in none. */
struct page *slob_heap_page(const void *p);

static inline struct slob_heap *slob_heap_of(const struct engine_heap *ops)
{
	return container_of(ops->counters, struct slob_heap, counters);
}

/* ---- block.c: blocks that say what they are (spec 1.6) ---- */

/* Can an object with a header lie in a page? align: power of two, at least 8. */
static inline bool slob_block_fits(size_t size, size_t align)
{
	return size < PAGE_SIZE - SLOB_HEADER && align + size <= PAGE_SIZE;
}

/* The shape of an object of size bytes behind a header: powers of two are aligned to themselves. */
struct slob_shape slob_block_shape(size_t size, size_t align);
/* Writes the header of a block; returns the object behind it. */
void *slob_block_open(void *block, size_t size, unsigned int owner);
/* The block of an object; NULL unless its header says just this. */
void *slob_block_close(void *p, size_t size, unsigned int owner);

void *slob_block_alloc(const struct engine_heap *ops, size_t size, size_t align, gfp_t gfp,
		       int node);
void slob_block_free(void *p);
void *slob_block_try_alloc(const struct engine_heap *ops, size_t size, size_t align, int node);
bool slob_block_try_free(const struct engine_heap *ops, void *p);
size_t slob_block_size(const void *p);
size_t slob_block_usable(size_t size);
unsigned int slob_block_owner(const void *p);

/* ---- direct.c: objects of whole pages ---- */

unsigned int slob_direct_refill(struct engine *e, void **objs, unsigned int want, gfp_t gfp,
				int node);
void slob_direct_flush(struct engine *e, void **objs, unsigned int n);

void *slob_direct_try_alloc(struct engine *e, int node);
bool slob_direct_try_free(struct engine *e, void *obj);

/* ---- try.c: as struct engine_ops says ---- */

void *slob_try_alloc(struct engine *e, int node);
bool slob_try_free(struct engine *e, void *obj);

/* ---- check.c ---- */

void slob_heap_check(struct slob_heap *heap);
void slob_check(struct engine *e);

#endif /* ENGINE_SLOB_SLOB_H */
