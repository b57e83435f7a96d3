/* SPDX-License-Identifier: MIT */
/*
 * debug/pages/pages.h - whole pages with or without debug flags, for kmalloc and malloc
 *
 * Why:        docs/adr/0023.
 * Data:       see blocks.h: a record for each block that was allocated while debug flags were on.
 * Invariants: with Z there is a page of red zone before a block, and behind it the rest of its last
 *             page and one more; the block begins where its alignment requires. Blocks without a
 *             record are page/run.c's.
 * Locks:      RANK_BLOCKS around the table. Reports are delivered here: no lock may be held.
 * Flow:       called by cache/control/control.c, cache/debug/misuse.c, cache/extension.c,
 *             cache/grace/check.c, cache/kmalloc/kmalloc.c and malloc/; calls blocks.c, report.c,
 *             page/run.c.
 *
 * The flags do as for objects: F checks on free, Z adds red zones, P poisons blocks (up to
 * PAGES_POISON_MAX) and quarantines freed ones, to find writes after free; larger ones are mappings
 * of their own, and unmapped at once, so that a use after free faults. U keeps who allocated and
 * who freed a block. If no flag was ever set, each call costs one load more.
 */
#ifndef DEBUG_PAGES_H
#define DEBUG_PAGES_H

#include "debug/pages/blocks.h"
#include "debug/report/report.h"
#include "page/run.h"

#define PAGES_POISON_MAX (4ul << 20) /* bytes: what the arena holds */

/* Use the inline ones below. */
cold void *pages_alloc_slow(size_t size, size_t body, size_t align, int node, bool *zeroed,
			    const void *caller);
cold bool pages_free_slow(void *p, const void *caller);
cold void *pages_resize_slow(void *p, size_t size, const void *caller);
cold size_t pages_size_slow(const void *p);
cold bool pages_report_freed_slow(const void *p, enum report_repair repair);

/*
 * A block for size bytes in pages of body bytes (at least size), aligned to align
 * (power of two; 0: page), on node (-1: any). *zeroed (may be NULL): all bytes known to
 * be zero. NULL: out of memory.
 */
static inline void *pages_alloc(size_t size, size_t body, size_t align, int node, bool *zeroed,
				const void *caller)
{
	return unlikely(blocks_debug_flags())
		       ? pages_alloc_slow(size, body, align, node, zeroed, caller)
		       : run_alloc(body, align, node, zeroed);
}

/* false: p starts no block, and has no record (the caller reports the bad pointer). */
static inline bool pages_free(void *p, const void *caller)
{
	return unlikely(blocks_are_known()) ? pages_free_slow(p, caller) : run_free(p);
}

/*
 * Resizes to size bytes, in place or by moving its mapping; U stores caller as its user. NULL: not
 * possible that way, nothing changed.
 */
static inline void *pages_resize(void *p, size_t size, const void *caller)
{
	return unlikely(blocks_are_known() || blocks_debug_flags())
		       ? pages_resize_slow(p, size, caller)
		       : run_resize(p, size, true);
}

/*
 * Usable bytes of the block that starts at p: with Z those that were asked for. 0: there is none.
 */
static inline size_t pages_size(const void *p)
{
	return unlikely(blocks_are_known()) ? pages_size_slow(p) : run_size(p);
}

/*
 * No block starts at p. Did one that is known to be free? That is reported, with who allocated and
 * who freed it; repair: what was not done (FIX_NOTHING: not said). No lock may be held.
 */
static inline bool pages_report_freed(const void *p, enum report_repair repair)
{
	return unlikely(blocks_are_known()) && pages_report_freed_slow(p, repair);
}

/* The program needs only size bytes of the block from now on. false: no record to store that. */
cold bool pages_shrink(const void *p, size_t size);

/* As run_stats(), without quarantined blocks. */
cold void pages_stats(struct run_stats *stats);

/* Checks all blocks that have F, Z or P, and quarantined ones. Returns how many. */
cold unsigned long pages_validate(void);

#endif /* DEBUG_PAGES_H */
