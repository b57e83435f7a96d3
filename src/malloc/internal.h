/* SPDX-License-Identifier: MIT */
/*
 * malloc/internal.h - what the files of the drop-in malloc share
 *
 * Data:       malloc_hot, the one cache line that all hit paths read; malloc_shape, malloc_made.
 * Invariants: malloc_hot is all zero until init.c opens the hit paths, and const
 *             afterwards, but for the limits of sizes, where a tool may write 0, and page_limit
 *             (limit.c). With limits of 0 every call goes to the slow paths. It stays so where
 *             there is no rseq, and size_limit while threads are in groups.
 * Locks:      none; init.c publishes.
 * Flow:       included by malloc/ only.
 */
#ifndef MALLOC_INTERNAL_H
#define MALLOC_INTERNAL_H

#include "base/atomic.h"
#include "base/compiler.h"
#include "cache/cache.h"
#include "cache/group/group.h"
#include "malloc/classes.h"

struct malloc_hot {
	/* sizes below it hit; stored last, pairs with malloc_hot_alloc() */
	unsigned long size_limit;
	/* likewise of malloc_hot_group(), while threads are in groups; tools write both */
	unsigned long group_limit;
	char *base;		  /* page_map.base */
	unsigned long page_limit; /* page_map.limit */
	ptrdiff_t rseq;		  /* os_rseq_offset */
} __attribute__((aligned(CACHE_LINE)));

/* Hidden here already, so that no access goes through the GOT. */
extern struct malloc_hot malloc_hot __attribute__((visibility("hidden")));

/* Objects of a class. */
struct malloc_shape {
	uint16_t size;	/* malloc_class_size() */
	uint16_t align; /* malloc_class_align() */
};

/* By class, for the hit paths; filled before they open, then const. */
extern struct malloc_shape malloc_shape[MALLOC_CLASSES + 1] __attribute__((visibility("hidden")));

/*
 * The handles of the classes whose caches are made, known to tools and all; else that of cache 0,
 * which has none. Written under cache_lock.
 */
extern struct kmem_cache *malloc_made[MALLOC_CLASSES + 1] __attribute__((visibility("hidden")));

/* GFP flags of every allocation here: failure is the caller's to report. */
#define MALLOC_GFP (GFP_NOWAIT | __GFP_NOWARN)

/* ---- init.c ---- */

extern uint32_t malloc_state __attribute__((visibility("hidden")));

/* Has the library started? Any function may be called before. */
static inline bool malloc_ready(void)
{
	/* pairs with the release in malloc_init() */
	return likely(load_acquire(&malloc_state) == 1);
}

/*
 * Starts the library, once. false: no memory for that, or this thread is inside of malloc_init()
 * already, or the dynamic loader has not relocated this library yet: early.c serves then.
 */
bool malloc_init(void);

static inline bool malloc_usable(void)
{
	return malloc_ready() || malloc_init();
}

/*
 * A block while malloc_usable() is false, of early.c's memory. Where that is used up since the
 * library could not start, it says so, once.
 */
void *malloc_unstarted(size_t size, size_t align);

/* The cache of a class that has none so far. NULL: out of memory. No lock may be held. */
cold struct cache *malloc_make_class(unsigned int class);

/* Opens the hit path of malloc() again after a tool closed it, see cache/control/control.h. */
void malloc_rearm(void);
/* Likewise, if it was a tool that did: size_limit is 0 while threads are in groups. */
void malloc_rearm_if_closed(void);

/* Asserts that each cache of a class has the right numbers. */
void malloc_check(void);

/* ---- ready.c ---- */

/*
 * For realtime: the arrays of the running CPU have some objects of each class, while there is room
 * for that. errno stays as it is. Context: before main().
 */
cold void malloc_make_ready(void);

/* ---- early.c: a few requests from before malloc_init() can work; never freed ---- */
void *early_alloc(size_t size, size_t align);
/* Size of an early block; 0 when p is none. */
size_t early_size(const void *p);

/* An exported function with a hit path, at the start of a cache line: docs/adr/0035. */
#define MALLOC_HIT USLAB_API __attribute__((aligned(CACHE_LINE)))

/* ---- slow.c ---- */

/* The return address of an exported function: its caller in the program. */
#define MALLOC_CALLER __builtin_return_address(0)

/* The slow path; sets errno to ENOMEM. */
noinline void *malloc_slow(size_t size, const void *caller);
noinline void free_slow(void *p, const void *caller);
/* For another function than free(): reports of bad pointers name it. */
noinline void free_slow_as(const struct cache_call *call, void *p, const void *caller);

/* size bytes (any value), without errno. *zeroed: known to be zero. */
void *malloc_any(size_t size, bool *zeroed, const void *caller);
/*
 * Polls the mailbox: a tool may have caused this miss, see cache/control/control.h. No lock may be
 * held.
 */
void malloc_poll_mailbox(void);
/* Whole pages, likewise; as run_alloc(). */
void *malloc_run(size_t size, size_t align, bool *zeroed, const void *caller);
/* One object of a class, for size bytes. NULL: out of memory. */
void *malloc_class_alloc(unsigned int class, size_t size, const void *caller);
/* Usable bytes of a block, also of a free object; 0 when p starts none. */
size_t malloc_block_size(const void *p);
/* Reports that it was given a pointer that no block starts at. No lock may be held. */
cold void malloc_bad_pointer(const struct cache_call *call, const void *p);

/* ---- debug.c ---- */

/* The debug slab or guarded page that p lies in; NULL: none. */
struct page *malloc_debug_slab(const void *p);
/* Usable bytes of the block that starts at p there; 0 when none does. */
size_t malloc_debug_size(const struct page *slab, const void *p);
/*
 * Does the block at p lie in a debug slab? Then *stays: it has been resized in place, and its slab
 * has stored the size.
 */
bool malloc_resize_debug(void *p, size_t size, bool *stays);

/* ---- group.c: what threads in groups allocate (cache/group/group.h) ---- */

/*
 * One object of a class, for size bytes, which is charged to this thread's group. NULL: out of
 * memory, or the group may have no more.
 */
void *malloc_group_alloc(unsigned int class, size_t size, const void *caller);
/* The same for any size, and only where that is quick; false: nothing is done. */
bool malloc_group_hit(size_t size, void **result);
/* Frees p if that is quick: false: nothing is done. p may be anything. */
bool malloc_group_free(void *p, const void *caller);
/* A block of whole pages for size bytes likewise; false: it may not be, and is to be freed. */
bool malloc_group_add_run(void *p, size_t size);
/* The cache whose plain object starts at p; NULL: it is none of what is charged. */
struct cache *malloc_group_cache(const void *p);
/* The cache of a class for what is charged; NULL: there is none so far. */
struct cache *malloc_group_class(unsigned int class);
void malloc_group_check(void);
/* Before the first thread enters a group. */
void malloc_group_init(void);

/* ---- align.c ---- */

/* align a power of two; without errno. */
void *malloc_aligned(size_t align, size_t size, const void *caller);

#endif /* MALLOC_INTERNAL_H */
