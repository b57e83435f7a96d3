/* SPDX-License-Identifier: MIT */
/*
 * uslab/mobility.h - objects that the library may move, so that pages come back; include
 * <uslab/slab.h> instead
 *
 * After a program has freed most objects of a cache, many slabs have one or two left, and no page
 * can be given back. A cache whose objects can be moved is defragmented: kmem_cache_defrag() moves
 * the objects of slabs that are nearly empty to fuller or lower ones. Why: docs/adr/0060. None of
 * these may be called by a signal handler.
 *
 * While slabs of a cache are emptied, they hand out no object, and calls for that cache on all
 * threads go past what CPUs hold: they are slower, and none waits for a function of the program.
 * Memory of an object that others free meanwhile stays as it is until its slab is done. So a
 * function that is called for an object may look into it; whether the program still has the
 * object, it finds out under the program's own lock, by what a constructor and the program's own
 * frees leave in it, or by looking up what leads to it. Objects of which the allocation has not
 * returned yet are met, too.
 *
 * These functions run in the thread that called kmem_cache_defrag(), or in the library's own, for
 * `uslab defrag` and USLAB_CONF=defrag, while the library holds no lock.
 * They may call all of it, but kmem_cache_defrag() fails there with -EBUSY, and they must not
 * destroy the cache. What they need has to live until they are taken away (NULL).
 */
#ifndef USLAB_MOBILITY_H
#define USLAB_MOBILITY_H

#include <uslab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * kmem_cache_isolate_func - pins objects that are to be moved
 * @s:    the cache
 * @objs: objects that lie in one slab, at most 64
 * @nr:   how many
 *
 * Sees to it that none of them is freed before kmem_cache_migrate_func has it, say by taking a
 * reference. One that cannot be moved is taken out: its pointer is set to NULL. Returns what
 * kmem_cache_migrate_func is given as its last argument.
 */
typedef void *(*kmem_cache_isolate_func)(struct kmem_cache *s, void **objs, int nr);

/**
 * kmem_cache_migrate_func - moves objects
 * @s:    the cache
 * @objs: as the function that isolates has left it, with NULLs
 * @nr:   how many
 * @node: of the slab; new objects are to be there
 *
 * For each object: allocates another one (kmem_cache_alloc_node()), copies, has everything that
 * leads to the old one lead to the new one, and frees the old one; or leaves it. Lets go of what
 * was pinned. The last argument is what kmem_cache_isolate_func returned, or NULL. All of @objs are
 * charged to one accounting group (<uslab/group.h>), or to none, and so is what it allocates (of a
 * cache without SLAB_ACCOUNT: with __GFP_ACCOUNT).
 */
typedef void (*kmem_cache_migrate_func)(struct kmem_cache *s, void **objs, int nr, int node,
					void *);

/*
 * Objects of a cache are moved by these from now on. isolate NULL: the other one does all. Both
 * NULL: they do not move any more. Instead of those before, also of uslab_cache_set_move(); when
 * this returns, no other thread runs these. Nothing merges with the cache any more. Returns 0;
 * -EINVAL: the cache has no constructor, so that objects that nobody has written to could not be
 * looked at, or isolate without migrate, or it is one of kmalloc() or malloc(); -EBUSY: other users
 * merged with it (SLAB_NO_MERGE keeps them away); -EOPNOTSUPP: its engine cannot empty slabs (slub
 * and slab can); -ENOMEM. Source: the patches "slab movable objects" of 2019 for the kernel, and
 * those of 2007 that they come from, where it returns nothing.
 */
USLAB_API int kmem_cache_setup_mobility(struct kmem_cache *s, kmem_cache_isolate_func isolate,
					kmem_cache_migrate_func migrate);

/**
 * uslab_move_func - moves one object
 * @from: an object that is, or was, the program's
 * @to:   a free one in a fuller slab, or in one that lies lower: constructed if the cache has a
 *        constructor, else it holds anything
 * @arg:  as given
 *
 * Finds out whether the program has @from. If so, copies it to @to, has everything that leads to it
 * lead to @to, and returns 0: then the library frees @from, which has to be left as constructed if
 * there is a constructor. Else, or if it is not to be moved now, returns another value; then @to
 * is as it was. Must return: not by longjmp(), an exception or the end of its thread.
 */
typedef int (*uslab_move_func)(void *from, void *to, void *arg);

/*
 * The same with one function, which may be NULL: they do not move any more. A constructor is not
 * required: without one @from may hold anything after it was freed, so that the program finds it by
 * looking up its address. Returns 0, or the errors above.
 */
USLAB_API int uslab_cache_set_move(struct kmem_cache *s, uslab_move_func move, void *arg);

/*
 * Slabs are emptied if at most percent (0 to 100) of their objects are in use; those of which at
 * most 1/8 is are always emptied. 50 if not set. Returns 0; -EINVAL; -EOPNOTSUPP: objects of the
 * cache never moved.
 */
USLAB_API int uslab_cache_set_defrag_ratio(struct kmem_cache *s, unsigned int percent);

/**
 * kmem_cache_defrag - empties slabs of a cache, the emptiest first
 * @s:         cache with functions that move
 * @node:      of the slabs; NUMA_NO_NODE: all
 * @budget_us: microseconds after which it returns; 0: when it is done. At least one object is
 *             moved, or 64 slabs are looked at; the time of one function of the program, and to
 *             free a slab, comes on top
 *
 * Returns 1: the budget is used up, and there is more to do: to be called again; the round goes on
 * where it was. 0: it is done: all partial slabs were looked at, or are needed; or the cache has
 * debug flags, whose slabs are left alone. What was given back is in kmem_cache_stats(). -EINVAL:
 * no such node; -EBUSY: another thread does it, or the caller is a function that moves;
 * -EOPNOTSUPP: objects of the cache do not move. Any number of threads may use the cache.
 */
USLAB_API int kmem_cache_defrag(struct kmem_cache *s, int node, unsigned long budget_us);

/*
 * ---- for programs that go over their objects by themselves, as Redis does (docs/adr/0060) ----
 *
 * An object that should move is copied to one of uslab_cache_alloc_direct(), and freed by
 * uslab_cache_free_direct(). The drop-in malloc has the same in <uslab/malloc.h>.
 */

/*
 * Is the slab that the object lies in among those that are worth emptying, since the others of its
 * cache have room for its objects? Any pointer; false also with another engine than slub. Costs
 * about the look at one slab.
 */
USLAB_API bool uslab_should_move(const void *p);

/* As kmem_cache_alloc(), of the fullest slab, past what CPUs hold. NULL: out of memory. */
USLAB_API void *uslab_cache_alloc_direct(struct kmem_cache *s, gfp_t gfp);

/*
 * As kmem_cache_free(), to its slab, past what CPUs hold, so that the object is not allocated again
 * before the slab is empty.
 */
USLAB_API void uslab_cache_free_direct(struct kmem_cache *s, void *obj);

#ifdef __cplusplus
}
#endif

#endif /* USLAB_MOBILITY_H */
