/* SPDX-License-Identifier: MIT */
/*
 * malloc/malloc.c - malloc and free: a hit, or a jump to the slow path
 *
 * Data:       none.
 * Invariants: no stack frame in any function here (tests/tools/hitpath_test.py).
 * Locks:      none.
 * Flow:       called by the program, direct.c and ready.c; calls slow.c.
 *
 * Safe in a signal handler: a miss takes locks, but not one that its own
 * thread holds (page/nested.h).
 *
 * The library is loaded at the start of the program, by LD_PRELOAD or linked. dlopen() is not
 * supported: free() would get blocks of the malloc before it, and report each.
 */
#include <stdlib.h>

#include "malloc/hot.h"
#include "os/instrument/valgrind.h"
#include <uslab/slab.h>

MALLOC_HIT void *malloc(size_t size)
{
	void *p;

	if (likely(malloc_hot_alloc(size, &p)))
		return p;
	return malloc_slow(size, MALLOC_CALLER);
}

MALLOC_HIT void free(void *p)
{
	if (likely(malloc_hot_free(p)))
		return;
	free_slow(p, MALLOC_CALLER);
}

/* valgrind puts its own function there, and knows none of the other names. */
static void (*const volatile replaced_free)(void *) = free;

static void free_as(const struct cache_call *call, void *p)
{
	if (RUNNING_ON_VALGRIND)
		replaced_free(p);
	else
		malloc_free_as(call, p);
}

/* C23: the caller passes the size, which is not needed here. */
USLAB_API void free_sized(void *p, size_t size);
USLAB_API void free_sized(void *p, size_t size)
{
	static const struct cache_call call = { "free_sized", FIX_NOT_FREED };

	(void)size;
	free_as(&call, p);
}

USLAB_API void free_aligned_sized(void *p, size_t align, size_t size);
USLAB_API void free_aligned_sized(void *p, size_t align, size_t size)
{
	static const struct cache_call call = { "free_aligned_sized", FIX_NOT_FREED };

	(void)align;
	(void)size;
	free_as(&call, p);
}
