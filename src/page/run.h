/* SPDX-License-Identifier: MIT */
/*
 * page/run.h - whole pages for allocations larger than any cache's objects
 *
 * Why:        docs/adr/0088.
 * Data:       type RUN blocks in the arena, up to 2 MiB, or 1 MiB where there are many large blocks
 *             (those on a node, or aligned to more than a page: 4 MiB); beyond that page/large.c.
 * Invariants: a page run of n pages owns exactly n: the rest of its buddy block was given back. n
 *             is one of run_length()'s, or where these did not fit, were cut, or are not for it
 *             (realtime), just what is needed.
 *             run_counters agrees with the page descriptors. Checked by run_check().
 * Locks:      none of its own; the buddy's.
 * Flow:       called by cache/group/object.c, debug/pages/pages.c, debug/pages/pages.h,
 *             engine/slob/block.c, front/depot_sort.c, inspect/usage.c, malloc/slow.c and
 *             pcp_runs.c; calls buddy.c, pcp_runs.c, large.c.
 */
#ifndef PAGE_RUN_H
#define PAGE_RUN_H

#include "base/bits.h"
#include "page/page.h"

/*
 * Larger ones are mappings of their own: gaps beside large page runs of all sizes fit few others,
 * while mappings lie side by side (page/keep.h), and grow by mremap.
 */
#define RUN_LARGE_PAGES (2ul << 20 >> PAGE_SHIFT)
/*
 * The limit is lower while so many bytes are mapped so: with fewer, pages that small blocks cannot
 * use cost more.
 */
#define RUN_MANY_LARGE (64ul << 20)
#define RUN_LARGE_PAGES_OF_MANY (1ul << 20 >> PAGE_SHIFT)

/*
 * A page run that moved in order to grow has so much more, a part of its size: programs grow blocks
 * page by page, and the pages behind a block are soon another's. So a copy is made each time the
 * block is an eighth larger, not for each page. Pages that are not written to are not resident.
 */
#define RUN_SLACK 8ul

/*
 * Lengths of page runs: from 16 pages up to 32 there are so many, each a page longer than the one
 * before, from 32 up to 64 as many, and so on. So a page run is up to a sixteenth longer than it
 * has to be, and fits into the gap that another one left more often.
 */
#define RUN_LENGTHS 16ul

/* The shortest of them for nr_pages, which are at least one. */
static inline unsigned long run_length(unsigned long nr_pages)
{
	unsigned int order = fls(nr_pages - 1); /* of the block that holds them */
	unsigned int exact = fls(RUN_LENGTHS);	/* of one up to which each length is there */

	return order <= exact ? nr_pages : ALIGN_UP(nr_pages, 1ul << (order - exact));
}

struct run_counters {
	/* live page runs in the arena, and those that CPUs keep (page/pcp_runs.h) */
	unsigned long count; /* atomic */
	unsigned long pages; /* that they own; atomic */
};

/* Read by tools from outside. */
extern struct run_counters run_counters;

/* Counts a page run of nr_pages in run_counters, or, sign -1, no longer. */
void run_count(unsigned long nr_pages, long sign);

/* Pages of page runs in the arena beyond RUN_LARGE_PAGES_OF_MANY; atomic. */
extern unsigned long run_big_pages;

struct run_stats {
	unsigned long count; /* live page runs and large blocks */
	unsigned long bytes; /* their pages, in bytes */
};

/*
 * At least size bytes in whole pages, run_size() says how many; aligned to align (power of two; 0:
 * page), on node (-1: any). *zeroed (may be NULL): all bytes known to be zero. Small ones come from
 * the arena, see above. NULL: out of memory or absurd size.
 */
void *run_alloc(size_t size, size_t align, int node, bool *zeroed);

/*
 * One for size bytes that the running CPU keeps (page/pcp_runs.h), whose bytes may be anything.
 * NULL: it keeps none. Then run_alloc() comes next, which notes that.
 */
void *run_alloc_kept(size_t size);

/* Size in bytes of the page run or large block that starts at p; 0 when p starts none. */
size_t run_size(const void *p);

/* Frees what starts at p; false when nothing does (the caller reports the bad pointer). */
bool run_free(void *p);

/* The same; a mapping of its own is unmapped and not kept: a later access faults. */
bool run_discard(void *p);

/*
 * Resizes to new_size bytes: in place when the pages behind it are free or the block is mapped, or,
 * when may_move, elsewhere in the arena or by mremap. In the arena it may have up to 1/RUN_SLACK
 * more than it needs, and be as long as run_length() says then: when it moved to grow, or when it
 * would be shorter than before by no more than that. NULL: not possible that way, old block
 * untouched; never where it needs no more pages than it has.
 */
void *run_resize(void *p, size_t new_size, bool may_move);
/* Gives back what it has beyond size bytes, in whole pages. false: nothing, or it is a mapping. */
bool run_cut(void *p, size_t size);

void run_stats(struct run_stats *stats);
/* The live ones in the arena, exact when quiet. */
struct run_counters run_live(void);

/* Walks all page descriptors; no other thread may change any. */
void run_check(void);

#endif /* PAGE_RUN_H */
