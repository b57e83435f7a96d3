/* SPDX-License-Identifier: MIT */
/*
 * unit/page/chunks.h - chunks that are full of blocks, and empty again
 */
#ifndef UNIT_PAGE_CHUNKS_H
#define UNIT_PAGE_CHUNKS_H

#include "fixture.h"

/* Blocks of order 5 until so many chunks are full of them. */
static inline void fill(unsigned long chunks)
{
	for (unsigned long i = 0; i < chunks * CHUNK / 32; i++)
		CHILD_CHECK(take(5) == (long)(i * 32));
}

/* Those from one page up to another, and those of some chunks. */
static inline void empty_pages(unsigned long from, unsigned long to)
{
	for (unsigned long i = from; i < to; i += 32)
		give(i, 5);
}

static inline void empty(unsigned long from, unsigned long to)
{
	empty_pages(from * CHUNK, to * CHUNK);
}

#endif /* UNIT_PAGE_CHUNKS_H */
