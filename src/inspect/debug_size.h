/* SPDX-License-Identifier: MIT */
/*
 * inspect/debug_size.h - the memory that debug flags may take of a process, before they are
 * switched on
 *
 * Data:       struct snapshot of the caller, whose reader can still read.
 * Invariants: layouts are the library's own: those that the process has made, or what
 *             debug/layout.c makes of the numbers of its caches.
 * Locks:      none.
 * Flow:       used by debug_size.c and tools/uslab/command/need.h; calls snapshot_read().
 */
#ifndef INSPECT_DEBUG_SIZE_H
#define INSPECT_DEBUG_SIZE_H

#include "inspect/snapshot.h"

/*
 * The layout of new debug slabs of cache number index with exactly these debug flags; of its
 * members stride, order and objects are valid. false: there are no such slabs, or it cannot be
 * told.
 */
bool debug_size_layout(struct snapshot *s, unsigned int index, slab_flags_t flags,
		       struct slab_layout *layout);

struct debug_size {
	uint64_t bytes;	       /* 0: these debug flags take none */
	unsigned long objects; /* that may take them */
	uint64_t freed;	       /* of the bytes, what freed blocks of whole pages may take */
	int heap; /* index of the row of the heap whose blocks these are; -1: of none */
};

/*
 * What row number index may take more if it gets exactly these debug flags. Objects that there are
 * keep their slabs, where others may lie as well that stay for long, while as many new ones come to
 * debug slabs, with F and T alone too: those of all objects count, less nothing. Objects in debug
 * slabs of this very layout do not, which are there where these flags were on before. Flags that
 * change no layout take nothing. Call stacks (U) do not count: they are shared, and at most
 * DEBUG_SIZE_STACKS of all caches together. Blocks of a heap belong to no cache: each cache over it
 * may get all of them.
 */
struct debug_size debug_size_more(struct snapshot *s, unsigned int index, slab_flags_t flags);
#define DEBUG_SIZE_STACKS (64ul << 20)

/* What the debug flags that a cache has may still take, in bytes: objects that are not replaced. */
uint64_t debug_size_pending(struct snapshot *s, unsigned int index);

/* What it may take more where these flags leave it without debug slabs, in bytes. */
uint64_t debug_size_back(struct snapshot *s, unsigned int index, slab_flags_t flags);

#endif /* INSPECT_DEBUG_SIZE_H */
