/* SPDX-License-Identifier: MIT */
/*
 * base/mark.h - the mark of a free object: the low half of its own address, somewhere in it
 *
 * Why:        docs/adr/0020.
 * Data:       4 bytes of each free object, at an offset that belongs to its cache.
 * Invariants: whoever hands an object out clears its mark, and whoever takes it back sets it. A
 *             mark that is set is a suspicion, never a proof: those bytes are the program's
 *             while it has the object.
 * Locks:      none; whoever has the object. Relaxed atomics, since a program that frees an
 *             object twice has two owners.
 * Flow:       used by arch/x86_64/malloc_rseq.h, cache/mark.c, cache/object.h and
 *             malloc/hot.h.
 *
 * As the upper half of an aligned word: there a pointer has its high bits, so that no pointer of a
 * program, not even one to the object itself, looks like a mark. Other values do one time in 2^32.
 */
#ifndef BASE_MARK_H
#define BASE_MARK_H

#include "base/atomic.h"
#include "base/compiler.h"

static always_inline uint32_t *mark_of(const void *obj, unsigned int offset)
{
	return (uint32_t *)((char *)(uintptr_t)obj + offset);
}

static always_inline bool mark_is_set(const void *obj, unsigned int offset)
{
	return load_relaxed(mark_of(obj, offset)) == (uint32_t)(uintptr_t)obj;
}

static always_inline void mark_set(void *obj, unsigned int offset)
{
	store_relaxed(mark_of(obj, offset), (uint32_t)(uintptr_t)obj);
}

static always_inline void mark_clear(void *obj, unsigned int offset)
{
	store_relaxed(mark_of(obj, offset), 0u);
}

#endif /* BASE_MARK_H */
