/* SPDX-License-Identifier: MIT */
/*
 * page/used.h - which objects are live: one bit for each address of the arena where one may start
 *
 * Why:        docs/adr/0020.
 * Data:       page_map.used, 64 bytes for each page of the arena; NULL: not
 *             kept (arena_keep_used()).
 * Invariants: if kept, the bit of an object of a cache is set from its allocation to its free. No
 *             other bit is set.
 * Locks:      none: bits are changed by atomic instructions. Of two threads that free the same
 *             object, one finds the bit set.
 * Flow:       used by arena.c, cache/ and inspect/memory_own.c; the memory is committed by arena.c,
 *             with the descriptors.
 *
 * Unlike a mark in the object (base/mark.h) nothing that a program writes to
 * its objects changes a bit.
 */
#ifndef PAGE_USED_H
#define PAGE_USED_H

#include "page/page.h"

#define USED_STEP 8ul /* bytes: the least distance between the starts of two objects */
#define USED_BYTES (PAGE_SIZE / USED_STEP / 8) /* for each page */

static inline bool used_are_kept(void)
{
	return page_map.used;
}

static inline unsigned long *used_word(const void *p, unsigned long *bit)
{
	unsigned long index = (unsigned long)((const char *)p - page_map.base) / USED_STEP;

	*bit = 1ul << index % 64;
	return &page_map.used[index / 64];
}

/* Does a live object start at p, an address in the arena? */
static inline bool used_is_set(const void *p)
{
	unsigned long bit;
	const unsigned long *word = used_word(p, &bit);

	return !((uintptr_t)p % USED_STEP) && __atomic_load_n(word, __ATOMIC_RELAXED) & bit;
}

/* Both return the old value. Relaxed: the program orders accesses to an object by other means. */
static inline bool used_set(const void *p)
{
	unsigned long bit;
	unsigned long *word = used_word(p, &bit);

	return __atomic_fetch_or(word, bit, __ATOMIC_RELAXED) & bit;
}

static inline bool used_clear(const void *p)
{
	unsigned long bit;
	unsigned long *word = used_word(p, &bit);

	return __atomic_fetch_and(word, ~bit, __ATOMIC_RELAXED) & bit;
}

#endif /* PAGE_USED_H */
