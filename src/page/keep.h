/* SPDX-License-Identifier: MIT */
/*
 * page/keep.h - mappings of freed large blocks that wait a moment for the next one
 *
 * Why:        docs/adr/0007, docs/adr/0028.
 * Data:       free ranges, dirty (what a block left) or clean (addresses only), by address.
 * Invariants: at most KEEP_COUNT ranges that do not overlap; neighbours of one kind are one range;
 *             keep_counters.bytes in the dirty ones, no more than the limit. They belong to nobody.
 *             Checked by keep_check().
 * Locks:      keep_lock (RANK_LARGE); not held over system calls.
 * Flow:       called by page/large.c (put, take), page/purge.c (release, purge) and page/buddy.c
 *             (release); calls os/memory/vm.c.
 *
 * A program that needs 8 MiB again and again would pay a page fault for every 4 KiB each time: here
 * 3.5 ms instead of 0.2. What is kept was in use a moment ago, so it does not raise the peak; it
 * counts like dirty free pages (buddy_set_purge()), and goes before those.
 *
 * A block takes the front of neighbouring ranges, and what is left of them waits for the next one.
 * What is purged keeps its addresses for a while: so ranges grow together again, and blocks of all
 * sizes in turn find room.
 *
 * Programs that have shown to need what was purged may keep more, see zone_dirty_limit(): what is
 * asked for within about KEEP_HALF_LIFE after as many bytes were purged is regretted. Regret fades
 * while no range finds a taker, and has no consequence below KEEP_MIN_REGRET.
 */
#ifndef PAGE_KEEP_H
#define PAGE_KEEP_H

#include "page/page.h"

#define KEEP_COUNT 256
#define KEEP_MAX_BLOCK (32ul << 20)
#define KEEP_MAX_BYTES (64ul << 20)  /* dirty */
#define KEEP_MAX_CLEAN (256ul << 20) /* addresses only */
#define KEEP_HALF_LIFE 512	     /* ms */
#define KEEP_MIN_REGRET (16ul << 20)

struct keep_counters {
	unsigned long count; /* ranges; atomic */
	unsigned long bytes; /* in dirty ones; atomic */
};

/* Read by tools from outside. */
extern struct keep_counters keep_counters;

/* Bytes that were purged and asked for soon after; atomic. */
extern size_t keep_regret;

/* Takes a range over, which may push older ones out. false: the caller releases it. */
bool keep_put(void *p, size_t size);

/*
 * A range of exactly size bytes, aligned to align, or NULL. *zeroed: all
 * zero; else with any contents.
 */
void *keep_take(size_t size, size_t align, bool *zeroed);

/*
 * Gives dirty ranges back to the system, oldest first, until bytes are reached; SIZE_MAX: all, and
 * clean ones too. Returns how many went.
 */
size_t keep_release(size_t bytes);
/* Gives back what has been here for delay_ms or longer. */
void keep_release_old(uint32_t delay_ms);
/*
 * Purges dirty ranges because they are too much: the lowest first, for the system puts new mappings
 * below others, so that blocks find most where most of them are.
 */
void keep_purge(size_t bytes);

/* Nothing more than this is kept from now on (and no more than KEEP_MAX_BYTES). */
void keep_set_limit(size_t bytes);

void keep_fork_prepare(void);
void keep_fork_parent(void);
void keep_fork_child(void);

void keep_check(void);

#endif /* PAGE_KEEP_H */
