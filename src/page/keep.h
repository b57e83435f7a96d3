/* SPDX-License-Identifier: MIT */
/*
 * page/keep.h - mappings of freed large blocks that wait a moment for the next one
 *
 * Data:       a few ranges, oldest first.
 * Invariants: at most KEEP_COUNT ranges of at most KEEP_MAX_BLOCK bytes each, keep_counters.bytes
 *             in all, no more than the limit. They belong to nobody. Checked by keep_check().
 * Locks:      keep_lock (RANK_LARGE); not held over system calls.
 * Flow:       called by page/large.c (put, take) and page/purge.c (release); calls os/vm.c.
 *
 * A program that needs 8 MiB again and again would pay a page fault for every 4 KiB each time: here
 * 3.5 ms instead of 0.2. What is kept was in use a moment ago, so it does not raise the peak; it
 * counts like dirty free pages (buddy_set_purge()), and goes before those.
 */
#ifndef PAGE_KEEP_H
#define PAGE_KEEP_H

#include "page/page.h"

#define KEEP_COUNT 8
#define KEEP_MAX_BLOCK (32ul << 20)
#define KEEP_MAX_BYTES (64ul << 20)

struct keep_counters {
	unsigned long count; /* ranges kept; atomic */
	unsigned long bytes; /* in them; atomic */
};

/* Read by tools from outside. */
extern struct keep_counters keep_counters;

/* Takes a range over, which may push older ones out. false: the caller releases it. */
bool keep_put(void *p, size_t size);

/* A range of exactly size bytes, aligned to align, with any contents; or NULL. */
void *keep_take(size_t size, size_t align);

/* Gives ranges back to the system, oldest first, until bytes are reached. Returns how many went. */
size_t keep_release(size_t bytes);
/* Gives back what has been here for delay_ms or longer. */
void keep_release_old(uint32_t delay_ms);

/* Nothing more than this is kept from now on (and no more than KEEP_MAX_BYTES). */
void keep_set_limit(size_t bytes);

void keep_fork_prepare(void);
void keep_fork_parent(void);
void keep_fork_child(void);

void keep_check(void);

#endif /* PAGE_KEEP_H */
