/* SPDX-License-Identifier: MIT */
/*
 * uslab/slab.h - the Linux slab allocators in user space (mirrors <linux/slab.h>)
 *
 * Object caches and kmalloc with the kernel's names and meanings. Every function may be called from
 * any thread. Functions that allocate, free, resize or return the size of objects may be called by
 * signal handlers: in one that interrupted this library where it holds a lock they return NULL,
 * whatever the flags are, and frees are deferred until its thread has left that call. So may
 * kmem_cache_size(), kmem_cache_name() and uslab_version(). All others (create, destroy, shrink,
 * ...) may not: they wait for locks that their own thread may hold. A child of fork() may go on
 * using every cache. After a fork in a signal handler that interrupted this library this holds only
 * if the program has one thread; else calls that are no hits return NULL in the child, which must
 * not return from the handler. There fork() cannot wait until other threads have released the
 * library's locks, as it does elsewhere: one of them may wait for a lock that the interrupted
 * thread holds, and data that it was changing is half written in the child. A child that returns
 * all the same, and needs a lock that such a thread held, is ended, with a line on stderr. _Fork()
 * and the system call run no fork handlers, so a lock may be held by a thread that the child does
 * not have, in a handler or not: exec and _exit only, as after vfork(), in a program with threads.
 *
 * Needs C99 (GCC's and Clang's gnu89 will do) or C++98, with -Wpedantic C99 or C++11, or later;
 * <stdint.h> and <stdbool.h> come with it. An argument s must be a live cache: as in the kernel
 * NULL is not checked for, but by kmem_cache_destroy() and kmem_cache_free_bulk(). Nor may strings
 * be NULL, but for the name of a new cache, which is then refused, and where documented.
 *
 * Sizes and alignments are in bytes. Out of memory is NULL (0 for bulk calls), never an abort.
 */
#ifndef USLAB_SLAB_H
#define USLAB_SLAB_H

#if !defined(__LP64__)
#error "uslab: this is for machines with pointers and longs of 64 bits"
#elif __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "uslab: this is for little-endian machines; on others nobody has tried it"
#elif !defined(__cplusplus) && defined(__STRICT_ANSI__) && \
	(!defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L)
#error "uslab: this is for C99 and later (-std=c99; GNU's dialect of C89 does), and for C++"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uslab/gfp.h>
#include <uslab/layout.h>

#ifdef __cplusplus
extern "C" {
#endif

#define USLAB_API __attribute__((__visibility__("default")))

/*
 * No malloc(kfree) among the attributes here: GCC would warn of kfree(ZERO_SIZE_PTR), and its
 * analyzer of a leak where krealloc() has moved a block.
 */
#define USLAB_MUST_CHECK __attribute__((__warn_unused_result__))

/* Casts of macros: warnings of C's casts are for what a C++ program writes itself. */
#ifdef __cplusplus
#define USLAB_CAST(type, p) (static_cast<type>(p))
/* Of any pointer, to constants as well. */
#define USLAB_VOID(p) (const_cast<void *>(static_cast<const volatile void *>(p)))
#define USLAB_ADDRESS(p) (reinterpret_cast<uintptr_t>(USLAB_VOID(p)))
#else
#define USLAB_CAST(type, p) ((type)(p))
#define USLAB_VOID(p) ((void *)(p))
#define USLAB_ADDRESS(p) ((uintptr_t)(p))
#endif

/*
 * Cache flags: values of Linux 6.1, include/linux/slab.h (NO_MERGE: of 6.5; NO_OBJ_EXT, which has
 * none in other kernels than its own: ours). What they do here:
 *
 * CONSISTENCY_CHECKS, RED_ZONE, POISON, STORE_USER, TRACE: debug flags F Z P U T of
 * uslab_set_debug(), from the start; such a cache leaves the fast path. HWCACHE_ALIGN: objects do
 * not share cache lines if they are larger than half of one. PANIC: see kmem_cache_create().
 * NO_USER_FLAGS: no debug flags from USLAB_DEBUG. NO_MERGE, NOLEAKTRACE: it does not merge.
 * RECLAIM_ACCOUNT, CACHE_DMA, CACHE_DMA32, ACCOUNT: it merges only with caches of the same flags,
 * and tools show them; with RECLAIM_ACCOUNT the engine slab has smaller slabs, as in the kernel;
 * with CACHE_DMA and CACHE_DMA32 no objects are guarded ones; with ACCOUNT they are charged to the
 * thread's group (<uslab/group.h>). NO_OBJ_EXT: objects are not counted (<uslab/alloc_tag.h>); it
 * merges only with caches of that flag. MEM_SPREAD, DEBUG_OBJECTS: accepted, without effect.
 * TYPESAFE_BY_RCU: memory of objects is nothing else until a grace period after their free; they do
 * not merge; refused (EOPNOTSUPP) unless an RCU is bound, see <uslab/rcu.h>. All others are refused
 * (EINVAL): they are internal to the kernel, or switched on otherwise (FAILSLAB: debug flag A;
 * SKIP_KFENCE: a file of uslab-fs(1)).
 */
typedef unsigned int slab_flags_t;

#define SLAB_CONSISTENCY_CHECKS 0x00000100u
#define SLAB_RED_ZONE 0x00000400u
#define SLAB_POISON 0x00000800u
#define SLAB_KMALLOC 0x00001000u
#define SLAB_HWCACHE_ALIGN 0x00002000u
#define SLAB_CACHE_DMA 0x00004000u
#define SLAB_CACHE_DMA32 0x00008000u
#define SLAB_STORE_USER 0x00010000u
#define SLAB_RECLAIM_ACCOUNT 0x00020000u
#define SLAB_TEMPORARY SLAB_RECLAIM_ACCOUNT
#define SLAB_PANIC 0x00040000u
#define SLAB_TYPESAFE_BY_RCU 0x00080000u
#define SLAB_MEM_SPREAD 0x00100000u
#define SLAB_TRACE 0x00200000u
#define SLAB_DEBUG_OBJECTS 0x00400000u
#define SLAB_NOLEAKTRACE 0x00800000u
#define SLAB_NO_MERGE 0x01000000u
#define SLAB_FAILSLAB 0x02000000u
#define SLAB_ACCOUNT 0x04000000u
#define SLAB_KASAN 0x08000000u
#define SLAB_NO_USER_FLAGS 0x10000000u
#define SLAB_SKIP_KFENCE 0x20000000u
#define SLAB_NO_OBJ_EXT 0x40000000u
/*
 * Ours: SLAB_ACCOUNT with a hit path in the program, for 8 bytes more in each object; does not
 * merge. See <uslab/account.h>. Plain SLAB_ACCOUNT where that cannot be: objects of more than 4088
 * bytes, engines but slub, fronts but array, USLAB_CONF=hardened, no restartable sequences.
 */
#define USLAB_ACCOUNT_INLINE 0x80000000u

/* Result of a request for zero bytes: not NULL, not to be touched, accepted by kfree. */
#ifdef __cplusplus
#define ZERO_SIZE_PTR (reinterpret_cast<void *>(16ul))
#else
#define ZERO_SIZE_PTR ((void *)16)
#endif
#define ZERO_OR_NULL_PTR(p) (USLAB_ADDRESS(p) <= 16)

/* Sizes of kmalloc's caches, smallest and largest; beyond these a block is whole pages. */
#define KMALLOC_SHIFT_LOW 3
#define KMALLOC_SHIFT_HIGH 13
#define KMALLOC_MIN_SIZE 8
#define KMALLOC_MAX_CACHE_SIZE 8192ul
#define KMALLOC_SHIFT_MAX 22
#define KMALLOC_MAX_SIZE (4ul << 20) /* kmalloc of more is NULL, as in the kernel */
#define KMALLOC_MAX_ORDER 10	     /* of pages of 4096 bytes */
#define ARCH_KMALLOC_MINALIGN 8
#define ARCH_SLAB_MINALIGN 8

#define USLAB_MAX_NAME 63 /* bytes of a cache's name */

struct kmem_cache; /* a handle; its address finds the per-CPU arrays, see <uslab/layout.h> */

/**
 * struct kmem_cache_args - the arguments of kmem_cache_create_args() beyond name and size
 * @align:    bytes, a power of two of at most a page, or 0 for the word
 * @useroffset, @usersize: bytes of an object that may be copied to and from the user, see
 *            uslab_check_object(). A cache with usersize does not merge, and a range that is not
 *            inside of the object counts as none, as in the kernel
 * @freeptr_offset, @use_freeptr_offset: bytes from the start of an object at which a free one with
 *            a constructor may be overwritten. Nothing is: such objects keep all their bytes. An
 *            offset that does not fit the object, or is no multiple of 8, is an error (EINVAL)
 * @ctor:     called once per object when its slab is made (slub, slab), or for each object that
 *            leaves the engine (slobseg, slob); objects must be freed in that state
 * @sheaf_capacity: objects in a sheaf, for the fronts of sheaves: "sheaves" has that many or more,
 *            "sheaves:6.18" exactly that many, and none without. At most 1024, else 1024. Such
 *            caches do not merge; with other fronts it is without effect
 * @engine:   how objects are packed into pages: "slub", "slab", "slobseg" (pages of the cache),
 *            "slobseg:pow2" (pages by power of two, for all caches), "slob" (one heap for all
 *            caches) or "slob:1991" (the same with one list); NULL: by USLAB_CONF, else "slub"
 * @front:    what a CPU caches: "array", "queues" (SLAB's arrays, shared and alien ones
 *            too), "none", "cpuslab" (slub only), "sheaves" (SLUB's since Linux 7.0, or what
 *            USLAB_CONF=era says), "sheaves:6.18" (those of 6.18, over "cpuslab"; slub only),
 *            "historical" (what the engine had in the kernel up to 6.17) or "default"; NULL: by
 *            USLAB_CONF, else "array"
 * @capacity: objects that a CPU's array holds: 1..31 with "array" (of which a CPU has two), 1..1024
 *            with "queues" (kmem_cache_tune() takes more), and for "sheaves" as @sheaf_capacity;
 *            0: by USLAB_CONF, else by object size; the other fronts have no array and ignore it.
 *            More than that is an error (EINVAL). kmem_cache_set_capacity() changes it later
 * @dtor:     called once per object when what @ctor made ends: when its slab goes back to the pages
 *            (slub, slab), or when the object comes back to the engine (slobseg, slob). Needs @ctor
 *            and no SLAB_TYPESAFE_BY_RCU (else EINVAL). It may run where the library holds locks:
 *            frees in it may be deferred, allocations may be NULL; it must not wait, and call
 *            nothing else here
 * @reclaim:  called with @reclaim_arg when memory is wanted back, see <uslab/manage.h>; the cache
 *            does not merge
 *
 * What is set here overrides USLAB_CONF; 0 or NULL: not set. A front that does not support the
 * engine is an error (EINVAL). The first seven are the kernel's, in its order; name those that are
 * set (.align = 8).
 */
struct kmem_cache_args {
	unsigned int align;
	unsigned int useroffset;
	unsigned int usersize;
	unsigned int freeptr_offset;
	bool use_freeptr_offset;
	void (*ctor)(void *obj);
	unsigned int sheaf_capacity;
	const char *engine;
	const char *front;
	unsigned int capacity;
	void (*dtor)(void *obj);
	void (*reclaim)(void *arg);
	void *reclaim_arg;
};

/* ---- caches ---- */

/**
 * kmem_cache_create - make a cache, or share an existing one that merges (kernel: mm/slab_common.c)
 * @name:  copied; need not be unique; at most USLAB_MAX_NAME bytes
 * @size:  object size, 1 .. KMALLOC_MAX_SIZE
 * @align: power of two of at most a page, or 0
 * @flags: SLAB_*; a bit outside of the kernel's permitted set is an error, and so is
 *         SLAB_TYPESAFE_BY_RCU as long as no RCU is bound (uslab_set_rcu())
 * @ctor:  or NULL; caches with one never merge. It is not called at each allocation (see above): an
 *         allocation with __GFP_ZERO gets zeros in place of the constructed state, and so does the
 *         next one, if the object is freed so (the kernel warns of that)
 *
 * Returns the cache, or NULL after a line on stderr that says why (errno: EINVAL, ENOMEM, E2BIG
 * when an object with the metadata of its flags, and 8 bytes for a constructor, does not fit the
 * largest slab, ENOSPC when USLAB_MAX_CACHES exist, ENAMETOOLONG, EOPNOTSUPP for
 * SLAB_TYPESAFE_BY_RCU without RCU). With SLAB_PANIC a failure aborts the program.
 */
USLAB_API struct kmem_cache *kmem_cache_create(const char *name, unsigned int size,
					       unsigned int align, slab_flags_t flags,
					       void (*ctor)(void *obj));

/*
 * The same with a choice of engine and front; args NULL: none. Caches merge only with equal
 * choices.
 */
USLAB_API struct kmem_cache *kmem_cache_create_args(const char *name, unsigned int size,
						    const struct kmem_cache_args *args,
						    slab_flags_t flags);

/*
 * kmem_cache_create(name, size, args, flags), as since Linux 6.12, is kmem_cache_create_args(): the
 * third argument chooses. It is a pointer to struct kmem_cache_args, or NULL. Needs C11 or C++. An
 * argument with a comma outside of parentheses, such as a compound literal, is to be put in some.
 */
#if !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define kmem_cache_create(name, size, third, ...) \
	_Generic((third), struct kmem_cache_args *                \
		 : kmem_cache_create_args, const struct kmem_cache_args * \
		 : kmem_cache_create_args, void *                 \
		 : kmem_cache_create_args, default                \
		 : kmem_cache_create)(name, size, third, __VA_ARGS__)
#endif

/* With a window of bytes that may be copied to and from the user, see struct kmem_cache_args. */
USLAB_API struct kmem_cache *kmem_cache_create_usercopy(const char *name, unsigned int size,
							unsigned int align, slab_flags_t flags,
							unsigned int useroffset,
							unsigned int usersize,
							void (*ctor)(void *obj));

#define KMEM_CACHE_USERCOPY(type, flags, field)                                                   \
	kmem_cache_create_usercopy(#type, sizeof(struct type), __alignof__(struct type), (flags), \
				   offsetof(struct type, field),                                  \
				   sizeof(USLAB_CAST(struct type *, NULL)->field), NULL)

#define KMEM_CACHE(type, flags) \
	kmem_cache_create(#type, sizeof(struct type), __alignof__(struct type), (flags), NULL)

/**
 * kmem_cache_destroy - drop one reference; the last one gives all memory back
 *
 * NULL is ignored. If objects are still allocated the cache stays registered, its objects stay
 * valid, and a report on stderr names the cache and the objects (kernel 6.1 behaviour); when they
 * were freed it can be destroyed again. A pointer to no cache, or to a destroyed one, ends the
 * program. With the engines slob, slob:1991 and slobseg:pow2 the report may name only the cache,
 * since their pages do not record the cache of an object. Waits for objects of the cache that
 * kfree_rcu() was given, see <uslab/rcu.h>.
 */
USLAB_API void kmem_cache_destroy(struct kmem_cache *s);

/* Frees all cached objects and empty slabs. Returns 0, or 1 if slabs with objects remain. */
USLAB_API int kmem_cache_shrink(struct kmem_cache *s);

/**
 * kmem_cache_reap - gives idle objects and slabs back, one round for all caches and all CPUs
 *
 * What the kernel's SLAB does every two seconds. With the queues front: a CPU that has not
 * allocated since the last round gives back a fifth of its limit, the oldest objects first; alien
 * arrays are drained one node at a time; every four seconds a node's shared array gives back a
 * fifth, and the engine frees some of its empty slabs. With arrays (the default) a cache of which
 * CPUs and depots hold what they held at the last round gives all of that back; with other fronts
 * CPUs keep what they hold. Depots that have grown give back what nobody has needed since the last
 * round, SLUB its empty slabs, and pages that were free for longer than USLAB_CONF=purge_delay go
 * back to the system. USLAB_CONF=reap=MILLISECONDS has a thread of the library do it.
 */
USLAB_API void kmem_cache_reap(void);

/**
 * kmem_cache_tune - changes the limits of a cache's queues, as writing to /proc/slabinfo does
 * @limit:      objects that a CPU may hold, 1 .. 65536
 * @batchcount: objects that move between a CPU and its node at once, 1 .. limit (256 at most do)
 * @shared:     the CPUs of a node share an array of shared * batchcount further objects, 1048576 at
 *              most; 0: none
 *
 * All objects that the queues hold go back to their slabs. Returns 0; -EINVAL for other numbers and
 * -EOPNOTSUPP for a cache without queues (any front but "queues"); nothing changes then.
 */
USLAB_API int kmem_cache_tune(struct kmem_cache *s, unsigned int limit, unsigned int batchcount,
			      unsigned int shared);

/* For the next two: no CPU holds objects. */
#define USLAB_CAPACITY_NONE (~0u)

/**
 * kmem_cache_set_capacity - changes how many objects a CPU's array of a live cache holds
 * @objects: as args.capacity: 1..31 with "array", 1..1024 with "queues" and the fronts of sheaves;
 *           0: as the size of the objects gives; USLAB_CAPACITY_NONE: none, every call goes to the
 *           slabs ("array" only)
 *
 * At any time, while other threads allocate and free. What CPUs and nodes hold goes back to the
 * slabs, and how much a node may hold follows. A cache with aliases (merged ones) is one cache: all
 * of them get it. With "queues" it sets the limits that a new cache of this capacity has; with
 * sheaves it may be less than a new cache has at least. Holds the lock of the registry of caches;
 * any thread, not in a signal handler. Returns 0; -EINVAL for another number, -EOPNOTSUPP for other
 * fronts, and -EBUSY if a CPU cannot be reached (without membarrier(2), and this thread may not run
 * there); nothing has changed then.
 */
USLAB_API int kmem_cache_set_capacity(struct kmem_cache *s, unsigned int objects);

/**
 * uslab_set_capacity - the same for all caches of a name, also of kmalloc() and malloc()
 * @pattern: names of caches as a shell pattern ("kmalloc-*", "*")
 *
 * Returns for how many caches it was done; -EINVAL: no pattern, -ENOENT: no such cache; if it was
 * done for none, the error of the first one.
 */
USLAB_API int uslab_set_capacity(const char *pattern, unsigned int objects);

/* Object size in bytes; merging may have raised it above what this caller asked for. */
USLAB_API unsigned int kmem_cache_size(struct kmem_cache *s);

/* Name of the cache: that of its first creator. Valid until the cache is destroyed. */
USLAB_API const char *kmem_cache_name(struct kmem_cache *s);

/*
 * Out-of-line forms; the inlines below call them on a miss. Not with the attribute malloc: a
 * constructed object has contents, and they may be pointers.
 */
USLAB_API void *uslab_cache_alloc(struct kmem_cache *s, gfp_t flags)
	__attribute__((__assume_aligned__(ARCH_KMALLOC_MINALIGN), __noinline__));
USLAB_API void uslab_cache_free(struct kmem_cache *s, void *obj) __attribute__((__noinline__));
/* p[0 .. done-1] are allocated already, done <= nr; if the rest fails they are freed. */
USLAB_API int uslab_cache_alloc_bulk(struct kmem_cache *s, gfp_t flags, size_t nr, void **p,
				     size_t done) __attribute__((__noinline__)) USLAB_MUST_CHECK;
USLAB_API void uslab_cache_free_bulk(struct kmem_cache *s, size_t nr, void **p)
	__attribute__((__noinline__));

/*
 * One object from a node's memory (a preference unless __GFP_THISNODE, with which a node that does
 * not exist gives NULL). node -1: as <uslab/numa.h> says.
 */
USLAB_API void *kmem_cache_alloc_node(struct kmem_cache *s, gfp_t flags, int node)
	__attribute__((__assume_aligned__(ARCH_KMALLOC_MINALIGN)));

/*
 * ---- arrays of objects, and where they come from ----
 *
 * Any engine and front. In caches with debug flags or guarded pages, and with an engine that knows
 * no such sources (slob, slob:1991, slobseg, slobseg:pow2), objects are allocated one by one,
 * whatever the mode.
 */

/*
 * Sources, tried in this order (kernel: the array calls proposed in 2014 and 2015, where these were
 * bits of gfp_t).
 */
enum slab_array_mode {
	/*
	 * free objects of partial slabs of this node, under one lock: all that a slab has, slab by
	 * slab, until one has more than are still wanted. What CPUs hold is left to single calls.
	 */
	SLAB_ARRAY_PARTIAL = 1,
	/*
	 * new slabs, whole: no free list is built, addresses ascend. None where fewer objects are
	 * wanted than a slab has.
	 */
	SLAB_ARRAY_NEW = 2,
	/* what this CPU holds: no slab and no other CPU is looked at */
	SLAB_ARRAY_LOCAL = 4,
	/* single allocations, so that fewer than wanted means out of memory */
	SLAB_ARRAY_FULL = 8,
	SLAB_ARRAY_ALL = 15
};

/**
 * kmem_cache_alloc_array - up to nr objects, from where the caller wants them
 * @flags: as for kmem_cache_alloc()
 * @objs:  gets the objects; may be written to beyond what is returned
 * @mode:  bits of enum slab_array_mode; 0: all of them
 *
 * Each object is as one of kmem_cache_alloc(). Any thread; in a signal handler as that. Returns how
 * many are in objs[], 0 .. nr: fewer than nr if no source has more, with SLAB_ARRAY_FULL only when
 * out of memory. -EINVAL: unknown bits, or nr is more than INT32_MAX.
 */
USLAB_API int kmem_cache_alloc_array(struct kmem_cache *s, gfp_t flags, size_t nr, void **objs,
				     unsigned int mode) USLAB_MUST_CHECK;

/*
 * Frees nr objects as so many single calls would: NULLs are skipped, each is checked, an object of
 * another cache is reported and freed to that one. Any thread; in a signal handler as
 * kmem_cache_free(). May permute objs[]. The last one is the first to be allocated again, as with
 * kmem_cache_free_bulk().
 */
USLAB_API void kmem_cache_free_array(struct kmem_cache *s, size_t nr, void **objs);

/*
 * ---- lent sheaves ----
 *
 * A sheaf holds free objects for one caller, who takes them where an allocation must not fail: it
 * is filled before, where memory may be short, and what is left goes back after. Any engine, front
 * and debug flags. One thread or signal handler uses a sheaf at a time. NULL is a sheaf without
 * objects. Tools count its objects as cached. Reported are: a sheaf that was returned already, or
 * is named with another cache; an allocation from an empty one; and the free of an object that lies
 * in one, as far as second frees are noticed in its cache.
 */

struct slab_sheaf;

/**
 * kmem_cache_prefill_sheaf - lend a sheaf with objects (kernel: mm/slub.c, since 6.18)
 * @gfp:  as for kmem_cache_alloc(); __GFP_ZERO is without effect here
 * @size: objects, at least 1
 *
 * Returns a sheaf for size calls of kmem_cache_alloc_from_sheaf(), to be returned by
 * kmem_cache_return_sheaf(). NULL: out of memory; size is 0; more than INT32_MAX; a call in a
 * signal handler that interrupted this library where it holds a lock.
 */
USLAB_API struct slab_sheaf *kmem_cache_prefill_sheaf(struct kmem_cache *s, gfp_t gfp,
						      unsigned int size) USLAB_MUST_CHECK;

/**
 * kmem_cache_refill_sheaf - have a lent sheaf hold size objects again (kernel: since 6.18)
 * @sheafp: the sheaf; replaced by another pointer if that many do not fit
 *
 * Returns 0, also if it holds as many already. -ENOMEM: it holds what it held, or more, also in
 * such a signal handler. -EINVAL: no sheaf (NULL), or none of s, which is reported.
 */
USLAB_API int kmem_cache_refill_sheaf(struct kmem_cache *s, gfp_t gfp, struct slab_sheaf **sheafp,
				      unsigned int size) USLAB_MUST_CHECK;

/**
 * kmem_cache_alloc_from_sheaf - allocate an object of a lent sheaf (kernel: since 6.18)
 * @gfp: __GFP_ZERO and __GFP_ACCOUNT count, nothing else
 *
 * Never fails as long as the sheaf holds an object: no memory is asked for, failslab is not asked,
 * and no lock is taken but for debug flags and guarded pages, so that it serves also in any signal
 * handler. The object is as any other of s, and is freed in the same way. NULL: the sheaf is empty;
 * it is NULL, or none of s.
 */
USLAB_API void *kmem_cache_alloc_from_sheaf(struct kmem_cache *s, gfp_t gfp,
					    struct slab_sheaf *sheaf)
	__attribute__((__assume_aligned__(ARCH_KMALLOC_MINALIGN))) USLAB_MUST_CHECK;

/* The sheaf and what it holds go back; NULL is ignored. gfp is without effect (the kernel's). */
USLAB_API void kmem_cache_return_sheaf(struct kmem_cache *s, gfp_t gfp, struct slab_sheaf *sheaf);

/* Objects left: as many as were asked for, or more (fronts of sheaves), less those taken. */
USLAB_API unsigned int kmem_cache_sheaf_size(struct slab_sheaf *sheaf);

/*
 * ---- kmalloc ----
 *
 * Its caches have the engine and front that USLAB_CONF sets. Over slob and slobseg:pow2 with front
 * "none" (their historical one) there are no size classes: a block has the size that was asked for
 * (ksize: rounded up to 2 bytes, or to a power of two), and a size that does not fit a page is
 * whole pages.
 *
 * kfree(), ksize() and kmem_cache_free_bulk(NULL, ...) take kmallocs, and objects of caches but for
 * those with the engines slob, slob:1991 and slobseg:pow2: such objects have no header and share
 * their pages with others, so that their cache is not known (kernel: SLOB likewise).
 */

USLAB_API void kfree(const void *p);	       /* NULL and ZERO_SIZE_PTR are ignored */
USLAB_API void kfree_sensitive(const void *p); /* clears the whole object first */

/*
 * Usable bytes; 0 for NULL and ZERO_SIZE_PTR. With _FORTIFY_SOURCE the compiler checks accesses
 * against the size that was asked for: a program that uses more must allocate
 * kmalloc_size_roundup(size), the bytes that ksize() will return, to begin with.
 */
USLAB_API size_t ksize(const void *p);
USLAB_API size_t kmalloc_size_roundup(size_t size);

/**
 * uslab_kmalloc - size bytes, out of line; programs call kmalloc()
 *
 * Alignment: at least 8; a power-of-two size is aligned to itself. 0 bytes: ZERO_SIZE_PTR.
 * More than KMALLOC_MAX_SIZE: NULL.
 */
USLAB_API void *uslab_kmalloc(size_t size, gfp_t flags)
	__attribute__((__malloc__, __alloc_size__(1), __assume_aligned__(ARCH_KMALLOC_MINALIGN)));
USLAB_API void *kmalloc_node(size_t size, gfp_t flags, int node)
	__attribute__((__malloc__, __alloc_size__(1), __assume_aligned__(ARCH_KMALLOC_MINALIGN)));

/**
 * krealloc - resize; the first min(old, new) bytes are kept
 *
 * new_size 0 frees p and returns ZERO_SIZE_PTR; p NULL or ZERO_SIZE_PTR is kmalloc. Up to
 * ksize(p) the pointer stays, but under valgrind and sanitizers. On failure NULL, and p stays
 * valid.
 */
USLAB_API void *krealloc(const void *p, size_t new_size, gfp_t flags)
	__attribute__((__alloc_size__(2),
		       __assume_aligned__(ARCH_KMALLOC_MINALIGN))) USLAB_MUST_CHECK;

/**
 * krealloc_node_align - krealloc to a place that suits (kernel: since 6.18)
 * @align: bytes, a power of two of at most KMALLOC_MAX_SIZE; 0: any
 * @node:  NUMA_NO_NODE: any
 *
 * A block that is large enough stays only if it has that alignment and is of that node; else it
 * moves. A node that is given is a preference, unless __GFP_THISNODE. NULL, and p stays valid: as
 * krealloc(); another align; over the engines slob and slobseg:pow2 with front "none" also an
 * alignment that their blocks do not happen to have.
 */
USLAB_API void *krealloc_node_align(const void *p, size_t new_size, size_t align, gfp_t flags,
				    int node)
	__attribute__((__alloc_size__(2),
		       __assume_aligned__(ARCH_KMALLOC_MINALIGN))) USLAB_MUST_CHECK;

/* ---- caches by size for one user (kernel: since 6.11) ---- */

/*
 * By the kernel's index of a size; freed by nobody. Nowhere const: before C23 a pointer to an array
 * does not convert to one with constant elements.
 */
typedef struct kmem_cache *kmem_buckets[KMALLOC_SHIFT_HIGH + 1];

/**
 * kmem_buckets_create - caches of kmalloc's sizes, called name-8 to name-8k, which do not merge
 * @useroffset, @usersize: see struct kmem_cache_args; of each size as far as they lie in it
 *
 * Returns NULL as kmem_cache_create() does, with nothing left; ZERO_SIZE_PTR over the engines slob,
 * slob:1991 and slobseg:pow2, where kfree() does not know the cache of an object.
 */
USLAB_API kmem_buckets *kmem_buckets_create(const char *name, slab_flags_t flags,
					    unsigned int useroffset, unsigned int usersize,
					    void (*ctor)(void *obj));

/*
 * kmalloc() and kvmalloc() out of these caches; with b NULL or ZERO_SIZE_PTR, and for more than
 * KMALLOC_MAX_CACHE_SIZE bytes, of their own. kfree() takes the results. caller: as for
 * uslab_kmalloc_caller().
 */
USLAB_API void *uslab_kmalloc_buckets(kmem_buckets *b, size_t size, gfp_t flags, const void *caller)
	__attribute__((__malloc__, __alloc_size__(2), __assume_aligned__(ARCH_KMALLOC_MINALIGN)));
USLAB_API void *kmem_buckets_alloc(kmem_buckets *b, size_t size, gfp_t flags)
	__attribute__((__malloc__, __alloc_size__(2), __assume_aligned__(ARCH_KMALLOC_MINALIGN)));
USLAB_API void *kmem_buckets_valloc(kmem_buckets *b, size_t size, gfp_t flags)
	__attribute__((__malloc__, __alloc_size__(2), __assume_aligned__(ARCH_KMALLOC_MINALIGN)));

/* ---- kvmalloc: blocks of up to 2 GiB, which kfree(), krealloc() and ksize() take as well ---- */

/**
 * kvmalloc_node_align - size bytes, in a cache's object or in whole pages
 * @align: bytes, a power of two of at most KMALLOC_MAX_SIZE; 0: any
 *
 * Up to KMALLOC_MAX_CACHE_SIZE as kmalloc(). More bytes are rounded up to whole pages, not to a
 * power of two (above 128 KiB by up to a sixteenth: see ksize()), and aligned to a page: where the
 * kernel has vmalloc(). NULL: out of memory; more than INT_MAX bytes, as in the kernel; and see
 * krealloc_node_align().
 */
USLAB_API void *kvmalloc_node_align(size_t size, size_t align, gfp_t flags, int node)
	__attribute__((__malloc__, __alloc_size__(1), __assume_aligned__(ARCH_KMALLOC_MINALIGN)));

/* krealloc_node_align() for these; p may also be kmalloc's. */
USLAB_API void *kvrealloc_node_align(const void *p, size_t new_size, size_t align, gfp_t flags,
				     int node)
	__attribute__((__alloc_size__(2),
		       __assume_aligned__(ARCH_KMALLOC_MINALIGN))) USLAB_MUST_CHECK;

/* ---- whole library ---- */

/*
 * Programs that are built with -fsanitize=address, thread or memory need no other library: the
 * sanitizer is notified of each allocation and free, which then are no inline hits
 * (uslab-instrumentation(7)).
 */

USLAB_API const char *uslab_version(void) __attribute__((__const__, __returns_nonnull__));

/**
 * uslab_pin_object - the program, shared library or plug-in that address lies in stays loaded
 *
 * dlclose() does not unload it from now on. An object file with the inline hit paths calls this by
 * itself, in a constructor: programs need not. Takes the dynamic loader's lock; not to be called
 * from a signal handler. Returns 0; -ENOENT: address is in no such object.
 */
USLAB_API int uslab_pin_object(const void *address);

/* ---- debugging ---- */

/**
 * kmem_cache_validate - check every object of a cache's debug slabs (kernel: validate_slab_cache)
 *
 * Damage is reported and repaired as in an allocation. Returns the number of
 * slabs checked; -EINVAL: the cache has no debug slabs.
 */
USLAB_API long kmem_cache_validate(struct kmem_cache *s);

/**
 * uslab_set_debug - debug flags of live caches, switched on and off at any time
 * @pattern: names of caches as a shell pattern ("kmalloc-*", "*"); "kmalloc-large", by exactly this
 *           name: whole pages, which have F, Z, P and U
 * @debug_flags: of F (checks), Z (red zones), P (poison), U (user tracking), T (trace), A
 *           (failslab), any case; "" or "-": none; "+U", "-T" change these debug flags only
 *
 * This holds for objects allocated from now on; existing ones stay as they are until they are
 * freed. Caches with any of these debug flags leave the fast path. The environment's USLAB_DEBUG
 * does the same from the start, in the syntax of the kernel's slab_debug= option. Returns the
 * number of caches switched; -EINVAL: no pattern or no such flag, -ENOENT: no such cache;
 * -EOPNOTSUPP: T or A of kmalloc-large; if none could be switched: -ENOMEM, -E2BIG.
 */
USLAB_API int uslab_set_debug(const char *pattern, const char *debug_flags);

/**
 * uslab_dump_obj - what is this pointer? (kernel: kmem_dump_obj)
 *
 * Writes a line on stderr that says which cache p points into, where its object begins
 * and, where users are tracked (U), who allocated and freed it. Any address is allowed.
 * Returns whether it is an address of uslab.
 */
USLAB_API bool uslab_dump_obj(const void *p);

/**
 * uslab_check_object - may these bytes be copied to or from the user? (kernel: __check_heap_object)
 *
 * For programs to call where the kernel checks its copies. Returns 0 if all n bytes at p lie in one
 * object, and in the window of its cache; a cache of kmem_cache_create() has an empty one, a block
 * of kmalloc() or of whole pages is one. 0 also for n == 0, and in pages of the engines slob,
 * slob:1991 and slobseg:pow2, where objects are not known. -EACCES: in an object, outside of the
 * window; -EFAULT: not in one object; -ENOENT: not memory of uslab. Whether the object is in use is
 * not checked. Not for signal handlers.
 */
USLAB_API int uslab_check_object(const void *p, size_t n) USLAB_MUST_CHECK;

/**
 * uslab_report_hook - called for each error report, after it was written;
 * see uslab_set_report_hook()
 * @cache: name of the cache
 * @text:  the whole report with its FIX lines, ends with NUL; valid during the call
 * @arg:   as given
 *
 * It runs in the thread that found the mistake, must return (if it leaves by longjmp() or ends its
 * thread, uslab_set_report_hook() waits for ever), and should neither allocate, free nor fork:
 * calls that are no hits return NULL, and frees are deferred. It may create, destroy and query
 * caches. Several threads may run it at the same time. It may wait for other threads, since no lock
 * of the library is held. Therefore, if a mistake is found while caches are walked (validated,
 * shrunk, destroyed, drained), it is called when that is done, unless report= ends the program.
 * Mistakes in the hook itself are written, and call no hook. If there is no memory for a copy the
 * text is the start of the report, all of which is written then.
 */
typedef void (*uslab_report_hook)(const char *cache, const char *text, void *arg);

/**
 * uslab_set_report_hook - sets a function that is called with each report
 * @hook: NULL: none
 * @quiet: reports are given to the hook only, and not written
 *
 * USLAB_CONF=report=continue|abort|exit sets what happens after a report (default: continue, as in
 * the kernel), report.format=modern|2.6.29 its format, report.file=PATH its file. The hook is
 * called with each report, also with those that report.burst=N leaves out, without the line of time
 * and process that is written before one. Returns when no other thread runs the old hook; called by
 * a hook, it does not wait.
 */
USLAB_API void uslab_set_report_hook(uslab_report_hook hook, void *arg, bool quiet);

/**
 * uslab_set_failslab - make allocations fail (the kernel's failslab=, spec 6.5)
 * @text: "interval,probability,space,times", e.g. "1,10,0,-1": one in ten, for ever; "": stop
 *
 * The environment's USLAB_FAILSLAB does the same from the start. It is for caches with debug flag A
 * if USLAB_CONF=failslab.cache-filter is set, else for all. As in the kernel requests that may
 * block (GFP_KERNEL) never fail, unless USLAB_CONF=failslab.ignore-gfp-wait=N. Returns 0 or
 * -EINVAL.
 */
USLAB_API int uslab_set_failslab(const char *text);

/* Shrinks every cache and returns free pages to the system. Returns bytes returned. */
USLAB_API size_t uslab_trim(void);

/*
 * Handles of the kmalloc caches of the normal type; entry i is the kernel's index i. With
 * USLAB_CONF=kmalloc.partition=random they are of no caches, so that what is inlined misses.
 */
USLAB_API extern struct kmem_cache *uslab_kmalloc_handles;

#ifdef __cplusplus
}
#endif

#include <uslab/fastpath.h>
#include <uslab/kmalloc.h>
#include <uslab/manage.h>
#include <uslab/numa.h>
#ifdef USLAB_KMALLOC_PARTITION
#include <uslab/partition.h>
#endif
#ifdef USLAB_MEM_ALLOC_PROFILING
#include <uslab/alloc_tag.h>
#endif

#endif /* USLAB_SLAB_H */
