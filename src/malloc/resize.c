/* SPDX-License-Identifier: MIT */
/*
 * malloc/resize.c - calloc, realloc, reallocarray, malloc_usable_size
 *
 * Data:       none.
 * Invariants: after a failure the old block is untouched; shrinking never fails.
 * Locks:      none.
 * Flow:       called by the program; calls slow.c, debug/pages/pages.c.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "cache/instrument/instrument.h"
#include "debug/pages/pages.h"
#include "malloc/hot.h"
#include "os/instrument/memcheck.h"
#include "page/nested.h"

static void *no_memory(void)
{
	errno = ENOMEM;
	return NULL;
}

/*
 * Clears all usable bytes, so that a realloc() in place adds only bytes that calloc() has cleared.
 * Memory checkers know only of the bytes asked for.
 */
static void *clear(void *p, size_t bytes, size_t usable)
{
	return memset(p, 0, unlikely(os_memcheck_on) ? bytes : MAX(bytes, usable));
}

USLAB_API void *calloc(size_t n, size_t size)
{
	bool zeroed;
	size_t bytes;
	void *p;

	if (unlikely(__builtin_mul_overflow(n, size, &bytes)))
		return no_memory();
	if (likely(malloc_hot_alloc(bytes, &p)))
		return clear(p, bytes, malloc_class_size(malloc_class_of(bytes)));
	p = malloc_any(bytes, &zeroed, MALLOC_CALLER);
	if (unlikely(!p))
		return no_memory();
	/* new pages are zero, and not resident until they are written to */
	return zeroed ? p : clear(p, bytes, malloc_block_size(p));
}

/*
 * May a block of old bytes stay in place for size bytes? One class of slack on shrinking saves a
 * copy and keeps the waste below a quarter. Page runs are resized page by page, elsewhere.
 */
static bool may_stay(size_t old, size_t size)
{
	if (size > old || old > MALLOC_MAX_SMALL)
		return false;
	return malloc_class_of(size) + 1 >= malloc_class_of(old);
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

static void *move(void *p, size_t old, size_t size, const void *caller)
{
	void *moved = copy_of(p, old, size, caller);

	if (unlikely(!moved))
		return size <= old ? p : NULL;
	if (unlikely(!malloc_hot_free(p)))
		free_slow(p, caller);
	return moved;
}

/*
 * In place, or by moving its mapping. NULL: not possible. With U the caller is stored as its user.
 */
static void *resize_run(void *p, size_t size, const void *caller)
{
	void *resized;

	malloc_poll_mailbox(); /* a program may only resize for long */
	instrument_enter();
	resized = pages_resize(p, size, caller);
	instrument_leave();
	return resized;
}

/* p is a block of old bytes, size is not 0. */
static void *resize(void *p, size_t old, size_t size, const void *caller)
{
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
	if (old > MALLOC_MAX_SMALL && size > MALLOC_MAX_SMALL && size <= PTRDIFF_MAX) {
		resized = resize_run(p, size, caller);
		if (resized)
			return resized;
	}
	return move(p, old, size, caller);
}

/* p is not NULL, size is not 0. */
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

static void *malloc_for(size_t size, const void *caller)
{
	void *p;

	return likely(malloc_hot_alloc(size, &p)) ? p : malloc_slow(size, caller);
}

static always_inline void *realloc_for(const struct cache_call *call, void *p, size_t size,
				       const void *caller)
{
	if (!p)
		return malloc_for(size, caller);
	if (size)
		return realloc_block(call, p, size, caller);
	malloc_free_as(call, p, caller); /* as glibc */
	return NULL;
}

USLAB_API void *realloc(void *p, size_t size)
{
	static const struct cache_call call = { "realloc", FIX_NOT_RESIZED };

	return realloc_for(&call, p, size, MALLOC_CALLER);
}

USLAB_API void *reallocarray(void *p, size_t n, size_t size)
{
	static const struct cache_call call = { "reallocarray", FIX_NOT_RESIZED };
	size_t bytes;

	if (unlikely(__builtin_mul_overflow(n, size, &bytes)))
		return no_memory();
	return realloc_for(&call, p, bytes, MALLOC_CALLER);
}

/* Usable bytes; 0 for NULL, for a pointer to no block, and for one that is known to be free. */
USLAB_API size_t malloc_usable_size(void *p)
{
	size_t size = p ? malloc_block_size(p) : 0;

	return size && malloc_ready() && unlikely(cache_is_free(p)) ? 0 : size;
}
