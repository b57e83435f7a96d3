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

struct cache_alias {
	struct cache_alias *next;
	char name[CACHE_NAME_MAX];
};

struct cache {
	struct front front;
	struct engine engine;
	struct kmem_cache *handle;
	struct list_head list; /* cache_list, newest first */
	int refcount;	       /* users; 0: destroyed with live objects */
	slab_flags_t flags;
	unsigned int usersize;	     /* not 0 (kmalloc caches): nothing merges with it */
	unsigned int capacity;	     /* of the front, as asked for; 0: by object size */
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
	const struct engine_ops *engine; /* NULL: default */
	const struct front_ops *front;	 /* NULL: default */
	unsigned int capacity;
	unsigned int id; /* fixed number, or 0: the next free one */
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

/* The cache of an object; NULL when p lies in no slab. */
struct cache *cache_of_object(const void *p);

/* ---- shrink.c ---- */
int cache_shrink(struct cache *c);
/* All caches; the caller may hold nothing. */
void cache_shrink_all(void);

/* ---- kmalloc.c: the kernel's size classes (spec 5.6) ---- */
int kmalloc_init(void);
void *kmalloc_alloc(size_t size, gfp_t gfp, int node);
void kmalloc_free(const void *p, const void *caller);
size_t kmalloc_size(const void *p);
size_t kmalloc_roundup(size_t size);

/* ---- init.c: floors 1 to 5 made ready, once; safe to call from anywhere, any number of times ---- */
int cache_init(void);

/* Engine by name; NULL: no such engine. */
const struct engine_ops *cache_engine_by_name(const char *name);

/* Defaults of USLAB_CONF: engine=, front=; and of kernel option names: slab_nomerge, ... */
bool cache_set_option(const char *key, const char *value, void *arg);

void cache_fork_prepare(void);
void cache_fork_parent(void);
void cache_fork_child(void);

void cache_check_all(void);

#endif /* CACHE_CACHE_H */
