/* SPDX-License-Identifier: MIT */
/*
 * page/reserve.h - memory without locks, for calls that must not wait for one
 *
 * Why:        docs/adr/0018.
 * Data:       a range of addresses that is reserved at first use, with one part for each power of
 *             two from 64 bytes to 64 KiB, and a table of mappings for what is larger.
 * Invariants: see reserve.c. Checked by reserve_check().
 * Locks:      none: every step is one atomic exchange. Safe in a signal handler,
 *             whatever that interrupted.
 * Flow:       called by nested.c, cache/debug/misuse.c, cache/grace/, debug/report/report_policy.c,
 *             malloc/align.c and malloc/slow.c; calls os/memory/.
 *
 * It is for few blocks at a time: those that nested calls ask for. A block has the size of the next
 * power of two. Freed blocks of a page or more give their memory back at once.
 */
#ifndef PAGE_RESERVE_H
#define PAGE_RESERVE_H

#include "base/compiler.h"

#define RESERVE_MIN_SHIFT 6
#define RESERVE_MAX_SHIFT 16
#define RESERVE_PART (1ul << 20) /* bytes for each size */
#define RESERVE_PARTS (RESERVE_MAX_SHIFT - RESERVE_MIN_SHIFT + 1u)
#define RESERVE_RANGE (RESERVE_PARTS * RESERVE_PART)
#define RESERVE_MAX_MAPPED 128u /* blocks larger than 1 << RESERVE_MAX_SHIFT */

/* Atomic; read by tools from outside. */
struct reserve_counters {
	unsigned long blocks;  /* that are allocated, records of deferred frees as well */
	unsigned long served;  /* allocated since the start */
	unsigned long failed;  /* calls that found none free */
	unsigned long lost;    /* frees that could not be deferred (page/nested.h) */
	unsigned long waiting; /* frees that are deferred */
};
extern struct reserve_counters reserve_counters;
/* Where the range begins, of RESERVE_RANGE bytes; 0: not reserved yet. Atomic; likewise read. */
extern uintptr_t reserve_base;

/*
 * Aligned to align, a power of two. NULL: no memory, or all blocks of that size and larger are
 * allocated.
 */
void *reserve_alloc(size_t size, size_t align);
/* Bytes of the allocated block that starts at p; 0: there is none. */
size_t reserve_size(const void *p);
/* Does p lie in the reserve, allocated or not? Mapped blocks: only while they are mapped. */
bool reserve_owns(const void *p);
/* false: no allocated block starts at p. */
bool reserve_free(void *p);
/* Blocks that are allocated. */
unsigned long reserve_count(void);

/* Asserts that counters, bits and table agree; nothing may be allocated or freed meanwhile. */
void reserve_check(void);

#endif /* PAGE_RESERVE_H */
