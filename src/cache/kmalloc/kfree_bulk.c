/* SPDX-License-Identifier: MIT */
/*
 * cache/kmalloc/kfree_bulk.c - kfree_bulk(): frees pointers of any kind, objects of one cache
 * together
 *
 * Data:       none.
 * Invariants: objects of one cache are freed in the order of the array, so that the last one is the
 *             next to be allocated.
 * Locks:      none held here.
 * Flow:       called by api/, cache/grace/free.c and sheaf_free.c there; calls free.c, and
 *             kmalloc.c for what is rare.
 *
 * - neighbours of one slab of a kmalloc cache with arrays: together onto the array, in one sequence
 *   (arch/malloc_rseq.h);
 * - objects of caches whose frees are no hits: those of one cache out of the next WINDOW, by one
 *   bulk call;
 * - all others, and if too few of these are found: one by one.
 */
#include <string.h>

#include "base/bits.h"
#include "cache/kmalloc/kfree.h"
#include "cache/object.h"

#define RUN_MIN 8      /* pointers; fewer take longer together than one by one */
#define RUN_RETRY 16   /* freed one by one after a search found fewer */
#define GATHER_MIN 10  /* pointers that may be of several caches; fewer begin with some of one */
#define GATHER_HITS 20 /* likewise, of caches whose single frees are hits */
#define GATHERED_MIN 4 /* objects of one cache among them */
#define WINDOW 64      /* pointers that are searched for objects of one cache */
#define OTHERS_MIN 8   /* objects of other caches before the search is given up, */
#define OTHERS_PER 4u  /* and as many more for each that was found */

/* ---- one ---- */

/* p is no hit by its page class. Rare cases and mistakes are left to kfree(). */
static noinline void free_miss(void *p, const void *caller)
{
	static const struct cache_call call = { "kmem_cache_free_bulk", FIX_NOT_FREED };
	struct page *slab = kfree_slab(p);
	struct cache *c = slab ? container_of(slab->engine, struct cache, engine) : NULL;

	if (unlikely(!c || !engine_starts_object(slab, p))) {
		kmalloc_free_as(&call, p, caller);
		return;
	}
	if (kfree_own_hit(c, p))
		return;
	if (unlikely(!c->engine.mark || !lock_is_plain()) || cache_is_watched(c, ~0u) ||
	    unlikely(mark_is_set(p, c->engine.mark))) {
		cache_free_for(c, p, caller);
		return;
	}
	mark_set(p, c->engine.mark);
	c->front.ops->free(&c->front, p);
}

static always_inline uint64_t table_of(unsigned int class, unsigned long table)
{
	return load_relaxed((const uint64_t *)(page_windows() + table) + class);
}

/* May frees of this class be hits? */
static always_inline bool class_hits(unsigned int class)
{
	return class && likely(percpu_rseq) && likely(table_of(class, USLAB_WINDOW_MAGICS));
}

/*
 * p[0] was no hit. Goes on one by one, unless a miss has made space for several. Returns how many
 * are left.
 */
static noinline size_t free_singly_on(const void *caller, size_t nr, void **p)
{
	const unsigned long pages = load_relaxed(&page_map.nr_pages);
	char *base = page_map.base;

	for (; nr; nr--, p++) {
		unsigned int class = kfree_class(base, pages, *p);

		if (class && likely(arch_malloc_push(base, class, os_rseq_offset, *p)))
			continue;
		free_miss(*p, caller);
		if (nr > RUN_MIN && class_hits(class))
			return nr - 1;
	}
	return 0;
}

/*
 * One by one. The slow path is a tail call, so that hits save no registers. Returns how many are
 * left: none of RUN_MIN or fewer.
 */
static noinline size_t free_singly(const void *caller, size_t nr, void **p)
{
	const unsigned long pages = load_relaxed(&page_map.nr_pages);
	char *base = page_map.base;
	ptrdiff_t rseq = os_rseq_offset;

	for (; nr; nr--, p++)
		if (unlikely(!arch_malloc_push(base, kfree_class(base, pages, *p), rseq, *p)))
			return free_singly_on(caller, nr, p);
	return 0;
}

/* ---- several at once ---- */

/* Do the first three lie in one slab of this class? Of class 0 there is none. */
static always_inline bool are_neighbours(unsigned int class, void *const *p)
{
	uintptr_t mask = table_of(class, USLAB_WINDOW_MASKS);

	return !((((uintptr_t)p[0] ^ (uintptr_t)p[1]) | ((uintptr_t)p[0] ^ (uintptr_t)p[2])) &
		 ~mask) &&
	       mask;
}

/*
 * The first ones, as far as they are of one slab and the array has space. Returns how many were
 * freed.
 */
static always_inline size_t free_neighbours(unsigned int class, size_t nr, void **p)
{
	uintptr_t mask = table_of(class, USLAB_WINDOW_MASKS);

	return arch_malloc_push_run(percpu_handle(class), os_rseq_offset, nr, p,
				    (uintptr_t)p[0] & ~mask, mask + 1);
}

/* Is p an object of this engine? *places: where objects of its last slab start; updated for p's. */
static always_inline bool is_object_of(const struct engine *e, const void *p,
				       struct engine_places *places)
{
	const struct page *slab;

	if (likely(engine_is_place(places, p)))
		return true;
	slab = kfree_slab(p);
	if (!slab || slab->engine != e)
		return false;
	*places = engine_places(slab);
	return engine_is_place(places, p);
}

/*
 * Moves those of the first WINDOW pointers that are of the first one's cache to run[], and the
 * others to behind them. Gives up when there are too many others. Returns how many are in run[].
 */
static unsigned int gather(const struct engine *e, size_t nr, void **p, void **run)
{
	struct engine_places places = { .bytes = 0 };
	unsigned int found = 0;
	unsigned int others = 0;

	for (size_t i = 0; i < MIN(nr, (size_t)WINDOW); i++) {
		if (is_object_of(e, p[i], &places))
			run[found++] = p[i];
		else if (others < OTHERS_MIN + OTHERS_PER * found)
			p[others++] = p[i];
		else
			break;
	}
	if (others)
		memmove(p + found, p, others * sizeof(*p));
	return found;
}

/* Are those at 1 and 3 objects of the same engine? */
static always_inline bool start_with_same_engine(const struct engine *e, void *const *p)
{
	const struct page *second = kfree_slab(p[1]);
	const struct page *last = kfree_slab(p[3]);

	return second && last && second->engine == e && last->engine == e;
}

/*
 * Those of the first one's cache among the next ones. Returns how many of p[]
 * were freed: the first ones.
 */
static noinline size_t free_gathered(size_t nr, void **p, const void *caller)
{
	struct page *slab = kfree_slab(p[0]);
	struct cache *c = slab ? container_of(slab->engine, struct cache, engine) : NULL;
	void *run[WINDOW];
	unsigned int n;

	if (!c || nr < RUN_MIN ||
	    (load_relaxed(&c->front.capacity) && c->front.id < USLAB_ID_FIRST_FREE) ||
	    (nr < (load_relaxed(&c->front.capacity) ? GATHER_HITS : GATHER_MIN) &&
	     !start_with_same_engine(&c->engine, p)))
		return 0;
	n = gather(&c->engine, nr, p, run);
	if (n >= GATHERED_MIN) {
		cache_free_bulk_checked(c, n, run, caller);
		return n;
	}
	memcpy(p, run, n * sizeof(*p));
	return 0;
}

/* Returns how many of p[] were freed; 0: those that come first do not belong together. */
static always_inline size_t free_run(const void *caller, size_t nr, void **p)
{
	unsigned int class = kfree_class(page_map.base, load_relaxed(&page_map.nr_pages), p[0]);
	size_t n;

	if (likely(class && are_neighbours(class, p))) {
		n = free_neighbours(class, nr, p);
		if (likely(n))
			return n;
		if (class_hits(class)) { /* the array is full; after a miss it has space */
			free_miss(p[0], caller);
			return 1;
		}
	}
	return class_hits(class) ? 0 : free_gathered(nr, p, caller);
}

static noinline void free_many(const void *caller, size_t nr, void **p)
{
	size_t n;

	for (; nr; nr -= n, p += n) {
		n = likely(nr >= RUN_MIN) ? free_run(caller, nr, p) : 0;
		if (!n) {
			n = MIN(nr, (size_t)RUN_RETRY);
			n -= free_singly(caller, n, p);
		}
	}
}

/* For so few pointers a search in vain would cost too much: gathers only where it surely pays. */
static noinline void free_few(const void *caller, size_t nr, void **p)
{
	unsigned int class = kfree_class(page_map.base, load_relaxed(&page_map.nr_pages), p[0]);
	size_t n = 0;

	if (class && are_neighbours(class, p)) {
		n = free_neighbours(class, nr, p);
		if (n != nr)
			free_many(caller, nr - n, p + n);
		return;
	}
	if (!class)
		n = free_gathered(nr, p, caller);
	if (!n)
		n = nr - free_singly(caller, nr, p);
	if (n != nr)
		free_many(caller, nr - n, p + n);
}

/* The library could not start: there are no windows. */
static cold void free_none(const void *caller, size_t nr, void **p)
{
	while (nr-- > 0)
		kmalloc_free(*p++, caller);
}

void kmalloc_free_bulk(const void *caller, size_t nr, void **p)
{
	if (unlikely(!page_map.limit)) {
		free_none(caller, nr, p);
	} else if (nr >= RUN_MIN) {
		if (nr >= RUN_RETRY)
			free_many(caller, nr, p);
		else
			free_few(caller, nr, p);
	} else if (nr > 1) {
		free_singly(caller, nr, p); /* all of so few */
	} else if (nr && unlikely(!kfree_hit(p[0]))) {
		free_miss(p[0], caller);
	}
}
