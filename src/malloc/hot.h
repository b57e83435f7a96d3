/* SPDX-License-Identifier: MIT */
/*
 * malloc/hot.h - the hit paths of malloc and free, inline
 *
 * Why:        docs/adr/0020.
 * Data:       malloc_hot (malloc/internal.h), the table of window 0, the page class bytes.
 * Invariants: a hit changes one per-CPU word, one entry of the array that it points at, and the
 *             mark of the object (base/mark.h).
 * Locks:      none, see arch/malloc_rseq.h.
 * Flow:       used by cxx.c, malloc.c, resize.c and slow.c.
 *
 * 17 and 27 instructions on x86-64 (tests/tools/hitpath_test.py): the rare cases cost none, because
 * the tests of a hit cover them. Size 0 is entry 0 of the table; class 0 (no cache, e.g. a page
 * run) has no magic, every stopped array has a word that misses; NULL and foreign pointers lie
 * beyond page_limit. 8 of the 27 find mistakes.
 */
#ifndef MALLOC_HOT_H
#define MALLOC_HOT_H

#include "arch/malloc_rseq.h"
#include "malloc/internal.h"

/* An object for size bytes, a size of the table, or false; after a check of size_limit. */
static always_inline bool malloc_hot_pop(size_t size, void **result)
{
	const unsigned char *table;
	char *base;

	/*
	 * Acquire, pairs with the release of size_limit in malloc_init(). A compiler barrier is
	 * enough: CPUs that reorder loads have no hit path (arch/generic always misses).
	 */
	__atomic_signal_fence(__ATOMIC_ACQUIRE);
	base = malloc_hot.base;
	table = (const unsigned char *)base + USLAB_WINDOWS_OFFSET + USLAB_WINDOW_TABLES;
	return arch_malloc_pop(base, &table[size], malloc_hot.rseq, result);
}

/* An object for size bytes, or false. */
static always_inline bool malloc_hot_alloc(size_t size, void **result)
{
	return likely(size < malloc_hot.size_limit) && malloc_hot_pop(size, result);
}

static always_inline bool malloc_hot_free(void *p)
{
	char *base = malloc_hot.base;
	unsigned long index = (unsigned long)((char *)p - base) >> PAGE_SHIFT;
	const unsigned char *classes;

	if (unlikely(index >= malloc_hot.page_limit))
		return false;
	classes = (const unsigned char *)base + USLAB_CLASSES_OFFSET;
	return arch_malloc_push(base, classes[index], malloc_hot.rseq, p);
}

/* A free for another function, see free_slow_as(). */
static always_inline void malloc_free_as(const struct cache_call *call, void *p, const void *caller)
{
	if (unlikely(!malloc_hot_free(p)))
		free_slow_as(call, p, caller);
}

#endif /* MALLOC_HOT_H */
