/* SPDX-License-Identifier: MIT */
/*
 * engine/slobseg/slobseg.h - segregated free lists: pages of one object size,
 * a list per node (spec 2)
 *
 * Why:        docs/adr/0008, docs/adr/0027.
 * Data:       struct slobseg: the pages of one object size. A cache's own (slobseg, and some caches
 *             of slobseg:pow2), or one of the ten pools of slobseg:pow2 that all caches share.
 * Invariants: a page is on the list of its node iff it has a free object and one in use; one with
 *             no object in use is not kept. page.counters == empty + one * objects in use of it,
 *             and SLOBSEG_OFF while it is not the list's: new, on its way back, or isolated, and
 *             then it counts as full. Checked by slobseg_check_lists().
 * Locks:      slobseg.lock (RANK_ENGINE), one for all nodes, guards lists, pages and counts. It is
 *             dropped around buddy_alloc(), and pages go back after it was released.
 * Flow:       included by engine/slobseg/ only.
 *
 * Bounded time, not counting waits for a lock. To take an object: one pop; or a new page, which is
 * one buddy_alloc() (10 splits at most, or the commit of a chunk of 4 MiB) and PAGE_SIZE / stride
 * <= 512 links. To put one back: one push, and at most one buddy_free() (10 merges at most).
 * Nothing is ever looked for: no walk over pages, none over the objects of a page, whatever the
 * program did before; only with engine.verify_frees a put searches its page.
 * Only without memory are the other nodes looked at, one step each. What is not bounded lies below:
 * page faults, and the purge that a buddy_free() does now and then (large USLAB_CONF=purge_limit=
 * and purge_delay= avoid it).
 */
#ifndef ENGINE_SLOBSEG_SLOBSEG_H
#define ENGINE_SLOBSEG_SLOBSEG_H

#include <string.h>

#include "base/atomic.h"
#include "engine/descriptor.h"
#include "engine/mistake.h"
#include "os/lock/lock.h"
#include "page/page.h"

struct os_place;

#define SLOBSEG_WORD ((unsigned int)sizeof(void *))

/*
 * In page.counters: what comes back is not put on the list. Below it, so many objects of the page
 * are in use all the same, and are expected back: of an isolated one.
 */
#define SLOBSEG_OFF (1ull << 63)
#define SLOBSEG_LEFT_SHIFT 48
#define SLOBSEG_LEFT_ONE (1ull << SLOBSEG_LEFT_SHIFT)
#define SLOBSEG_LEFT_MASK (SLOBSEG_OFF - SLOBSEG_LEFT_ONE)

struct slobseg {
	struct lock lock;
	/*
	 * By node: page.lru of the first page, or NULL; .next and .prev end with NULL. So all zero
	 * is no page, and the pools need no init before the first malloc.
	 */
	struct list_head **first;
	struct engine_heap_counters *count; /* own, or the pool's that tools read */
	uint64_t one;	     /* what page.counters changes by with each object in use */
	uint64_t empty;	     /* page.counters of a page with no object in use */
	uint64_t full;	     /* and of one with no free object */
	unsigned int offset; /* of the free pointer: 0 but in RCU caches, and beside a mark */
	unsigned char page_class;
	unsigned char type; /* of its pages: PAGE_SLAB (a cache's own) or PAGE_HEAP (a pool) */

	struct slab_layout layout;
	union {
		struct engine *engine;
		const struct engine_heap *heap;
	};
	unsigned int nr_nodes;
	unsigned int end;		 /* bytes of a page up to where its last object ends */
	bool said;			 /* reports wait for the release of lock: engine_unlock() */
	unsigned long nr_partial;	 /* pages on the lists */
	unsigned long isolated;		 /* pages whose free list was overwritten, for ever */
	struct engine_heap_counters own; /* a cache's: .pages are its slabs, .blocks as .objects */
};

/* struct page.counters of a page of a cache's own, as tools read it. */
static inline uint64_t slobseg_counters(unsigned int inuse, unsigned int objects)
{
	struct slab_counters counters = { .inuse = (uint16_t)inuse, .objects = objects & 0x7fff };

	return engine_counters_word(counters);
}

/* A page's objects in the order of their addresses. */
static inline void *slobseg_object(const struct page *page, unsigned int i)
{
	return (char *)page_address(page) + (size_t)i * page->layout->stride;
}

static inline void **slobseg_link(const struct slobseg *s, void *obj)
{
	return (void **)((char *)obj + s->offset);
}

/* Does an object start so many bytes from the start of a page? One multiplication. */
static inline bool slobseg_starts(const struct slobseg *s, uint64_t offset)
{
	return offset < s->end && slab_is_multiple(offset, s->layout.magic);
}

/* Of objects - free ones, for page.counters. */
static inline uint64_t slobseg_used(const struct slobseg *s, unsigned int free)
{
	return s->full - s->one * free;
}

static inline bool slobseg_is_pool(const struct slobseg *s)
{
	return s->type == PAGE_HEAP;
}

/* The cache whose pages they are; NULL: a pool's. */
static inline struct engine *slobseg_engine(const struct slobseg *s)
{
	return slobseg_is_pool(s) ? NULL : s->engine;
}

static inline struct slobseg *slobseg_of_page(const struct page *page)
{
	return (struct slobseg *)container_of(page->layout, struct slobseg, layout);
}

/* ---- list.c: objects out of pages and back. *users counts them too, under the lock ---- */

unsigned int slobseg_take(struct slobseg *s, void **objs, unsigned int want, gfp_t gfp, int node,
			  unsigned long *users);
/* e: who is named in reports. Objects that are none, or are free, are reported and left out. */
void slobseg_put(struct engine *e, struct slobseg *s, void **objs, unsigned int n,
		 unsigned long *users);
/*
 * list.c: for one object, without waiting and reports: as try_alloc and try_free of struct
 * engine_ops.
 */
void *slobseg_try_take(struct slobseg *s, int node, unsigned long *users);
bool slobseg_try_put(struct slobseg *s, void *obj, unsigned long *users);
/* Isolates each page on the lists whose free list cannot be right. */
void slobseg_verify(struct slobseg *s);
/* Who is named in reports on pages. */
struct engine *slobseg_owner(const struct slobseg *s);

/* ---- page.c ---- */

/*
 * A page of that place with all its objects on its free list, on no list. May map memory. NULL: out
 * of memory.
 */
struct page *slobseg_page_new(const struct slobseg *s, const struct os_place *place);
/* The same without waiting, of what that node has free now. */
struct page *slobseg_page_try_new(const struct slobseg *s, unsigned int node);
/* Gives pages linked by page.next back. Context: no lock held. */
void slobseg_pages_free(const struct slobseg *s, struct page *pages);

/* ---- direct.c: objects of which a block of pages holds one ---- */

static inline bool slobseg_is_direct(const struct slobseg *s)
{
	return s->layout.objects == 1 && !slobseg_is_pool(s);
}

unsigned int slobseg_direct_take(struct slobseg *s, void **objs, unsigned int want, gfp_t gfp,
				 int node);
void slobseg_direct_put(struct slobseg *s, void **objs, unsigned int n);
void *slobseg_direct_try_take(struct slobseg *s, int node);
bool slobseg_direct_try_put(struct slobseg *s, void *obj);
/* What a pointer that cannot be taken back is: its page is no longer ours, or never was. */
enum engine_mistake slobseg_what(const struct slobseg *s, const void *p);

/* ---- slobseg.c: caches with pages of their own; slobseg:pow2 uses them for some ---- */

/* The node that a request starts with; an unknown one counts as none (spec 4.8a). */
unsigned int slobseg_node_slow(int node);
/* Bytes that an object takes before alignment, with the footer of RCU caches. */
unsigned int slobseg_object_bytes(const struct engine_params *params);
/* 0, -E2BIG, -ENOMEM. stride: bytes from object to object. */
int slobseg_init_own(struct engine *e, const struct engine_params *params,
		     const struct engine_ops *ops, unsigned int stride);
unsigned int slobseg_refill(struct engine *e, void **objs, unsigned int want, gfp_t gfp, int node);
void slobseg_flush(struct engine *e, void **objs, unsigned int n);
void slobseg_reclaim(struct engine *e, void **objs, unsigned int n);
void *slobseg_try_alloc(struct engine *e, int node);
bool slobseg_try_free(struct engine *e, void *obj);
int slobseg_shrink(struct engine *e);
unsigned long slobseg_destroy(struct engine *e);
void slobseg_stats(struct engine *e, struct engine_stats *stats);
void slobseg_each_lock(struct engine *e, void (*act)(struct lock *l));

/* Runs the constructor, which slobseg does for each allocation (spec 2.2). */
static inline void slobseg_construct(const struct engine *e, void **objs, unsigned int n)
{
	unsigned int i;

	if (unlikely(e->ctor))
		for (i = 0; i < n; i++)
			e->ctor(objs[i]);
}

static inline struct slobseg *slobseg_of(const struct engine *e)
{
	return e->state;
}

/* ---- check.c ---- */

void slobseg_check_lists(struct slobseg *s);
void slobseg_check(struct engine *e);
/*
 * Does the free list end, with as many objects as are free, each at its start? Context: the lock.
 */
bool slobseg_list_is_whole(const struct slobseg *s, const struct page *page);
/* Is obj on the list, as far as that can be believed? Context: the lock. */
bool slobseg_is_listed(const struct slobseg *s, const struct page *page, const void *obj);
bool slobseg_is_free(struct engine *e, struct page *page, const void *obj);
void slobseg_walk_slab(struct engine *e, struct page *slab,
		       void (*visit)(void *slab, void *obj, void *arg), void *arg);
void slobseg_walk(struct engine *e, void (*visit)(void *slab, void *obj, void *arg), void *arg);

#endif /* ENGINE_SLOBSEG_SLOBSEG_H */
