/* SPDX-License-Identifier: MIT */
/*
 * cache/instrument/instrument.h - tools that are notified of each object: tracers, valgrind,
 * sanitizers
 *
 * Data:       which tools run this process is in os/instrument/memcheck.h, whether a tracer is
 *             attached to our probes in os/instrument/probe.h.
 * Invariants: while a tool runs this process every cache has WATCH_TOOL; from one instrument_poll()
 *             after a tracer is attached to a probe of objects until one after it is detached, all
 *             have WATCH_PROBES.
 * Locks:      none, but for the registry lock where the name says so.
 * Flow:       called by cache/, malloc/resize.c and malloc/slow.c; calls os/instrument/probe.h,
 *             os/instrument/memcheck.h.
 *
 * Nothing here is on a hit path. Nor does a hit read the semaphores of the probes: the next miss
 * does, or the control thread (USLAB_CONF=control=MS).
 *
 * On an allocation:
 *     instrument_enter(); obj = engine...; instrument_open(c, obj); zeroing; instrument_leave();
 *     instrument_alloc(c, obj, ...)
 * On a free:
 *     instrument_free(c, obj, ...); instrument_enter(); engine...; instrument_leave();
 */
#ifndef CACHE_INSTRUMENT_H
#define CACHE_INSTRUMENT_H

#include "cache/cache.h"
#include "cache/control/control.h"
#include "os/instrument/memcheck.h"
#include "os/instrument/probe.h"
#include "os/instrument/sanitizer.h"

/* USLAB_CONF=valgrind=0, asan=0: the tool is there, but is not notified of objects. */
bool instrument_set_valgrind(const char *value);
bool instrument_set_asan(const char *value);

/* Finds out which tools run this process; from cache_init(), after the options were read. */
void instrument_init(void);

/*
 * Bytes that stay free behind each object of a new cache, so that valgrind can tell objects apart.
 * Not in a heap, and not where most objects are pages apart anyway.
 */
static inline unsigned int instrument_gap(const struct engine_ops *engine, unsigned int size)
{
	return unlikely(os_memcheck_on) && !engine->heap && size <= PAGE_SIZE ? OS_MEMCHECK_GAP : 0;
}

/* A cache that was registered just now, or is about to be freed. */
void instrument_created_locked(struct cache *c);
void instrument_destroyed_locked(struct cache *c);

/* ---- objects; for caches without WATCH_TOOL and WATCH_PROBES these do nothing ---- */

/* All bytes of the object may be written, by any function. */
void instrument_open(struct cache *c, void *obj);
/* size: bytes asked for, 0: the cache's. obj is not NULL. */
void instrument_alloc(struct cache *c, void *obj, size_t size, gfp_t gfp, int node,
		      const void *caller);
/* obj may be any address, as the program gave it. */
void instrument_free(struct cache *c, void *obj, const void *caller);
/* The program may use that many bytes from now on. */
void instrument_block_size(const void *obj, size_t usable);

/* nr pointers that a bulk call has written. */
static inline void instrument_wrote(void *const *p, unsigned int nr)
{
	if (unlikely(os_memcheck_on))
		os_sanitizer_wrote(p, nr * sizeof(*p));
}

/* Between them the library may look into free objects without valgrind's complaining. They nest. */
static inline void instrument_enter(void)
{
	if (unlikely(os_memcheck_on))
		os_memcheck_enter();
}

static inline void instrument_leave(void)
{
	if (unlikely(os_memcheck_on))
		os_memcheck_leave();
}

/* ---- whole pages, and blocks of heaps, for kmalloc and malloc: what belongs to no cache ---- */

/* What a block was asked for with. */
struct instrument_block {
	size_t size;
	size_t usable; /* bytes */
	gfp_t gfp;
	int node;
	const void *caller;
};

void instrument_block_alloc_slow(void *p, const struct instrument_block *block);
void instrument_block_free_slow(void *p, size_t usable, const void *caller);

static inline bool instrument_is_on(void)
{
	return unlikely(os_memcheck_on) || unlikely(os_probe_objects());
}

/* p may be NULL; zeroing is done. */
static inline void instrument_block_alloc(void *p, struct instrument_block block)
{
	if (instrument_is_on() && p)
		instrument_block_alloc_slow(p, &block);
}

/* Before p is freed. */
static inline void instrument_block_free(void *p, size_t usable, const void *caller)
{
	if (instrument_is_on())
		instrument_block_free_slow(p, usable, caller);
}

/* ---- tracers ---- */

/* Puts WATCH_PROBES on all caches, or takes it off; no lock may be held. */
void instrument_listen(void);
extern bool instrument_listening; /* WATCH_PROBES is on; atomic */

/* For slow paths, beside control_poll(): two loads. No lock may be held. */
static inline void instrument_poll(void)
{
	if (unlikely(os_probe_objects() !=
		     __atomic_load_n(&instrument_listening, __ATOMIC_RELAXED)))
		instrument_listen();
}

/*
 * Is there a command in the mailbox, or a tracer attached? Then the caller calls cache_poll_now().
 * With a tracer attached that is each call; afterwards all caches still have WATCH_PROBES, so that
 * the next call polls as well.
 */
static inline bool instrument_pending(void)
{
	return unlikely(load_relaxed(&control.state) == CONTROL_PENDING) ||
	       unlikely(os_probe_objects());
}

/* Polls both. No lock may be held. */
static inline void cache_poll_now(void)
{
	control_poll();
	instrument_poll();
}

#endif /* CACHE_INSTRUMENT_H */
