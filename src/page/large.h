/* SPDX-License-Identifier: MIT */
/*
 * page/large.h - blocks too large for the arena, each a mapping of its own
 *
 * Why:        docs/adr/0001.
 * Data:       open-addressed hash table from start address to size, grown by os_map().
 * Invariants: every live block is in the table once; load factor at most 1/2. large_check().
 * Locks:      RANK_LARGE around the table; never held over mmap/mremap of the blocks themselves
 *             (mremap that moves: the entry is hidden before and replaced after).
 * Flow:       called by run.c, keep.c, cache/ and malloc/info.c; calls keep.c, os/memory/.
 */
#ifndef PAGE_LARGE_H
#define PAGE_LARGE_H

#include "page/ext.h"

struct lock;

struct large_counters {
	unsigned long count; /* live blocks; atomic */
	unsigned long bytes; /* that they map; atomic */
};

#define LARGE_MOVING 1ul /* in size, which is a multiple of the page size: being resized */

/* As large as a power of two, since a page is divided into slots. */
struct large_block {
	uintptr_t addr; /* 0: empty slot */
	size_t size;	/* bytes, or'ed with LARGE_MOVING */
	/* see large_exchange_note(); 0: none */
	struct large_notes {
		uint32_t of[PAGE_EXT_KINDS];
	} notes;
	uint64_t unused;
};

/* Read by tools from outside; the table and its slots are large_lock's. */
extern struct large_counters large_counters;
extern struct large_block *large_blocks;
extern unsigned long large_slots;

/* *zeroed (may be NULL): all bytes are zero; else the block is a freed one's mapping. */
void *large_alloc(size_t size, size_t align, bool *zeroed);
/*
 * Mapped bytes; 0 when p starts no large block, or (os/lock/lock.h) the caller is inside of a call
 * that changes the table just now.
 */
size_t large_size(const void *p);
/*
 * Mapped bytes of the live block that p lies in, also not at its start; 0: none, or as
 * above. Looks at all of them.
 */
size_t large_size_around(const void *p);
/*
 * Each block has a number of each kind for the callers' use, 0 at first: stores another one, and
 * says what was there. Returns mapped bytes; 0: p starts no large block, and nothing was done.
 */
size_t large_exchange_note(const void *p, enum page_ext kind, uint32_t note, uint32_t *old);
bool large_free(void *p);
/* The same; its pages go back to the system at once. */
bool large_discard(void *p);
void *large_resize(void *p, size_t new_size, bool may_move);

/* Count of live blocks and their bytes (atomics, exact when quiet). */
unsigned long large_count(void);
unsigned long large_bytes(void);

void large_each_lock(void (*act)(struct lock *l));
/* In a child of fork(), with these locks held: counts what is there, not what others were at. */
void large_forked(void);

void large_check(void);

#endif /* PAGE_LARGE_H */
