/* SPDX-License-Identifier: MIT */
/*
 * page/meta.h - blocks for the allocator's own data, so that no cache ever needs a cache
 *
 * Data:       bump pointer in mapped chunks of 256 KiB, and one for each lane of CPUs in a block of
 *             4 KiB; free lists by power of two from 16 bytes; beyond 64 KiB each block is a
 *             mapping of its own, kept and purged when freed.
 * Invariants: blocks are zero-filled and aligned to their power of two, at most 4096; memory is
 *             never unmapped: a stale pointer into it (lock-free readers, tools) never faults.
 *             Checked by meta_check().
 * Locks:      RANK_META.
 * Flow:       called by every floor; calls os/memory/.
 */
#ifndef PAGE_META_H
#define PAGE_META_H

#include "page/page.h"

struct lock;

struct meta_counters {
	unsigned long mapped; /* bytes */
	unsigned long used;   /* bytes in blocks handed out, rounded up to powers of two */
};

#define META_RANGES 128

/* Neighbouring mappings are one range. */
struct meta_range {
	char *start; /* NULL: none */
	size_t size;
};

/* Written under the lock; read by tools from outside. What is in no range is more than fit in. */
extern struct meta_counters meta_counters;
extern struct meta_range meta_ranges[META_RANGES];

/* size bytes, zero-filled; NULL: out of memory. More than 64 KiB is mapped on its own. */
void *meta_alloc(size_t size);
/*
 * Likewise, at most 64 KiB, and what is less than 4 KiB beside others of this CPU, not of other
 * ones, unless there is a block that was freed: for what CPUs write to all the time.
 */
void *meta_alloc_apart(size_t size);
/*
 * Maps size bytes, a multiple of 64 KiB, that the next blocks come from. Their start, for the
 * caller to make them resident; NULL: out of memory.
 */
void *meta_prepare(size_t size);
/* size as given to meta_alloc(). NULL is ignored. */
void meta_free(void *p, size_t size);

/* Bytes mapped for metadata. */
size_t meta_bytes(void);

void meta_each_lock(void (*act)(struct lock *l));

void meta_check(void);

#endif /* PAGE_META_H */
