/* SPDX-License-Identifier: MIT */
/*
 * base/chunk.h - clears and copies a few chunks of 16 bytes inline, where a call would cost more
 *
 * Data:       none.
 * Invariants: all pointers are multiples of 16, and at least one chunk is written.
 * Locks:      none; whoever has the memory.
 * Flow:       used by malloc/resize.c.
 */
#ifndef BASE_CHUNK_H
#define BASE_CHUNK_H

#include "base/compiler.h"

#define CHUNK_SIZE 16ul

typedef uint64_t chunk __attribute__((vector_size(16), may_alias));

/* Else the compiler would make a call of memset() or memcpy() of the loop. */
static always_inline void chunk_done(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* bytes, rounded up to whole chunks. */
static always_inline void chunk_clear(void *p, size_t bytes)
{
	size_t i = 0;

	do {
		*(chunk *)((char *)p + i) = (chunk){ 0 };
		chunk_done();
		i += CHUNK_SIZE;
	} while (i < bytes);
}

/* bytes, rounded up to whole chunks, between blocks that do not overlap. */
static always_inline void chunk_copy(void *to, const void *from, size_t bytes)
{
	size_t i = 0;

	do {
		*(chunk *)((char *)to + i) = *(const chunk *)((const char *)from + i);
		chunk_done();
		i += CHUNK_SIZE;
	} while (i < bytes);
}

#endif /* BASE_CHUNK_H */
