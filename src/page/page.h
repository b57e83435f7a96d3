/* SPDX-License-Identifier: MIT */
/*
 * page/page.h - the page descriptor, and address <-> descriptor by arithmetic
 *
 * Data:       one struct page of 64 bytes per 4 KiB page of the arena, in one array.
 * Invariants: the head of a block in use has type SLAB, HEAP or RUN; every other page of a SLAB has
 *             type TAIL with head = index of the head, those of a RUN have type NONE, so that their
 *             descriptors are not touched. The head of a free block has type BUDDY or LISTED, the
 *             rest of it NONE. A page's class byte is 0 unless its block is a SLAB of a cache with
 *             a number below 256 that takes frees by address.
 * Locks:      type, order, head: written by the block's owner before it publishes any address in
 *             the block (store_release of the pointer by whatever publishes it); read without lock.
 *             lru, spare: list_lock of the node (slabs), zone lock (free blocks), lock of struct
 *             pcp (those on lists). freelist/counters: arch_dwcas, see engine/slub.
 * Flow:       used by every floor; tools read the array of another process.
 */
#ifndef PAGE_PAGE_H
#define PAGE_PAGE_H

#include "arch/dwcas.h"
#include "base/compiler.h"
#include "base/list.h"
#include "os/rcu/item.h"
#include <uslab/layout.h>

enum page_type {
	PAGE_NONE = 0,	 /* inside a free block or a page run, or never used */
	PAGE_BUDDY = 1,	 /* head of a free block */
	PAGE_SLAB = 2,	 /* head of a slab */
	PAGE_RUN = 3,	 /* head of a large allocation: nr_pages whole pages */
	PAGE_TAIL = 4,	 /* further page of a SLAB; see head */
	PAGE_HEAP = 5,	 /* single page with objects of several caches (engine/engine.h) */
	PAGE_LISTED = 6, /* head of a free block on a CPU's list (page/pcp.h) */
	PAGE_KEPT = 7,	 /* head of a free page run that a CPU keeps (page/pcp_runs.h) */
};

struct slab_layout;
struct engine;
struct engine_heap;

struct page {
	union {
		struct list_head lru; /* free list of the zone, or partial/full list of the node */
		struct {
			struct page *next;   /* per-CPU partial list of cpuslab */
			unsigned long slabs; /* its length, valid at the list's head */
		};
		struct os_rcu_item waits; /* no type, but in use: see pcp_free_later() */
		/* TAIL: bytes for the block's owner, which are certainly resident */
		uint8_t spare[2 * sizeof(void *)];
	};
	union {
		struct engine *engine;		/* SLAB: owner; const while it is one */
		const struct engine_heap *heap; /* HEAP: the heap that has the page; likewise */
	};
	const struct slab_layout *layout; /* SLAB: how its objects lie; const while it is one */
	union {
		struct dword both;
		struct {
			void *freelist;	   /* SLAB: first free object, plain address, or NULL */
			uint64_t counters; /* SLAB: the engine's; HEAP: low half free bytes */
		};
		struct { /* BUDDY, if it starts a range of free pages: see page/ranges.c */
			uint32_t next_range; /* of as many pages: index + 1; 0: none */
			uint32_t prev_range;
			uint32_t range_pages;
			uint32_t range_dirty;
		};
	};
	uint8_t type;	 /* enum page_type */
	uint8_t order;	 /* of the block, valid on all heads but HEAP */
	uint8_t node;	 /* of the memory */
	uint8_t classed; /* its class byte is not 0: of each page of a block */
	uint32_t head;	 /* index of the block's head (its own on a head) */
	/* SLAB, RUN: pages in use; BUDDY, LISTED, KEPT: pages that may hold non-zero bytes */
	uint32_t nr_pages;
	/* BUDDY: os_clock_ms() >> 4 when it became free, for purges; SLAB: engine/descriptor.h */
	uint32_t stamp;
};

BUILD_ASSERT(sizeof(struct page) == 64);

/*
 * The range of addresses; const after arena_init() but for nr_pages, the bits behind dirty
 * and free, and limit, which arena_fit() may change.
 * base is (char *)1 << 62 before init, so that no pointer seems to lie in the arena.
 */
struct page_map {
	char *base;	      /* the arena, aligned to 4 MiB */
	struct page *pages;   /* descriptor of page i of the arena */
	unsigned char *class; /* class byte of page i: base + USLAB_CLASSES_OFFSET */
	unsigned long limit; /* pages that the range is large enough for; 0 before init; arena_lock */
	unsigned long nr_pages; /* pages grown so far (descriptors committed); atomic, only grows */
	unsigned long *dirty;	/* bit i: free page i may hold non-zero bytes; zone lock */
	unsigned long *free;	/* bit i: page i is in a block on a list of its zone; zone lock */
	unsigned long *used;	/* page/used.h; NULL: not kept. Const once there are threads */
};

extern struct page_map page_map;

/* Index of the arena page that holds p; >= page_map.limit when p is not in the arena. */
static inline unsigned long page_index(const void *p)
{
	return (unsigned long)((const char *)p - page_map.base) >> PAGE_SHIFT;
}

static inline bool page_in_arena(const void *p)
{
	return page_index(p) < __atomic_load_n(&page_map.nr_pages, __ATOMIC_RELAXED);
}

static inline struct page *page_at(unsigned long index)
{
	return &page_map.pages[index];
}

static inline void *page_address(const struct page *page)
{
	return page_map.base + ((unsigned long)(page - page_map.pages) << PAGE_SHIFT);
}

/*
 * The head of the block that p lies in, or p's page if that is in no block or in a page run. NULL:
 * not in the arena.
 */
static inline struct page *page_block_of(const void *p)
{
	unsigned long index = page_index(p);
	struct page *page;

	if (unlikely(index >= __atomic_load_n(&page_map.nr_pages, __ATOMIC_RELAXED)))
		return NULL;
	page = page_at(index);
	return page->type == PAGE_TAIL ? page_at(page->head) : page;
}

/* The head of the page run that holds a page of type NONE, or NULL: looks at 1024 pages at most. */
cold struct page *page_run_around(struct page *page);

/* Head of the block in use that holds p; NULL if p is not in such a block of the arena. */
static inline struct page *page_head_of(const void *p)
{
	struct page *page = page_block_of(p);

	switch (page ? page->type : PAGE_NONE) {
	case PAGE_SLAB:
	case PAGE_HEAP:
	case PAGE_RUN:
		return page;
	case PAGE_NONE:
		return page ? page_run_around(page) : NULL;
	default:
		return NULL;
	}
}

/* Head of the slab that holds p; NULL if p is in none. */
static inline struct page *page_slab_of(const void *p)
{
	struct page *page = page_block_of(p);

	return likely(page && page->type == PAGE_SLAB) ? page : NULL;
}

/* The same for an address that is known to be an object's: no checks. */
static inline struct page *page_head_unchecked(const void *p)
{
	return page_at(page_at(page_index(p))->head);
}

/* Handle window number 0; handle i is at windows + 8 * i. */
static inline char *page_windows(void)
{
	return page_map.base + USLAB_WINDOWS_OFFSET;
}

/* Is it the head of a free block? */
static inline bool page_is_free(const struct page *page)
{
	return page->type == PAGE_BUDDY || page->type == PAGE_LISTED || page->type == PAGE_KEPT;
}

/* Pages of such a block. */
static inline unsigned long page_free_pages(const struct page *page)
{
	return page->type == PAGE_KEPT ? page->nr_pages : 1ul << page->order;
}

/* Marks page .. page + nr_pages as one block in use: types, heads, order (rounded up), nr_pages. */
void page_set_block(struct page *page, enum page_type type, unsigned long nr_pages);
/* The same for a page run, of free pages that are on no list; or how long it is from now on. */
void page_set_run(struct page *page, unsigned long nr_pages);
/* Clears what leads from freed pages to their block: types and class bytes. */
void page_forget_block(struct page *page, unsigned long nr_pages);
/* Writes the class byte of nr_pages pages. */
void page_set_class(struct page *page, unsigned long nr_pages, unsigned char class);

#endif /* PAGE_PAGE_H */
