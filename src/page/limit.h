/* SPDX-License-Identifier: MIT */
/*
 * page/limit.h - how much memory the process may have from this library
 *
 * Why:        docs/adr/0063.
 * Data:       limit_counters: the limit, and the mark at which memory is to be reclaimed ahead.
 * Invariants: limit_held() is at most the limit, whenever no allocation is about to be undone; but
 *             for what was held when a lower limit was set. It counts pages of the arena that are
 *             in use, free ones that are resident (dirty), and the mappings of large blocks, those
 *             that are kept included: all that is or may be resident. Not what describes pages, nor
 *             other metadata.
 * Locks:      none: limit.c has the contract. Marks are set by any thread.
 * Flow:       called by large.c, purge.c, zone.h, buddy.c, api/limits_api.c, cache/init.c,
 *             cache/pressure.c, cache/config/options.c, cache/reclaim/ahead.c and
 *             front/array_limit.c; tools read the counters from outside.
 */
#ifndef PAGE_LIMIT_H
#define PAGE_LIMIT_H

#include "base/atomic.h"

#define LIMIT_NONE (~0ul)
#define LIMIT_LEAST (1ul << 20) /* bytes that an option may say: less serves no program */
#define LIMIT_MOST (1ul << 40)

/* Pages, but for refused. Read by tools from outside. */
struct limit_counters {
	unsigned long limit; /* LIMIT_NONE: there is none; atomic */
	unsigned long mark;  /* above this much reclaim is due; LIMIT_NONE: never; atomic */
	unsigned long least; /* of the two; atomic */
	unsigned long
		refused; /* allocations of pages, since the start; each may be tried again; atomic */
	unsigned long peak; /* most that was held while there was a limit; atomic */
	uint32_t due;	    /* the mark was passed; atomic */
};

extern struct limit_counters limit_counters;

/* The limit in bytes, rounded down to pages; SIZE_MAX: none. */
void limit_set(size_t bytes);
/* Pages; LIMIT_NONE: none. Once what is held is more, limit_counters.due is set. */
void limit_set_mark(unsigned long pages);

/* Pages that count; exact while nobody allocates or frees pages. */
unsigned long limit_held(void);

bool limit_admits_slow(void);
/*
 * Asked by whoever has just counted more as held. false: that is more than the limit; it must be
 * undone at once, and the call fails or tries again. Any lock may be held.
 */
static inline bool limit_admits(void)
{
	return likely(load_relaxed(&limit_counters.least) == LIMIT_NONE) || limit_admits_slow();
}

/* Is so much more than the limit allows? As a hint. */
bool limit_is_near(unsigned long nr_pages);

#endif /* PAGE_LIMIT_H */
