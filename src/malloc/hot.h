/* SPDX-License-Identifier: MIT */
/*
 * malloc/hot.h - the hit paths of malloc and free, inline, and parts of those of their kin
 *
 * Why:        docs/adr/0020, docs/adr/0035.
 * Data:       malloc_hot and malloc_shape (malloc/internal.h), the table of window 0, the page
 *             class bytes.
 * Invariants: a hit changes one per-CPU word, one entry of the array that it points at, and the
 *             mark of the object (base/mark.h).
 * Locks:      none, see arch/malloc_rseq.h.
 * Flow:       used by align.c, cxx.c, direct.c, malloc.c, resize.c and slow.c.
 *
 * 17 and 27 instructions on x86-64 (tests/tools/hitpath_test.py): the rare cases cost none, because
 * the tests of a hit cover them. Size 0 is entry 0 of the table; class 0 (no cache, e.g. a page
 * run) has no magic, every stopped array has a word that misses; NULL and foreign pointers lie
 * beyond page_limit. 8 of the 27 find mistakes.
 */
#ifndef MALLOC_HOT_H
#define MALLOC_HOT_H

#include "arch/malloc_rseq.h"
#include "base/mark.h"
#include "cache/group/group.h"
#include "malloc/internal.h"

/*
 * The arena's base, after a check of size_limit. Acquire, pairs with the release of size_limit in
 * malloc_init(). A compiler barrier is enough: CPUs that reorder loads have no hit path
 * (arch/generic always misses).
 */
static always_inline char *malloc_hot_base(void)
{
	__atomic_signal_fence(__ATOMIC_ACQUIRE);
	return malloc_hot.base;
}

/* The class of each size up to MALLOC_MAX_TABLE. */
static always_inline const unsigned char *malloc_hot_table(const char *base)
{
	return (const unsigned char *)base + USLAB_WINDOWS_OFFSET + USLAB_WINDOW_TABLES;
}

/* An object for size bytes, a size of the table, or false; after a check of size_limit. */
static always_inline bool malloc_hot_pop(size_t size, void **result)
{
	char *base = malloc_hot_base();

	return arch_malloc_pop(base, &malloc_hot_table(base)[size], malloc_hot.rseq, result);
}

/*
 * The hit of a thread while others, or itself, are in groups: an object of the cache that its group
 * has for the class, or of the class's own cache if it is in none (cache/group/own.h). The numbers
 * are zero where that is not known: cache 0 has no objects.
 */
static always_inline bool malloc_hot_group(size_t size, void **result)
{
	char *base;

	if (unlikely(size >= malloc_hot.group_limit))
		return false;
	base = malloc_hot_base();
	return arch_malloc_pop(base, &group_numbers[malloc_hot_table(base)[size]], malloc_hot.rseq,
			       result);
}

/* An object for size bytes, or false. */
static always_inline bool malloc_hot_alloc(size_t size, void **result)
{
	return likely(size < malloc_hot.size_limit) && malloc_hot_pop(size, result);
}

/*
 * Likewise, aligned to align, a power of two. Classes that are aligned to it have sizes that are
 * multiples of it, so that the smallest of them is that of the size rounded up, if any: see
 * malloc_class_aligned().
 */
static always_inline bool malloc_hot_aligned(size_t align, size_t size, void **result)
{
	size_t rounded = ALIGN_UP(size, align);
	char *base;

	if (unlikely(size >= malloc_hot.size_limit) || unlikely(rounded >= malloc_hot.size_limit))
		return false;
	base = malloc_hot_base();
	if (unlikely(malloc_shape[malloc_hot_table(base)[rounded]].align < align))
		return false;
	return arch_malloc_pop(base, &malloc_hot_table(base)[rounded], malloc_hot.rseq, result);
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

static always_inline const uint64_t *malloc_hot_masks(const char *base)
{
	return (const uint64_t *)(base + USLAB_WINDOWS_OFFSET + USLAB_WINDOW_MASKS);
}

/*
 * The class of the block that starts at p, by what malloc_hot_free() looks at. false: not known, or
 * p bears the mark of a free object.
 */
static always_inline bool malloc_hot_class(const char *base, const void *p, unsigned int *class)
{
	const uint64_t *magics =
		(const uint64_t *)(base + USLAB_WINDOWS_OFFSET + USLAB_WINDOW_MAGICS);
	unsigned long index = (unsigned long)((const char *)p - base) >> PAGE_SHIFT;
	uint64_t magic;

	if (unlikely(index >= malloc_hot.page_limit))
		return false;
	*class = ((const unsigned char *)base + USLAB_CLASSES_OFFSET)[index];
	magic = magics[*class];
	return likely(((uintptr_t)p & malloc_hot_masks(base)[*class]) * magic < magic) &&
	       likely(!mark_is_set(p, USLAB_MARK_OFFSET));
}

/* Does the slab of p, of that class, have so many bytes from there on? */
static always_inline bool malloc_hot_has(const char *base, const void *p, unsigned int class,
					 size_t bytes)
{
	uint64_t mask = malloc_hot_masks(base)[class];

	return ((uintptr_t)p & mask) + bytes <= mask + 1;
}

/* A free for another function, see free_slow_as(). */
static always_inline void malloc_free_as(const struct cache_call *call, void *p)
{
	if (unlikely(!malloc_hot_free(p)))
		free_slow_as(call, p, MALLOC_CALLER);
}

#endif /* MALLOC_HOT_H */
