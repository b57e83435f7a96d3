/* SPDX-License-Identifier: MIT */
/*
 * malloc/resize.c - calloc, realloc, reallocarray, malloc_usable_size
 *
 * Why:        docs/adr/0035.
 * Data:       none.
 * Invariants: after a failure the old block is untouched; shrinking never fails.
 * Locks:      none.
 * Flow:       called by the program; calls slow.c, debug/pages/pages.c.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/chunk.h"
#include "cache/group/group.h"
#include "cache/instrument/instrument.h"
#include "debug/pages/pages.h"
#include "front/array.h"
#include "malloc/hot.h"
#include "os/instrument/memcheck.h"
#include "os/instrument/valgrind.h"
#include "page/clear.h"
#include "page/nested.h"

static cold void *no_memory(void)
{
	errno = ENOMEM;
	return NULL;
}

/* ---- calloc ---------------------------------------------------------------------------------- */

#define CLEAR_INLINE 128ul /* bytes; above a call is quicker */
BUILD_ASSERT(CLEAR_INLINE <= MALLOC_FINE_CLASSES * MALLOC_ALIGN); /* chunks are classes */

/*
 * Clears all usable bytes of an object of a hit, so that a realloc() in place adds only bytes that
 * calloc() has cleared.
 */
static always_inline void *clear_object(void *p, size_t bytes)
{
	if (unlikely(bytes > CLEAR_INLINE))
		return memset(p, 0, malloc_shape[malloc_hot_table(malloc_hot.base)[bytes]].size);
	chunk_clear(p, bytes);
	return p;
}

/* Likewise of any block. Memory checkers know only of the bytes asked for, and let nothing hit. */
static void *clear(void *p, size_t bytes)
{
	page_clear(p, unlikely(os_memcheck_on) ? bytes : MAX(bytes, malloc_block_size(p)));
	return p;
}

static noinline void *calloc_slow(size_t bytes, const void *caller)
{
	bool zeroed;
	void *p;

	if (malloc_hot_group(bytes, &p))
		return clear_object(p, bytes);
	p = malloc_any(bytes, &zeroed, caller);
	if (unlikely(!p))
		return no_memory();
	/* new pages are zero, and not resident until they are written to */
	return zeroed ? p : clear(p, bytes);
}

MALLOC_HIT void *calloc(size_t n, size_t size)
{
	size_t bytes;
	void *p;

	if (unlikely(__builtin_mul_overflow(n, size, &bytes)))
		return no_memory();
	if (likely(malloc_hot_alloc(bytes, &p)))
		return clear_object(p, bytes);
	return calloc_slow(bytes, MALLOC_CALLER);
}

/* ---- realloc, any block ---------------------------------------------------------------------- */

#define STAYS \
	1u /* classes of slack on shrinking: saves a copy and keeps the waste below a quarter */

/* May a block of old bytes stay in place for size bytes? Page runs are resized elsewhere. */
static bool may_stay(size_t old, size_t size)
{
	if (size > old || old > MALLOC_MAX_SMALL)
		return false;
	return malloc_class_of(size) + STAYS >= malloc_class_of(old);
}

static always_inline void *copy_of(const void *p, size_t old, size_t size, const void *caller)
{
	void *copy;

	if (unlikely(!malloc_hot_alloc(size, &copy)))
		copy = malloc_slow(size, caller);
	if (unlikely(!copy))
		return NULL;
	instrument_enter();		  /* memory checkers know only of the bytes asked for */
	memmove(copy, p, MIN(old, size)); /* a block that was free already may be the new one */
	instrument_leave();
	return copy;
}

static void *move_as_any(void *p, size_t old, size_t size, const void *caller)
{
	void *moved = copy_of(p, old, size, caller);

	if (unlikely(!moved))
		return size <= old ? p : NULL;
	if (unlikely(!malloc_hot_free(p)))
		free_slow(p, caller);
	return moved;
}

/* A smaller block has room in the thread's group if the larger one is charged to that. */
static void *move(void *p, size_t old, size_t size, const void *caller)
{
	void *moved;

	if (likely(!group_current) || size >= old || unlikely(!lock_is_plain()) ||
	    !group_replace_begin(p))
		return move_as_any(p, old, size, caller);
	moved = move_as_any(p, old, size, caller);
	group_replace_end();
	return moved;
}

/*
 * In place, or by moving its mapping. NULL: not possible. With U the caller is stored as its user.
 * *refused: the thread's group has not even room for what it grows by: it has none for a new block.
 */
static void *resize_run(void *p, size_t old, size_t size, const void *caller, bool *refused)
{
	struct group_resize charged = { .id = GROUP_NONE };
	void *resized;

	malloc_poll_mailbox(); /* a program may only resize for long */
	if (groups_are_known() && !group_resize_begin(&charged, p, size)) {
		*refused = charged.id == group_current;
		return NULL;
	}
	instrument_enter();
	if (size > old)
		array_limit_reap_large(size - old, NULL);
	resized = pages_resize(p, size, caller);
	instrument_leave();
	group_resize_end(&charged, resized ? resized : p);
	return resized;
}

/* p is a block of old bytes, size is not 0. */
static void *resize(void *p, size_t old, size_t size, const void *caller)
{
	bool refused = false;
	void *resized;
	bool stays;

	if (malloc_ready() && nested_call()) /* all ways to resize in place take a lock */
		return move(p, old, size, caller);
	if (instrument_is_on()) /* tools are notified of a new block and of the free of the old one */
		return move(p, old, size, caller);
	if (unlikely(malloc_resize_debug(p, size, &stays)))
		return stays ? p : move(p, old, size, caller);
	if (may_stay(old, size))
		return p;
	if (old <= MALLOC_MAX_SMALL || size > PTRDIFF_MAX)
		return move(p, old, size, caller);
	/* what becomes an object is cut first: at a limit that makes room for the object */
	resized = resize_run(p, old, MAX(size, MALLOC_MAX_SMALL + 1), caller, &refused);
	if (size <= MALLOC_MAX_SMALL && resized)
		return move(resized, malloc_block_size(resized), size, caller);
	if (resized || refused)
		return resized ? resized : no_memory();
	return move(p, old, size, caller);
}

static void *realloc_block(const struct cache_call *call, void *p, size_t size, const void *caller)
{
	size_t old = malloc_block_size(p);

	if (unlikely(!old)) {
		/* In a nested call it may be a mapped block, whose table is locked. */
		if (!malloc_ready() || !nested_call())
			malloc_bad_pointer(call, p);
		return no_memory(); /* if the report does not end the program */
	}
	if (malloc_ready() && unlikely(cache_resizes_freed(p, caller)))
		return copy_of(p, old, size, caller);
	return resize(p, old, size, caller);
}

/* p is not NULL. */
static noinline void *realloc_slow(const struct cache_call *call, void *p, size_t size,
				   const void *caller)
{
	if (size)
		return realloc_block(call, p, size, caller);
	if (unlikely(!malloc_hot_free(p))) /* as glibc */
		free_slow_as(call, p, caller);
	return NULL;
}

/* ---- realloc, hits --------------------------------------------------------------------------- */

#define MOVE_INLINE 256ul /* bytes to copy; above a call is quicker */

/* The array had no room for p, whose bytes are in moved. */
static noinline void *free_moved(void *p, void *moved, const void *caller)
{
	free_slow(p, caller);
	return moved;
}

static noinline void *move_many(void *p, size_t bytes, void *moved, const void *caller)
{
	memcpy(moved, p, bytes);
	return likely(malloc_hot_free(p)) ? moved : free_moved(p, moved, caller);
}

/* p is a block of class old, and may not stay; size is one of the table. */
static noinline void *realloc_move(const struct cache_call *call, void *p, unsigned int old,
				   size_t size, const void *caller)
{
	char *base = malloc_hot.base;
	size_t bytes;
	void *moved;

	if (unlikely(old > MALLOC_CLASSES))
		return realloc_slow(call, p, size, caller);
	bytes = malloc_shape[old].size;
	if (unlikely(!malloc_hot_has(base, p, old, bytes)) || /* behind the last object */
	    unlikely(
		    !arch_malloc_pop(base, &malloc_hot_table(base)[size], malloc_hot.rseq, &moved)))
		return realloc_slow(call, p, size, caller);
	bytes = MIN(bytes, size);
	if (unlikely(bytes > MOVE_INLINE))
		return move_many(p, bytes, moved, caller);
	chunk_copy(moved, p, bytes);
	if (unlikely(!arch_malloc_put(base, old, malloc_hot.rseq, p)))
		return free_moved(p, moved, caller);
	return moved;
}

/*
 * What malloc_hot_free() notices is no hit, and neither is what has to wait for the mailbox. Of a
 * move tracers are notified, since with them no array hits; of a block that stays they would not
 * be.
 */
static always_inline void *realloc_for(const struct cache_call *call, void *p, size_t size)
{
	unsigned int old;
	char *base;
	void *result;

	if (!p)
		return likely(malloc_hot_alloc(size, &result)) ? result
							       : malloc_slow(size, MALLOC_CALLER);
	if (unlikely(!size) || unlikely(size >= malloc_hot.size_limit))
		return realloc_slow(call, p, size, MALLOC_CALLER);
	base = malloc_hot_base();
	if (unlikely(!malloc_hot_class(base, p, &old)))
		return realloc_slow(call, p, size, MALLOC_CALLER);
	if (old - malloc_hot_table(base)[size] > STAYS)
		return realloc_move(call, p, old, size, MALLOC_CALLER);
	return likely(!os_probe_objects()) ? p : realloc_slow(call, p, size, MALLOC_CALLER);
}

MALLOC_HIT void *realloc(void *p, size_t size)
{
	static const struct cache_call call = { "realloc", FIX_NOT_RESIZED };

	return realloc_for(&call, p, size);
}

/* valgrind puts its own function there, and knows no reallocarray(). */
static void *(*const volatile replaced_realloc)(void *, size_t) = realloc;

USLAB_API void *reallocarray(void *p, size_t n, size_t size)
{
	static const struct cache_call call = { "reallocarray", FIX_NOT_RESIZED };
	size_t bytes;

	if (unlikely(__builtin_mul_overflow(n, size, &bytes)))
		return no_memory();
	if (RUNNING_ON_VALGRIND)
		return replaced_realloc(p, bytes);
	return realloc_for(&call, p, bytes);
}

static noinline size_t usable_slow(const void *p)
{
	size_t size = p ? malloc_block_size(p) : 0;

	return size && malloc_ready() && unlikely(cache_is_free(p)) ? 0 : size;
}

/* Usable bytes; 0 for NULL, for a pointer to no block, and for one that is known to be free. */
MALLOC_HIT size_t malloc_usable_size(void *p)
{
	unsigned int class;

	if (likely(malloc_hot_class(malloc_hot.base, p, &class)) && likely(class <= MALLOC_CLASSES))
		return malloc_shape[class].size;
	return usable_slow(p);
}
