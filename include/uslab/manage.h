/* SPDX-License-Identifier: MIT */
/*
 * uslab/manage.h - statistics of a cache, callbacks when memory is short, a cache as an arena, and
 * the caches of C++ containers; include <uslab/slab.h> instead
 *
 * The kernel has none of these; libumem and Solaris have the callbacks. Why they are as they are:
 * docs/adr/0047. None may be called by a signal handler.
 */
#ifndef USLAB_MANAGE_H
#define USLAB_MANAGE_H

#include <uslab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct kmem_cache_statistics - a cache in numbers, under the names of `uslab info --json`
 * @size:         sizeof(struct kmem_cache_statistics), set by the caller: what newer versions add
 *                comes behind what there is. On return: the bytes that were filled in
 * @objects_free: objects of all slabs that the program does not have: in slabs, on CPUs, in depots
 *                and queues, in lent sheaves. total_objects - objects in `uslab info`
 * @objects_lent: of these, in lent sheaves
 *
 * Bytes or counts. Exact if no thread uses the cache meanwhile.
 */
struct kmem_cache_statistics {
	size_t size;
	size_t object_size;   /* bytes that a user may use */
	size_t slab_size;     /* bytes from one object to the next, in new slabs */
	size_t objs_per_slab; /* objects in a new slab */
	size_t objects;	      /* that the program has */
	size_t objects_free;
	size_t objects_lent;
	size_t total_objects; /* that all slabs have room for */
	size_t slabs;	      /* 0 where objects lie in a heap */
	size_t slab_bytes;
	size_t defrag_slabs;   /* that kmem_cache_defrag() emptied, each one, since the start */
	size_t defrag_bytes;   /* of these */
	size_t defrag_moved;   /* objects */
	size_t defrag_refused; /* objects that the program's functions did not move */
};

/*
 * Fills in *stats, which has its member size. Takes the locks of the cache in turn, and walks its
 * partial slabs. Returns 0; -EINVAL: size is less than the first version's.
 */
USLAB_API int kmem_cache_stats(struct kmem_cache *s, struct kmem_cache_statistics *stats);

/**
 * kmem_cache_destroy_all_objects - frees all objects of a cache at once
 *
 * Each object that the program has is freed as by kmem_cache_free(): with the debug flags, marks
 * and tools of that, and no report of objects that are left. Then the cache is shrunk, so that no
 * slab is left, every object was destructed, and the cache is as a new one. What lent sheaves hold
 * stays with them. Meanwhile no other thread may call for this cache, nor use its objects; for
 * other caches all may. Costs a look at each page of the library's memory, and the frees.
 *
 * Waits for objects that kfree_rcu() was given. Returns 0. -EBUSY: other users merged with the
 * cache (SLAB_NO_MERGE keeps them away), or kfree_rcu() keeps objects since no RCU is bound;
 * -EOPNOTSUPP: with the engines slob, slob:1991 and slobseg:pow2 pages do not say whose their
 * objects are. Nothing was freed then.
 */
USLAB_API int kmem_cache_destroy_all_objects(struct kmem_cache *s);

/* ---- for <uslab/cache.hpp> ---- */

/*
 * The cache of uslab::allocator for objects of size bytes, "cpp-SIZE", which the first call makes;
 * it is never destroyed. size: a multiple of ARCH_SLAB_MINALIGN, up to KMALLOC_MAX_CACHE_SIZE.
 * NULL, with errno: it could not be made, and a line on stderr says why; EINVAL: another size.
 */
USLAB_API struct kmem_cache *uslab_cache_of_size(size_t size);

/*
 * ---- limits ----
 *
 * The library's memory for the process: the pages of slabs, heaps and blocks in the arena, free
 * ones that are resident, and the mappings of large blocks, touched or not, those that are kept for
 * reuse included. What describes pages and other data of the library itself comes on top: some 2 %
 * of the arena.
 */

/**
 * uslab_set_limit - how much of it the process may have
 * @bytes: 4096 or more, rounded down to pages; 0: no limit. USLAB_CONF=limit sets it at the start
 *
 * It is never exceeded. An allocation that would do so has shrinkers (<uslab/shrinker.h>) and
 * reclaim callbacks called and all caches shrunk, free pages given back to the system, and is tried
 * again; the hook below is asked; then it fails: NULL, and ENOMEM from malloc(). If more is held
 * already, caches are shrunk and free memory goes back at once, and what needs new pages fails
 * until it is less. Allocations of other threads that are under way meanwhile may go by the old
 * limit. Any thread. Returns 0; -EINVAL; or why the library cannot start.
 */
USLAB_API int uslab_set_limit(size_t bytes);

/*
 * The limit, 0: none. *held (may be NULL): bytes that count towards it now; exact while no other
 * thread allocates or frees. Any thread, also in a signal handler.
 */
USLAB_API size_t uslab_limit(size_t *held);

/**
 * kmem_cache_set_limit - how much memory the slabs of a cache may have
 * @bytes: 4096 or more, rounded down to pages; 0: any. USLAB_CONF=limit:PATTERN sets it when a
 *         cache is made, which then merges with no other
 *
 * Looked at where a slab is made, so hits and objects of slabs that there are never fail for it. An
 * allocation that needs one more slab calls shrinkers and the cache's reclaim callback, shrinks the
 * cache, and is tried again; then it fails, and is counted (limit_refused in `uslab info --json`).
 * If the cache has more already it is shrunk, and gets no slab until it has less. Not counted are
 * guarded pages (USLAB_CONF=kfence.sample). Any thread; not in a signal handler. Returns 0;
 * -EINVAL; -EBUSY: other users merged with the cache (SLAB_NO_MERGE keeps them away); -EOPNOTSUPP:
 * with the engines slob, slob:1991 and slobseg:pow2 caches share pages.
 */
USLAB_API int kmem_cache_set_limit(struct kmem_cache *s, size_t bytes);

/*
 * ---- when memory is short ----
 *
 * An allocation for which there are no pages has shrinkers (<uslab/shrinker.h>) called, if it may
 * wait, and the reclaim callbacks of all caches, each once, shrinks all caches, and tries again. If
 * that fails as well, the hook below is asked, and if it says so, all of this is done once more.
 * kmem_cache_shrink() calls the callback of its cache before it shrinks that, and uslab_trim()
 * those of all. So callbacks are to free objects that can be made again, and may also be called
 * while there is memory.
 *
 * Callbacks and hook run in the thread that wants memory, while the library holds no lock. They may
 * call all of it, but must not destroy the cache that the callback is of, nor wait for a thread
 * that destroys it or sets the hook. What they allocate is served as long as there is memory; for
 * what is refused neither callbacks nor hook are called once more. Several threads may run them at
 * the same time. They must return: kmem_cache_destroy() and uslab_set_oom_hook() wait until no
 * other thread runs what they end. They are called in a signal handler if it allocates; not in one
 * that interrupted this library where it holds a lock, nor one that interrupted a callback.
 */

/**
 * uslab_oom_hook - called before memory is refused
 * @size: bytes of the object, or of the block
 * @gfp:  flags of the request, with __GFP_DIRECT_RECLAIM and without __GFP_NORETRY: others are not
 *        asked for
 * @arg:  as given
 *
 * Returns whether to try again; it is called again if that fails. It may end the program.
 */
typedef bool (*uslab_oom_hook)(size_t size, gfp_t gfp, void *arg);

/*
 * Sets the hook of the whole process; NULL: none. It is asked for objects and blocks; not for
 * caches, pools and sheaves as such, nor where failslab refuses. Returns when no other thread runs
 * the old one.
 */
USLAB_API void uslab_set_oom_hook(uslab_oom_hook hook, void *arg);

#ifdef __cplusplus
}
#endif

#include <uslab/mobility.h>

#endif /* USLAB_MANAGE_H */
