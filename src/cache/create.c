/* SPDX-License-Identifier: MIT */
/*
 * cache/create.c - creates a cache, or an alias of an existing one
 *
 * Why:        docs/adr/0006.
 * Data:       none of its own.
 * Invariants: a cache is registered only when front and engine are ready.
 * Locks:      cache_lock, over the whole creation.
 * Flow:       called by api/cache_api.c, group/own.c, kmalloc.c, rows.c, malloc/group.c and
 *             malloc/init.c; calls merge.c, registry.c, the front's and the engine's init.
 */
#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "cache/instrument/instrument.h"
#include "cache/debug/guard.h"
#include "cache/group/group.h"
#include "cache/internal.h"
#include "cache/pressure.h"
#include "cache/profile/profile.h"
#include "engine/limit.h"
#include "os/process/die.h"
#include "page/meta.h"
#include "page/pcp.h"
#include "page/used.h"

/* What the kernel permits a caller to pass (spec 5.1). */
#define SLAB_PERMITTED                                                              \
	(SLAB_HWCACHE_ALIGN | SLAB_CACHE_DMA | SLAB_CACHE_DMA32 | SLAB_PANIC |      \
	 SLAB_TYPESAFE_BY_RCU | SLAB_DEBUG_OBJECTS | SLAB_RED_ZONE | SLAB_POISON |  \
	 SLAB_STORE_USER | SLAB_TRACE | SLAB_CONSISTENCY_CHECKS | SLAB_MEM_SPREAD | \
	 SLAB_NOLEAKTRACE | SLAB_NO_MERGE | SLAB_RECLAIM_ACCOUNT | SLAB_ACCOUNT |   \
	 SLAB_NO_USER_FLAGS | SLAB_NO_OBJ_EXT | USLAB_ACCOUNT_INLINE)

static void copy_name(char *to, const char *name)
{
	size_t len = MIN(strlen(name), (size_t)CACHE_NAME_MAX - 1);

	memcpy(to, name, len);
	to[len] = '\0';
}

/* A page, and what kmalloc() promises of its largest size. */
static unsigned long max_align(const struct cache_spec *spec)
{
	return spec->flags & SLAB_KMALLOC ? KMALLOC_MAX_CACHE_SIZE : PAGE_SIZE;
}

/* Checks the arguments: -errno and text for it; 0: no mistake. */
static int refuse(const struct cache_spec *spec, char *why, size_t size)
{
	slab_flags_t unknown = spec->flags & ~(SLAB_PERMITTED | SLAB_KMALLOC);
	int error = -EINVAL;

	if (!spec->name) {
		os_format(why, size, "no name");
	} else if (strnlen(spec->name, CACHE_NAME_MAX) == CACHE_NAME_MAX) {
		os_format(why, size, "a name has at most %u bytes", CACHE_NAME_MAX - 1);
		error = -ENAMETOOLONG;
	} else if (!spec->size || spec->size > KMALLOC_MAX_SIZE) {
		os_format(why, size, "size %u is not 1 to %lu", spec->size, KMALLOC_MAX_SIZE);
	} else if (spec->align && (!is_pow2(spec->align) || spec->align > max_align(spec))) {
		os_format(why, size, "alignment %u is no power of two of at most %lu", spec->align,
			  max_align(spec));
	} else if (unknown) {
		os_format(why, size, "flags 0x%x are not for callers", unknown);
	} else if (spec->id >= USLAB_ID_FIRST_FREE) {
		os_format(why, size, "number %u is not a fixed one", spec->id);
	} else if (spec->dtor && !spec->ctor) {
		os_format(why, size, "a destructor needs a constructor");
	} else if (spec->dtor && spec->flags & SLAB_TYPESAFE_BY_RCU) {
		os_format(why, size, "readers may look at what a destructor has ended");
	} else if (spec->capacity > CACHE_MAX_CAPACITY) {
		os_format(why, size, "capacity %u is more than %u", spec->capacity,
			  CACHE_MAX_CAPACITY);
	} else {
		error = 0;
	}
	return error;
}

/* Who left one of them to USLAB_CONF gets one that goes with the other, but for the capacity. */
static void explain_pair(const struct cache_spec *spec, char *why, size_t size)
{
	const char *engine = spec->engine ? spec->engine->name : "by default";
	const char *front = spec->front ? spec->front->name : "by default";

	if (spec->capacity)
		os_format(why, size,
			  "engine %s and front %s do not go together, or not with capacity %u",
			  engine, front, spec->capacity);
	else
		os_format(why, size, "engine %s and front %s do not go together", engine, front);
}

void cache_explain(const struct cache_spec *spec, int error, char *why, size_t size)
{
	if (refuse(spec, why, size))
		return;
	switch (error) {
	case -ENOMEM:
		os_format(why, size, "out of memory");
		break;
	case -ENOSPC:
		os_format(why, size, "there are %u caches already", USLAB_MAX_CACHES);
		break;
	case -E2BIG:
		os_format(why, size, "size %u and what the flags add do not fit the largest slab",
			  spec->size);
		break;
	case -EINVAL:
		explain_pair(spec, why, size);
		break;
	default:
		os_format(why, size, "error %d", error);
	}
}

static bool has_name(const struct cache *c, const char *name)
{
	const struct cache_alias *alias = c->aliases;

	while (alias && strncmp(alias->name, name, CACHE_NAME_MAX - 1))
		alias = alias->next;
	return alias || !strncmp(c->name, name, CACHE_NAME_MAX - 1);
}

/*
 * One more user, and its name unless the cache has it already: names outlive their users, so a
 * program that creates and destroys an alias in turns must not add one each time. The object grows
 * to the largest user's size (spec 5.4).
 */
static int add_alias(struct cache *c, const struct cache_spec *spec)
{
	struct cache_alias *alias;

	if (!has_name(c, spec->name)) {
		alias = meta_alloc(sizeof(*alias));
		if (!alias)
			return -ENOMEM;
		copy_name(alias->name, spec->name);
		alias->next = c->aliases;
		c->aliases = alias;
	}
	c->refcount++;
	/* atomic: other threads may be zeroing objects of the cache */
	store_relaxed(&c->engine.object_size, MAX(c->engine.object_size, spec->size));
	return 0;
}

/* Without memory for the lists the cache uses none. */
static enum pcp_kind page_lists(const struct cache_spec *spec)
{
	if (!spec->page_lists || !pcp_init())
		return PCP_NONE;
	return spec->flags & SLAB_RECLAIM_ACCOUNT ? PCP_RECLAIMABLE : PCP_UNMOVABLE;
}

static int init_engine(struct cache *c, const struct cache_spec *spec, unsigned int id)
{
	struct engine_params params = {
		.name = c->name,
		.object_size = spec->size + instrument_gap(spec->engine, spec->size),
		.align = cache_calculate_alignment(spec->flags, spec->align, spec->size),
		/* the engine's own slabs are plain ones, whatever the debug flags say */
		.flags = spec->flags & ~CACHE_DEBUG_FLAGS,
		.ctor = spec->ctor,
		.dtor = spec->dtor,
		.id = id,
		/* hits by address write a mark: no class for objects that must keep their bytes */
		.page_class = id < USLAB_ID_FIRST_FREE ? (unsigned char)id : 0,
		.page_lists = page_lists(spec),
		/* a hardened cache needs headers in a heap, to know an object's cache */
		.by_address = spec->id || spec->flags & SLAB_KMALLOC || used_are_kept(),
		.queued = spec->front == &front_array_ops || spec->front == &front_queues_ops ||
			  spec->front == &front_sheaves_ops,
		.counted = spec->front == &front_sheaves_ops,
		.pack = spec->pack,
		.hardened = cache_defaults.hardened,
		.randomised = cache_defaults.randomised,
	};
	int ret;

	c->engine.ops = spec->engine;
	ret = c->engine.ops->init(&c->engine, &params);
	c->engine.object_size = spec->size;
	return ret;
}

static int init_front(struct cache *c, const struct cache_spec *spec, unsigned int id)
{
	c->front.ops = spec->front;
	c->front.engine = &c->engine;
	c->front.id = id;
	cache_place_mark_locked(c);
	return c->front.ops->init(&c->front, spec->capacity);
}

static void destroy_engine(struct cache *c)
{
	c->engine.ops->destroy(&c->engine);
	if (c->engine.debug)
		debug_detach(&c->engine);
}

/* Front, engine and debug slabs of a new struct cache; undone on failure. */
static int init_parts(struct cache *c, const struct cache_spec *spec, unsigned int id)
{
	int ret = init_engine(c, spec, id);

	if (ret)
		return ret;
	ret = init_front(c, spec, id);
	if (!ret) {
		ret = cache_start_debug(c, spec->flags);
		if (ret)
			c->front.ops->destroy(&c->front);
	}
	if (ret)
		destroy_engine(c);
	return ret;
}

static int create_locked(const struct cache_spec *spec, struct kmem_cache **handle)
{
	unsigned int id;
	struct cache *c;
	int ret;

	ret = cache_number_get_locked(spec->id, &id);
	if (ret)
		return ret;
	c = meta_alloc(sizeof(*c));
	ret = c ? 0 : -ENOMEM;
	if (!ret) {
		copy_name(c->name, spec->name);
		c->flags = spec->flags;
		c->refcount = 1;
		group_begin_locked(c);
		c->capacity = (uint16_t)spec->capacity;
		c->useroffset = spec->useroffset;
		c->usersize = spec->flags & SLAB_KMALLOC ? spec->size : spec->usersize;
		if (spec->id && spec->front == &front_none_ops)
			c->takes_blocks = spec->engine->heap;
		c->alone = spec->reclaim != NULL || spec->limit;
		engine_limits[id] = (struct engine_limit){ .most = spec->limit };
		c->handle = percpu_handle(id);
		ret = pressure_add_locked(c, spec);
		if (!ret)
			ret = init_parts(c, spec, id);
	}
	if (ret) {
		pressure_drop_locked(c);
		meta_free(c, sizeof(*c));
		cache_number_put_locked(id);
		return ret;
	}
	cache_check_frees_locked(c);
	cache_register_locked(c);
	instrument_created_locked(c);
	guard_created_locked(c);
	profile_created_locked(c);
	group_created_locked(c);
	*handle = c->handle;
	return 0;
}

/* CPUs hold too few larger ones to charge them ahead. */
#define MOST_WITH_KEYS (PAGE_SIZE - sizeof(uint64_t))

/* Where objects cannot have keys they are charged as with SLAB_ACCOUNT alone. */
static void resolve_keys(struct cache_spec *spec)
{
	if (likely(!(spec->flags & USLAB_ACCOUNT_INLINE)))
		return;
	spec->flags |= SLAB_ACCOUNT;
	if (spec->engine != &slub_ops || spec->front != &front_array_ops || !percpu_rseq ||
	    spec->size > MOST_WITH_KEYS || used_are_kept() || os_memcheck_on ||
	    spec->flags & SLAB_NO_OBJ_EXT || !group_start())
		spec->flags = (spec->flags & ~USLAB_ACCOUNT_INLINE) | SLAB_NO_MERGE;
}

int cache_create(const struct cache_spec *wanted, struct kmem_cache **handle)
{
	struct cache_spec spec = *wanted;
	struct cache *c;
	char why[CACHE_NAME_MAX]; /* for cache_explain() only */
	int ret = refuse(&spec, why, sizeof(why));

	if (!ret)
		ret = cache_resolve(&spec);
	if (ret)
		return ret;
	resolve_keys(&spec);
	lock_acquire(&cache_lock);
	if (spec.slot && cache_of(load_relaxed(spec.slot))) {
		*handle = load_relaxed(spec.slot);
		cache_unlock();
		return 0;
	}
	spec.flags = cache_debug_flags(spec.name, spec.flags);
	c = cache_find_mergeable_locked(&spec);
	if (c) {
		ret = add_alias(c, &spec);
		if (!ret)
			*handle = c->handle;
	} else {
		ret = create_locked(&spec, handle);
	}
	if (!ret && spec.slot)
		store_release(spec.slot, *handle); /* pairs with rows_handle(), malloc/ and hits */
	cache_unlock();
	return ret;
}
