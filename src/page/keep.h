/* SPDX-License-Identifier: MIT */
/*
 * page/keep.h - mappings of freed large blocks, kept for a while for the next ones
 *
 * Why:        docs/adr/0007, docs/adr/0028, docs/adr/0033.
 * Data:       free ranges, dirty (what a block left) or clean (addresses only), by address.
 * Invariants: at most KEEP_COUNT ranges that do not overlap; neighbours of one kind are one range;
 *             keep_counters.bytes in the dirty ones. Checked by keep_check().
 * Locks:      keep_lock (RANK_LARGE); not held over system calls.
 * Flow:       called by page/large.c (put, take, fill), page/purge.c (release, purge) and
 *             page/buddy.c (release); calls large.c for its count, os/memory/.
 *
 * A program that needs 8 MiB again and again would pay a page fault for every 4 KiB each time: here
 * 3.5 ms instead of 0.2. What is kept was in use a moment ago, so it does not raise the peak; it
 * counts like dirty free pages (buddy_set_purge()), and goes before those.
 *
 * A block takes the front of neighbouring ranges, and what is left of them is kept. The addresses
 * of a purged range are kept for a while: so neighbouring ranges merge again, and blocks of all
 * sizes find space. Where a block has no pages, those of other ranges move there, whole units of
 * them: so a block needs new pages only when all that are kept are in use.
 *
 * Programs that soon need again what was purged may keep more, see zone_dirty_limit(): bytes that
 * are taken within about KEEP_HALF_LIFE after as many were purged count as refaults. The count
 * halves with time while no dirty range is taken, and has no effect below KEEP_MIN_REFAULTS.
 */
#ifndef PAGE_KEEP_H
#define PAGE_KEEP_H

#include "page/page.h"

struct lock;

#define KEEP_COUNT 256
#define KEEP_MAX_BLOCK (32ul << 20)  /* or as much as there were refaults */
#define KEEP_MAX_BYTES (64ul << 20)  /* dirty; and as much as there were refaults */
#define KEEP_MAX_CLEAN (256ul << 20) /* addresses only */
#define KEEP_HALF_LIFE 512	     /* ms */
#define KEEP_MIN_REFAULTS (16ul << 20)
#define KEEP_MAX_REFAULTS (1ul << 30)
#define KEEP_BIG_UNIT (2ul << 20) /* what moves at once, where there is one: a huge page */
#define KEEP_UNIT (512ul << 10)	  /* else */
#define KEEP_HOLES 8
#define KEEP_MAX_MOVED (8ul << 30) /* no moves where large blocks have more */

struct keep_counters {
	unsigned long count; /* ranges; atomic */
	unsigned long bytes; /* in dirty ones; atomic */
};

struct keep_range {
	char *start;
	size_t size;
	uint64_t since; /* os_clock_ms() */
	bool dirty;
};

/* Read by tools from outside; the ranges, keep_counters.count of them, are keep_lock's. */
extern struct keep_counters keep_counters;
extern struct keep_range keep_ranges[KEEP_COUNT];

/* Bytes that were purged and taken again soon after; atomic. */
extern size_t keep_refaults;

/* In dirty ranges that are being given back, and count no more as kept; atomic. */
extern size_t keep_leaving;

/* Keeps a range, and may unmap older ones for it. false: the caller unmaps it. */
bool keep_put(void *p, size_t size);

/*
 * A range of exactly size bytes, aligned to align, or NULL. *zeroed: all
 * zero; else with any contents.
 */
void *keep_take(size_t size, size_t align, bool *zeroed);

#define KEEP_GONE SIZE_MAX
/*
 * For a new mapping, where keep_take() had none: moves pages of dirty ranges to it. Returns how
 * many bytes; 0: it is all zero still. KEEP_GONE: so is the mapping, since the system unmapped a
 * part of it and gave nothing for that (OS_MOVE_LOST); no pages move any more.
 */
size_t keep_fill(void *p, size_t size);

/*
 * Gives dirty ranges back to the system, oldest first, until bytes are reached; SIZE_MAX: all, and
 * clean ones too. Returns how many went.
 */
size_t keep_release(size_t bytes);
/* Gives back what has been here for delay_ms or longer. */
void keep_release_old(uint32_t delay_ms);
/*
 * Purges dirty ranges that are above the limit: the lowest first. The system puts new mappings
 * below others, so the higher ranges lie among more neighbours and serve more blocks.
 */
void keep_purge(size_t bytes);

/* At most this much is kept from now on. */
void keep_set_limit(size_t bytes);

void keep_each_lock(void (*act)(struct lock *l));

void keep_check(void);

#endif /* PAGE_KEEP_H */
