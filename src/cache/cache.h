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
 * Flow:       called by api/ and malloc/; the one place that knows both a front and an engine.
 */
#ifndef CACHE_CACHE_H
#define CACHE_CACHE_H

#include "base/list.h"
#include "engine/engine.h"
#include "front/front.h"

#define CACHE_NAME_MAX 64 /* bytes with the NUL; longer names are cut */

#define CACHE_MAX_CAPACITY 1024 /* objects, of the queues front; the array front takes up to 31 */

struct cache_alias {
	struct cache_alias *next;
	char name[CACHE_NAME_MAX];
};

struct cache {
	struct front front;
	struct engine engine;
	struct kmem_cache *handle;
	struct list_head list; /* cache_list, newest first */
	/* not NULL: kmalloc and malloc take blocks of the exact size here and no objects */
	const struct engine_heap *heap;
	int refcount; /* users; 0: destroyed with live objects */
	slab_flags_t flags;
	unsigned int usersize;	     /* not 0 (kmalloc caches): nothing merges with it */
	unsigned int capacity;	     /* of the front, as chosen; 0: by object size */
	struct cache_alias *aliases; /* every further name it ever had, newest first */
	char name[CACHE_NAME_MAX];
};

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
	const struct engine_ops *engine; /* NULL: by USLAB_CONF, see choice.c */
	const struct front_ops *front;	 /* NULL: by USLAB_CONF; may be "historical" */
	unsigned int capacity;		 /* 0: by USLAB_CONF, else by object size */
	unsigned int id; /* 0: the next free one; else fixed, and kfree() or free() finds the cache */
	bool pack;	 /* see struct engine_params */
	bool no_merge;	 /* kmalloc and malloc caches */
};

extern struct list_head cache_list;

static inline struct cache *cache_of(const struct kmem_cache *s)
{
	return s->cache;
}

/* ---- create.c, merge.c, destroy.c: 0 or -errno; *handle set on success ---- */
int cache_create(const struct cache_spec *spec, struct kmem_cache **handle);
/* Spec 5.3 and 5.4. */
unsigned int cache_calculate_alignment(slab_flags_t flags, unsigned int align, unsigned int size);
/* spec is resolved. */
struct cache *cache_find_mergeable_locked(const struct cache_spec *spec);
/* The kernel's unique id of a mergeable cache, e.g. ":A-0000192" (spec 5.4). buf of 32 bytes. */
void cache_unique_id(const struct cache *c, char *buf);
bool cache_is_mergeable(const struct cache *c);
void cache_destroy(struct kmem_cache *s, const void *caller);

/* ---- alloc.c, free.c ---- */
void *cache_alloc(struct cache *c, gfp_t gfp, int node);
unsigned int cache_alloc_bulk(struct cache *c, gfp_t gfp, unsigned int nr, void **p);
void cache_free(struct cache *c, void *obj);
void cache_free_bulk(struct cache *c, unsigned int nr, void **p);

/*
 * The cache of an object; NULL when p lies in no slab. In pages of a heap (engine/engine.h) only
 * objects of kmalloc and malloc caches say whose they are; of any other object there the answer is
 * NULL or, by chance, one of these.
 */
struct cache *cache_of_object(const void *p);

/* ---- heap.c: blocks of heaps, for kmalloc and malloc; pages of type PAGE_HEAP ---- */
/* size 1 .. heap->max_size; as heap->alloc, with one retry, and __GFP_ZERO clears size bytes. */
void *cache_heap_alloc(const struct engine_heap *heap, size_t size, size_t align, gfp_t gfp,
		       int node);
/* A block, or an object of a cache that is found by address. */
void cache_heap_free(const struct engine_heap *heap, void *p);
/* Each heap once; a heap that was never used is among them. */
void cache_heaps_each(void (*visit)(const struct engine_heap *heap));

/* ---- shrink.c ---- */
int cache_shrink(struct cache *c);
/* All caches; the caller may hold nothing. */
void cache_shrink_all(void);

/* ---- reap.c ---- */
/* One round of reaping (spec 3.9): all caches, all CPUs. The caller may hold nothing. */
void cache_reap(void);
/*
 * From now on a thread does that every interval_ms, and skips a round if somebody holds the registry
 * lock just then; again: with another interval. 0 or -errno. Not in a child of fork() until it is called
 * there. Context: see os/ticker.h.
 */
int cache_reap_start(unsigned int interval_ms);
/* Spec 3.5, 9.2. 0; -EINVAL, see front/front.h; -EOPNOTSUPP: the front has no queues. */
int cache_tune(struct cache *c, unsigned int limit, unsigned int batchcount, unsigned int shared);

/* ---- kmalloc.c: the kernel's size classes (spec 5.6) ---- */
int kmalloc_init(void);
void *kmalloc_alloc(size_t size, gfp_t gfp, int node);
void kmalloc_free(const void *p, const void *caller);
size_t kmalloc_size(const void *p);
size_t kmalloc_roundup(size_t size);

/* ---- init.c: floors 1 to 5 made ready, once; safe to call from anywhere, any number of times ---- */
int cache_init(void);
/*
 * Makes the threads that USLAB_CONF asks for, once. Not before libc can make one: from a
 * constructor, when the library is ready and no lock held. A child of fork() has none.
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

/* ---- options.c: one pair of USLAB_CONF; false: refused, and nothing changed ---- */
bool cache_set_option(const char *key, const char *value, void *arg);

void cache_fork_prepare(void);
void cache_fork_parent(void);
void cache_fork_child(void);

void cache_check_all(void);

#endif /* CACHE_CACHE_H */
