/* SPDX-License-Identifier: MIT */
/*
 * page/realtime.h - memory that is made ready ahead, so that calls need nothing of the system
 *
 * Why:        docs/adr/0037.
 * Data:       realtime_counters.
 * Invariants: bytes is const from realtime_start() on, which is before there are objects. While it
 *             is not 0 no free page is purged, and no page run is searched for by page/fit.c.
 *             locked is bytes, or 0: then nothing of what was made ready is locked.
 * Locks:      none of its own; exceeded is atomic.
 * Flow:       called by cache/init.c, cache/fork.c, cache/idle.c, engine/slub/slub.c,
 *             front/array_capacity.c, front/array_idle.c, front/array_limit.c,
 *             front/array_near.c, malloc/init.c and page/;
 *             read from outside by inspect/snapshot.c. Calls arena.c, buddy.c, meta.c.
 */
#ifndef PAGE_REALTIME_H
#define PAGE_REALTIME_H

#include "base/atomic.h"
#include "base/compiler.h"

#define REALTIME_DEFAULT (64ul << 20) /* bytes */
#define REALTIME_MAX (1ul << 40)

struct realtime_counters {
	unsigned long bytes;	/* of pages made ready at the start; 0: the mode is off */
	unsigned long locked;	/* of these, those that the system holds in memory: all or 0 */
	unsigned long exceeded; /* calls that needed more memory of the system; atomic */
};

/* Read by tools from outside. */
extern struct realtime_counters realtime_counters;

static inline bool realtime_is_on(void)
{
	return unlikely(realtime_counters.bytes != 0);
}

/* A call asks the system for memory. */
static inline void realtime_note_exceeded(void)
{
	if (realtime_is_on())
		fetch_add(&realtime_counters.exceeded, 1);
}

/*
 * Makes pages for bytes ready, but not above most, in equal shares for all nodes, with what
 * describes them, the words of all CPUs and space for metadata: all of it resident, and locked. If
 * the system does not let all of it be locked none of it is, and the program has its limit for
 * itself. Context: one thread, no objects yet. 0; -ENOMEM: there are fewer pages, maybe none.
 */
int realtime_start(size_t bytes, size_t most);

/* Context: the child of a fork, one thread: what the parent locked is not locked in it. */
static inline void realtime_forked(void)
{
	if (realtime_counters.locked) /* an unneeded write would copy a page */
		realtime_counters.locked = 0;
}

#endif /* PAGE_REALTIME_H */
