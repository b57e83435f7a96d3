/* SPDX-License-Identifier: MIT */
/*
 * cache/instrument/friends.h - other people's tools hear of each object: tracers, valgrind,
 * sanitizers
 *
 * Data:       which tools run this process is in os/instrument/memcheck.h, who listens to
 *             our probes in os/instrument/probe.h.
 * Invariants: while a tool runs us every cache has WATCH_TOOL; from one friends_poll()
 *             after somebody begins to listen to a probe of objects until one after he
 *             ended, all have WATCH_PROBES.
 * Locks:      none, but for the registry lock where the name says so.
 * Flow:       called by cache/, malloc/resize.c and malloc/slow.c; calls os/instrument/probe.h,
 *             os/instrument/memcheck.h.
 *
 * Nothing here is on a hit path. A program that only hits never looks at the semaphores either: its
 * next miss does, or the control thread (USLAB_CONF=control=MS).
 *
 * On an allocation:
 *     friends_enter(); obj = engine...; friends_open(c, obj); zeroing; friends_leave();
 *     friends_alloc(c, obj, ...)
 * On a free:
 *     friends_free(c, obj, ...); friends_enter(); engine...; friends_leave();
 */
#ifndef CACHE_FRIENDS_H
#define CACHE_FRIENDS_H

#include "cache/cache.h"
#include "cache/control/control.h"
#include "os/instrument/memcheck.h"
#include "os/instrument/probe.h"
#include "os/instrument/sanitizer.h"

/* USLAB_CONF=valgrind=0, asan=0: the tool is there, but shall not hear of objects. */
bool friends_set_valgrind(const char *value);
bool friends_set_asan(const char *value);

/* Finds out which tools run this process; from cache_init(), after the options were read. */
void friends_init(void);

/*
 * Bytes that stay free behind each object of a new cache, so that valgrind can tell objects apart.
 * Not in a heap, and not where whole pages lie between the ends of most objects anyway.
 */
static inline unsigned int friends_gap(const struct engine_ops *engine, unsigned int size)
{
	return unlikely(os_memcheck_on) && !engine->heap && size <= PAGE_SIZE ? OS_MEMCHECK_GAP : 0;
}

/* A cache that was registered just now, or is about to be freed. */
void friends_created_locked(struct cache *c);
void friends_destroyed_locked(struct cache *c);

/* ---- objects; c is of WATCH_TOOL or WATCH_PROBES, or these do nothing ---- */

/* All bytes of the object may be written, by any function. */
void friends_open(struct cache *c, void *obj);
/* size: bytes asked for, 0: the cache's. obj is not NULL. */
void friends_alloc(struct cache *c, void *obj, size_t size, gfp_t gfp, int node,
		   const void *caller);
/* obj may be any address, as the program gave it. */
void friends_free(struct cache *c, void *obj, const void *caller);
/* The program was told that it may use that many bytes. */
void friends_tell_size(const void *obj, size_t usable);

/* nr pointers that a bulk call has written. */
static inline void friends_wrote(void *const *p, unsigned int nr)
{
	if (unlikely(os_memcheck_on))
		os_sanitizer_wrote(p, nr * sizeof(*p));
}

/* Between them the library may look into free objects without valgrind's complaining. They nest. */
static inline void friends_enter(void)
{
	if (unlikely(os_memcheck_on))
		os_memcheck_enter();
}

static inline void friends_leave(void)
{
	if (unlikely(os_memcheck_on))
		os_memcheck_leave();
}

/* ---- whole pages, and blocks of heaps, for kmalloc and malloc: what belongs to no cache ---- */

/* What a block was asked for with. */
struct friends_block {
	size_t size;
	size_t usable; /* bytes */
	gfp_t gfp;
	int node;
	const void *caller;
};

void friends_block_alloc_slow(void *p, const struct friends_block *block);
void friends_block_free_slow(void *p, size_t usable, const void *caller);

static inline bool friends_are_there(void)
{
	return unlikely(os_memcheck_on) || unlikely(os_probe_objects());
}

/* p may be NULL; zeroing is done. */
static inline void friends_block_alloc(void *p, struct friends_block block)
{
	if (friends_are_there() && p)
		friends_block_alloc_slow(p, &block);
}

/* Before p is freed. */
static inline void friends_block_free(void *p, size_t usable, const void *caller)
{
	if (friends_are_there())
		friends_block_free_slow(p, usable, caller);
}

/* ---- who listens ---- */

/* Puts WATCH_PROBES on all caches, or takes it off; no lock may be held. */
void friends_listen(void);
extern bool friends_listening; /* WATCH_PROBES is on; atomic */

/* For slow paths, beside control_poll(): two loads. No lock may be held. */
static inline void friends_poll(void)
{
	if (unlikely(os_probe_objects() != __atomic_load_n(&friends_listening, __ATOMIC_RELAXED)))
		friends_listen();
}

/*
 * Does anybody outside want something: has a tool left a command, does a tracer listen? Whoever is
 * called calls cache_poll_now(). While somebody listens that is each call; afterwards all caches
 * still have WATCH_PROBES, so that the next call looks as well.
 */
static inline bool cache_is_called(void)
{
	return unlikely(load_relaxed(&control.state) == CONTROL_PENDING) ||
	       unlikely(os_probe_objects());
}

/* Both looks. No lock may be held. */
static inline void cache_poll_now(void)
{
	control_poll();
	friends_poll();
}

#endif /* CACHE_FRIENDS_H */
