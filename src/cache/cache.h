/* SPDX-License-Identifier: MIT */
/*
 * cache/cache.h - struct cache: one named object cache, its front and its engine
 *
 * Data:       struct cache (page/meta.c), one per physical cache; the public struct kmem_cache is
 *             its handle, 8 bytes in window 0 that point here.
 * Invariants: every live cache is on cache_list once and its handle points at it; aliases holds
 *             each further name once. Checked by cache_check_all().
 * Locks:      cache_lock (RANK_CACHE) guards list, refcounts, names, aliases and numbers. Alloc and
 *             free take no lock of this floor.
 * Flow:       called by api/, cache/, malloc/, inspect/classes.c, inspect/names.c and
 *             inspect/snapshot.c; the only struct that has both a front and an engine.
 */
#ifndef CACHE_CACHE_H
#define CACHE_CACHE_H

#include "base/list.h"
#include "debug/report/report.h"
#include "engine/engine.h"
#include "front/front.h"
#include "os/cpu/cpu.h"
#include "os/process/env.h"

#define CACHE_NAME_MAX (USLAB_MAX_NAME + 1) /* bytes with the NUL */

/* objects, of the fronts queues and sheaves; the array front takes up to 31 */
#define CACHE_MAX_CAPACITY 1024

struct os_policy;

struct cache_alias {
	struct cache_alias *next;
	char name[CACHE_NAME_MAX];
};

/*
 * The watch bits: why the slow paths of a cache have more to do, see watch.c; written under
 * cache_lock, read without. Any of WATCH_CLOSED: the front is closed, and every call takes the slow
 * paths.
 */
enum cache_watch {
	WATCH_DEBUG = 1,     /* new objects come from debug slabs: F, Z, P, U or T is set */
	WATCH_FAULTS = 2,    /* allocations may be made to fail (A, failslab) */
	WATCH_PROBES = 4,    /* a tracer is attached to our probes */
	WATCH_TOOL = 8,	     /* valgrind or AddressSanitizer wants a notification for each object */
	WATCH_WORDS = 512,   /* its words move, or should and cannot: cache_watch_frees_locked() */
	WATCH_MOVES = 4096,  /* slabs are being emptied (mobility/mobility.h) */
	WATCH_ORPHAN = 8192, /* its group was destroyed (group/own.h) */
	WATCH_OVER = 16384,  /* its group has more than its limit: see group_caches_close() */
	WATCH_CLOSED = 15 | WATCH_WORDS | WATCH_MOVES | WATCH_ORPHAN | WATCH_OVER,
	WATCH_ROUTE = 16,  /* some objects may lie in debug slabs or guarded pages; never unset */
	WATCH_SAMPLE = 32, /* allocations that are sampled are tracked (U), the front stays open */
	WATCH_KFENCE = 64, /* some allocations go to guarded pages */
	/* The front is closed, or is being closed or opened: all calls go past it. */
	WATCH_PAST_FRONT = 128,
	WATCH_TAGS = 256,    /* some objects are counted (profile/profile.h): each free looks */
	WATCH_GROUPS = 1024, /* some are charged (group/group.h): each call looks; never unset */
};

/* Those that matter to allocations: where an object comes from, not where others lie. */
#define WATCH_ALLOC (~(unsigned int)(WATCH_ROUTE | WATCH_SAMPLE | WATCH_TAGS))

struct slab_sheaf; /* lent.h */

struct cache {
	struct front front;
	struct engine engine;
	struct kmem_cache *handle;
	struct list_head list; /* cache_list, newest first */
	int refcount;	       /* users; 0: destroyed with live objects */
	unsigned int watch;    /* enum cache_watch; 0: slow paths have nothing more to do; atomic */
	slab_flags_t flags;    /* the debug flags F Z P U T A are those of now; atomic */
	/* Bytes that may be copied to the user; usersize not 0 (kmalloc caches): nothing merges */
	unsigned int useroffset;
	unsigned int usersize;
	uint16_t capacity; /* of the front, as chosen; 0: by object size */
	bool takes_blocks; /* see cache_heap_of() */
	uint8_t alone; /* 1: nothing merges with it; no bool: inspect/ reads it in any process */
	struct cache_alias *aliases; /* every further name it ever had, newest first */
	char name[CACHE_NAME_MAX];
};

/* Every small program under the drop-in has 78 of them, and metadata blocks are powers of two. */
BUILD_ASSERT(sizeof(struct cache) <= 256);

struct kmem_cache {
	struct cache *cache; /* NULL: no such cache */
};

/* How to make a cache, beyond the public arguments. */
struct cache_spec {
	const char *name;
	unsigned int size;
	unsigned int align;
	slab_flags_t flags;
	void (*ctor)(void *obj);
	void (*dtor)(void *obj);
	void (*reclaim)(void *arg); /* not NULL: nothing merges with it */
	void *reclaim_arg;
	const struct engine_ops *engine; /* NULL: by USLAB_CONF, see choice.c */
	const struct front_ops *front;	 /* NULL: by USLAB_CONF; may be "historical" */
	unsigned int capacity;		 /* 0: by USLAB_CONF, else by object size */
	unsigned long limit;		 /* pages, set by choice.c; not 0: nothing merges with it */
	unsigned int sheaf_capacity;	 /* for fronts of sheaves alone; 0: not asked for */
	unsigned int useroffset;
	unsigned int usersize; /* not 0: nothing merges with it */
	/* 0: the next free one; else fixed, and kfree() or free() finds the cache */
	unsigned int id;
	/*
	 * Not NULL: where the handle goes, under cache_lock. If the one there has a cache already,
	 * that is the result: of several threads that want it only one creates it.
	 */
	struct kmem_cache **slot;
	bool pack;	 /* see struct engine_params */
	bool no_merge;	 /* kmalloc and malloc caches */
	bool page_lists; /* set by choice.c: pages come from CPUs' lists (page/pcp.h) */
};

extern struct list_head cache_list;

/*
 * Not NULL: kmalloc and malloc take blocks of the exact size from there and
 * no objects of the cache.
 */
static inline const struct engine_heap *cache_heap_of(const struct cache *c)
{
	return c->takes_blocks ? c->engine.ops->heap : NULL;
}

static inline struct cache *cache_of(const struct kmem_cache *s)
{
	return s->cache;
}

/* ---- misuse.c ---- */

/* What the program called, for reports. */
struct cache_call {
	const char *name;
	enum report_repair undone; /* what it has not done then; FIX_NOTHING: not said */
};

/*
 * Reports that the function of call was given a pointer at which no block starts: under the name of
 * the cache that it lies in, else of c, the cache that the program named (NULL: none). No lock may
 * be held.
 */
cold void cache_report_pointer(const struct cache_call *call, struct cache *c, const void *p);
/* The same for a block; what: is wrong with it. */
cold void cache_report_block(const struct cache_call *call, const void *p, enum report_kind kind,
			     const char *what);
/*
 * Is this an object that was freed to its cache already? That is reported. Any address. No lock may
 * be held.
 */
bool cache_refuses_free(const struct cache_call *call, void *p);
/* Has its cache the flag F? Then it is worth to look longer. Any address. */
bool cache_has_checks(const void *p);

/* ---- create.c, merge.c, destroy.c: 0 or -errno; *handle set on success ---- */
int cache_create(const struct cache_spec *spec, struct kmem_cache **handle);
/* Why cache_create() returned error for spec, as text for the program. */
void cache_explain(const struct cache_spec *spec, int error, char *why, size_t size);
/* Spec 5.3 and 5.4. */
unsigned int cache_calculate_alignment(slab_flags_t flags, unsigned int align, unsigned int size);
/* spec is resolved. */
struct cache *cache_find_mergeable_locked(const struct cache_spec *spec);
/* The kernel's unique id of a mergeable cache, e.g. ":A-0000192" (spec 5.4). buf of 32 bytes. */
void cache_unique_id(const struct cache *c, char *buf);
bool cache_is_mergeable(const struct cache *c);
void cache_destroy(struct kmem_cache *s, const void *caller);

/*
 * ---- alloc.c, free.c ----
 *
 * size: bytes that the program asked for, at most the cache's; 0: the cache's. caller: where in the
 * program the call came from. Both are for debug slabs.
 */
void *cache_alloc_for(struct cache *c, gfp_t gfp, int node, size_t size, const void *caller);
/* false: __GFP_THISNODE, and there is no such node. */
static inline bool cache_has_node(gfp_t gfp, int node)
{
	return !(gfp & __GFP_THISNODE) || node < (int)os_topology.nr_nodes;
}

/* All or none; p[0 .. done-1] are allocated already. */
unsigned int cache_alloc_bulk_for(struct cache *c, gfp_t gfp, unsigned int nr, void **p,
				  unsigned int done, const void *caller);
/*
 * array.c: up to nr, by the stages that mode names (enum slab_array_mode, at least one). Caches
 * with a bit of WATCH_ALLOC, and engines without the stages: one by one.
 */
unsigned int cache_alloc_array_for(struct cache *c, gfp_t gfp, unsigned int nr, void **p,
				   unsigned int mode, const void *caller);
void cache_free_for(struct cache *c, void *obj, const void *caller);
/*
 * The same where the caller knows that a plain object of c starts there, by what the hit path of
 * free() looks at; whether it is free already is still found out.
 */
void cache_free_known(struct cache *c, void *obj, const void *caller);
void cache_free_bulk_for(struct cache *c, unsigned int nr, void **p, const void *caller);
/* The same, but each is checked as a single one would be, and NULLs are skipped. */
void cache_free_array_for(struct cache *c, size_t nr, void **p, const void *caller);
/* The same for pointers that are known to be starts of objects of c. */
void cache_free_bulk_checked(struct cache *c, unsigned int nr, void **p, const void *caller);

static inline void *cache_alloc(struct cache *c, gfp_t gfp, int node)
{
	return cache_alloc_for(c, gfp, node, 0, __builtin_return_address(0));
}

static inline unsigned int cache_alloc_bulk(struct cache *c, gfp_t gfp, unsigned int nr, void **p)
{
	return cache_alloc_bulk_for(c, gfp, nr, p, 0, __builtin_return_address(0));
}

static inline void cache_free(struct cache *c, void *obj)
{
	cache_free_for(c, obj, __builtin_return_address(0));
}

static inline void cache_free_bulk(struct cache *c, unsigned int nr, void **p)
{
	cache_free_bulk_for(c, nr, p, __builtin_return_address(0));
}

/*
 * ---- watch.c: the slow paths of caches with watch bits ----
 *
 * In this order: failslab, guarded page, debug slab or engine, zeroing, probes and tools. A free
 * goes by the page of the object, whatever the bits are by then.
 */
void *cache_alloc_watched(struct cache *c, gfp_t gfp, int node, size_t size, const void *caller);
/*
 * For a cache with WATCH_SAMPLE: the object is tracked, whether the call would hit or miss. sample:
 * not 0, see DEBUG_SAMPLE().
 */
void *cache_alloc_sampled(struct cache *c, size_t size, const void *caller, gfp_t gfp,
			  uint32_t sample);
unsigned int cache_alloc_bulk_watched(struct cache *c, gfp_t gfp, unsigned int nr, void **p,
				      unsigned int done, const void *caller);
/* As many as there is memory for. */
unsigned int cache_alloc_array_watched(struct cache *c, gfp_t gfp, unsigned int nr, void **p,
				       const void *caller);
void cache_free_watched(struct cache *c, void *obj, const void *caller);
/*
 * For lent sheaves (lent.h): up to nr objects, which are free still; that on top of a sheaf which
 * is not empty, for the program; nr objects back.
 */
unsigned int cache_take_watched(struct cache *c, gfp_t gfp, unsigned int nr, void **p,
				const void *caller);
void *cache_alloc_lent_watched(struct cache *c, gfp_t gfp, struct slab_sheaf *sheaf,
			       const void *caller);
void cache_give_watched(struct cache *c, unsigned int nr, void **p);

/* Bytes of an object that may be used (spec 5.7); obj is the start of an object of its slab. */
size_t cache_usable_size(const struct page *slab, const void *obj);

/* ---- debug.c: debug flags, given at creation and switched on live caches -------------- */

/*
 * USLAB_DEBUG, the kernel's slab_debug= text (spec 6.1): flags | those of the first block that
 * names the cache, else those of the last block without names. Reads the environment once.
 */
slab_flags_t cache_debug_flags(const char *name, slab_flags_t flags);

/*
 * Sets the debug flags F Z P U T A of a cache to exactly flags, at any time, with live objects of
 * any layout, while others allocate and free. New objects are of the new layout when it returns. 0;
 * -ENOMEM, -E2BIG (no slab is large enough): as before.
 */
cold int cache_set_debug(struct cache *c, slab_flags_t flags);
cold int cache_set_debug_locked(struct cache *c, slab_flags_t flags);

/*
 * Tracks (U) what cache_alloc_sampled() allocates, and leaves the front open; false: stops that. 0;
 * -ENOMEM; -E2BIG; -EOPNOTSUPP: objects of this cache are freed by inline hits, which would take
 * tracked objects for plain ones.
 */
cold int cache_set_sampling(struct cache *c, bool on);

/* "FZPU", any case, "-" or "" for none -> bits. -EINVAL: no such flag. */
int cache_parse_debug(const char *debug_flags, slab_flags_t *flags);

/*
 * Whole pages get the debug flags that USLAB_DEBUG has for their name (blocks_name, which is the
 * caller's).
 */
cold void cache_start_blocks(void);
/*
 * cache_set_debug() for all caches of that name: a shell pattern, which is compared with their
 * names, aliases and the kernel's ids (":0000064"). debug flags as for cache_parse_debug(), or
 * "+U", "-T" to change those only. Returns how many caches were switched; -EINVAL: no such debug
 * flags, -ENOENT: no such cache, or the error of the first one that could not be switched.
 */
cold int cache_set_debug_pattern(const char *pattern, const char *debug_flags);

/*
 * switch.c: sets or clears one watch bit; the first of WATCH_CLOSED closes the front, the last one
 * opens it.
 */
cold void cache_watch_locked(struct cache *c, unsigned int bit, bool on);

/* failslab.c; uslab_set_failslab(), see <uslab/slab.h>. 0 or -EINVAL. */
cold int cache_set_failslab(const char *text);

/*
 * dump.c: writes one line that says what p points into (spec 5.14) to where reports go. Any
 * address; returns whether it is one of uslab's.
 */
cold bool cache_dump_obj(const void *p);

/* usercopy.c; uslab_check_object(), see <uslab/slab.h>. */
int cache_check_object(const void *p, size_t n);

/* Slabs that were checked (spec 7.8; reports as for any corruption); -EINVAL: no debug slabs. */
cold long cache_validate(struct cache *c);

/* ---- registry.c: the cache of an object ---- */

/*
 * The cache of an object; NULL when p lies in no slab. In pages of a heap (engine/engine.h) only
 * objects of kmalloc and malloc caches have a header with their cache; for any other object there
 * the result is NULL or, by chance, one of these. If hardened, all live objects have it, and for
 * other addresses the result is NULL.
 */
struct cache *cache_of_object(const void *p);
/*
 * false: p lies where objects of caches lie, and no live one starts there. true if live objects are
 * not recorded (page/used.h), and for all other addresses. Any thread, also in a signal handler.
 */
bool cache_is_in_use(const void *p);

/* ---- heap.c: blocks of heaps, for kmalloc and malloc; pages of type PAGE_HEAP ---- */
/* size 1 .. heap->max_size; as heap->alloc, with one retry, and __GFP_ZERO clears size bytes. */
void *cache_heap_alloc(const struct engine_heap *heap, size_t size, size_t align, gfp_t gfp,
		       int node);
/* A block, or an object of a cache that is found by address. */
void cache_heap_free(const struct cache_call *call, const struct engine_heap *heap, void *p,
		     const void *caller);
/* Calls visit for each heap once, also for one that was never used. */
void cache_heaps_each(void (*visit)(const struct engine_heap *heap));

/*
 * ---- limit.c ----
 *
 * Bytes for the slabs of a cache, rounded down to pages; 0: any number. 0; -EBUSY: it has merged;
 * -EOPNOTSUPP: its engine's caches share pages.
 */
cold int cache_set_limit(struct cache *c, size_t bytes);
cold int cache_set_limit_locked(struct cache *c, size_t bytes);

/* ---- shrink.c ---- */
int cache_shrink(struct cache *c);
/* All caches, after their reclaim callbacks; the caller may hold no lock. */
void cache_shrink_all(void);

/* ---- direct.c; see <uslab/mobility.h>; size, caller: as above ---- */
void *cache_alloc_direct(struct cache *c, gfp_t gfp, size_t size, const void *caller);
void cache_free_direct(struct cache *c, void *obj, const void *caller);
bool cache_should_move(const void *p);

/* ---- clear.c, stats.c; see <uslab/manage.h> ---- */
int cache_clear(struct cache *c, const void *caller);
void cache_stats(struct cache *c, struct kmem_cache_statistics *stats);

/* ---- reap.c ---- */
/* One round of reaping (spec 3.9): all caches, all CPUs. The caller may hold no lock. */
void cache_reap(void);
/*
 * Starts a thread that reaps every interval_ms, and skips a round if the registry lock is held;
 * again: sets another interval. 0 or -errno. Not in a child of fork() until it is called there.
 * Context: see os/time/ticker.h.
 */
int cache_reap_start(unsigned int interval_ms);
/* Spec 3.5, 9.2. 0; -EINVAL, see front/front.h; -EOPNOTSUPP: the front has no queues. */
int cache_tune(struct cache *c, unsigned int limit, unsigned int batchcount, unsigned int shared);

/*
 * ---- capacity.c ----
 *
 * Sets how many objects a CPU's array holds, at any time, while others allocate and free. objects:
 * see set_capacity() in front/front.h. 0; -EINVAL; -EBUSY; -EOPNOTSUPP: the front has none; then
 * nothing has changed.
 */
cold int cache_set_capacity(struct cache *c, unsigned int objects);
/* For all caches of that name, as cache_set_debug_pattern(). How many; -ENOENT; -errno. */
cold int cache_set_capacity_pattern(const char *pattern, unsigned int objects);

/*
 * ---- policy.c ----
 *
 * As uslab_cache_set_mempolicy() in <uslab/numa.h>; OS_POLICY_DEFAULT: it has none.
 */
cold int cache_set_policy(struct cache *c, const struct os_policy *policy);

/* ---- kmalloc.c: the kernel's size classes (spec 5.6) ---- */
int kmalloc_init(void);
/*
 * Instead of kmalloc_init(), if the library cannot start: kmalloc()'s inline hit path always
 * misses, and the call returns NULL. false: no memory even for the words of that.
 */
bool kmalloc_refuse(void);
/* Bytes of the caches with the kernel's index i: 1 .. KMALLOC_SHIFT_HIGH. */
unsigned int kmalloc_index_size(unsigned int i);
/* "kmalloc-rcl-1k": numbers from 1024 up are printed in k. */
void kmalloc_name(char *name, size_t room, const char *prefix, unsigned int size);
void *kmalloc_alloc_for(size_t size, gfp_t gfp, int node, const void *caller);
/* The same for a site that knows its row; NULL: none. */
void *kmalloc_alloc_at(struct uslab_kmalloc_site *site, size_t size, gfp_t gfp, int node,
		       const void *caller);
static inline void *kmalloc_alloc(size_t size, gfp_t gfp, int node)
{
	return kmalloc_alloc_for(size, gfp, node, __builtin_return_address(0));
}
/*
 * Whole pages for size bytes, at most INT32_MAX and not 0, where kvmalloc() has no cache for them:
 * no power of two. align: power of two.
 */
void *kmalloc_alloc_pages(size_t size, size_t align, gfp_t gfp, int node, const void *caller);
void kmalloc_free(const void *p, const void *caller);
/* The cache of the kernel's index for 1..KMALLOC_MAX_CACHE_SIZE bytes. */
struct cache *kmalloc_cache(size_t size);
/*
 * nolock.c: without waiting for a lock in any context; see <uslab/slab.h>. size:
 * 1..KMALLOC_MAX_CACHE_SIZE. gfp: only __GFP_ZERO counts. A free that cannot be done so is done
 * later.
 */
void *kmalloc_try_alloc(size_t size, gfp_t gfp, int node, const void *caller);
void kmalloc_try_free(const void *p, const void *caller);
/*
 * The same for nr pointers; objects of one cache are freed together. The order of arguments saves
 * moves in its caller.
 */
void kmalloc_free_bulk(const void *caller, size_t nr, void **p);
/* The same for another function: reports of bad pointers name it. */
void kmalloc_free_as(const struct cache_call *call, const void *p, const void *caller);
/* 0: no block starts at p, which is reported as an argument of that function. */
size_t kmalloc_size_for(const struct cache_call *call, const void *p);
static inline size_t kmalloc_size(const void *p)
{
	static const struct cache_call call = { "ksize", FIX_NOTHING };

	return kmalloc_size_for(&call, p);
}
/*
 * misuse.c: is the block at p, which the program wants to resize, free already? That is reported,
 * and it must not be resized: it would have two owners. Without debug flags this is known for
 * objects with a mark (base/mark.h).
 */
bool cache_resizes_freed(const void *p, const void *caller);
/* The same without a report; also of guarded pages, not of debug slabs. */
bool cache_is_free(const void *p);
/*
 * The object at p is to have size bytes, no more than it has. true: its slab stores that, and fills
 * the rest red.
 */
bool kmalloc_resize(const void *p, size_t size);
size_t kmalloc_roundup(size_t size);

/* ---- init.c: floors 1 to 5 made ready, once; from anywhere, any number of times ---- */
int cache_init(void);
/* What is said where it fails. */
#define CACHE_NO_START \
	"no memory at program start (ulimit -v, ulimit -d?); all allocations will fail"
/* Does the environment ask for anything? Any context, also before cache_init(). */
bool cache_has_settings(void);
/*
 * Creates the threads that USLAB_CONF asks for, once: from a constructor, since libc cannot create
 * threads before, when the library is ready and no lock held. A child of fork() has none.
 */
void cache_start_threads(void);

/* ---- choice.c ---- */
#define CACHE_NR_ENGINES 6
/* All engines; the default first. */
extern const struct engine_ops *const cache_engines[CACHE_NR_ENGINES];
/* By name; NULL: no such engine. */
const struct engine_ops *cache_engine_by_name(const char *name);
/* By name, or "historical" (the engine's own in the kernel), or "default". NULL: no such front. */
const struct front_ops *cache_front_by_name(const char *name);
/* cpuslab, also below sheaves, needs slabs that a CPU can own. */
bool cache_go_together(const struct engine_ops *engine, const struct front_ops *front);

/* ---- options.c: one pair of USLAB_CONF; false: refused, and nothing changed ---- */
bool cache_set_option(const char *key, const char *value, void *arg);
/* After a refusal: the values that the option takes, or the options that there are. */
cold void cache_explain_option(char why[OS_ENV_WHY_BYTES], const char *key, const char *value);

/* ---- fork.c: hooks for pthread_atfork(3) ---- */
void cache_fork_prepare(void);
void cache_fork_parent(void);
void cache_fork_child(void);

/* check.c; for tests: no other thread uses the caches meanwhile. */
void cache_check_all(void);

#endif /* CACHE_CACHE_H */
