/* SPDX-License-Identifier: MIT */
/*
 * page/zone.h - what page/buddy.c, page/fit.c, page/pcp.c and page/purge.c share
 * about a zone; nobody else includes it
 *
 * Why:        docs/adr/0028.
 * Data:       struct buddy_zone (page/buddy.h); the purge limits.
 * Invariants: see page/buddy.h.
 * Locks:      _locked: zone.lock is held. The dirty bits of pages belong to that lock too.
 * Flow:       buddy.c moves blocks on and off the lists, pcp.c takes and gives back batches of
 *             them, fit.c takes ranges out of them, purge.c decides which to purge when.
 */
#ifndef PAGE_ZONE_H
#define PAGE_ZONE_H

#include "base/atomic.h"
#include "base/bits.h"
#include "page/buddy.h"
#include "page/keep.h"
#include "page/large.h"
#include "page/run.h"

#define ZONE_LIMIT_AUTO (~0ul)
#define ZONE_SLACK_MIN 64ul /* pages, 256 KiB */
#define ZONE_LARGE_MIN (64ul << 20 >> PAGE_SHIFT)
#define ZONE_SMALL_GAPS (5ul << 20 >> PAGE_SHIFT)

extern unsigned long zone_purge_limit; /* pages, or ZONE_LIMIT_AUTO; atomic */
extern uint32_t zone_purge_delay;      /* in units of 16 ms, like zone.clock; atomic */
extern uint32_t zone_half_life;	       /* likewise: of zone.purged_lately and zone.regret */

/* buddy.c: dirty bits of a range; blocks off and onto the lists, with merging and counting */
unsigned long zone_count_dirty(unsigned long index, unsigned long nr_pages);
void zone_set_dirty(unsigned long index, unsigned long nr_pages, bool dirty);
void zone_take_block_locked(struct buddy_zone *zone, struct page *page);
void zone_free_locked(struct buddy_zone *zone, struct page *page, unsigned int order,
		      unsigned long nr_dirty);
/* Free pages index .. end leave their blocks; the rest of these stays free. */
void zone_claim_locked(struct buddy_zone *zone, unsigned long index, unsigned long end);
/* A new chunk for the zone; false: out of memory. */
bool zone_grow_locked(struct buddy_zone *zone, unsigned int node);

/*
 * buddy.c for pcp.c: up to want blocks to the end of a list, in the order in which single calls
 * would return them, type NONE; and back, the list's head first, with nr_pages those that are
 * dirty. Both return whether zone_purge_slow() is due.
 */
bool zone_take_batch(unsigned int node, unsigned int order, unsigned int want,
		     struct list_head *blocks);
bool zone_give_batch(unsigned int node, struct list_head *blocks);
/* What is true of each block that leaves for an owner, and of pages that come back from one. */
void zone_tell_alloc(struct page *page, unsigned int order);
void zone_retire(struct page *page, unsigned long nr_pages);
/* fit.c: tells of pages as of blocks that are as large as their places allow. */
void zone_probe_blocks(unsigned long index, unsigned long nr_pages,
		       void (*probe)(const void *page, unsigned long index, unsigned int order));

/* purge.c: what too much and too old mean, and doing something about it */
void zone_tick_locked(struct buddy_zone *zone);
void zone_purge_slow(struct buddy_zone *zone);

/* Pages in use; mappings of page/large.c count too, for they are resident like the rest. */
static inline unsigned long zone_used(const struct buddy_zone *zone)
{
	return zone->stats.nr_total - zone->stats.nr_free - zone->nr_purging +
	       (load_relaxed(&large_counters.bytes) >> PAGE_SHIFT);
}

/* Before every free: use goes down only there, so this sees every maximum. */
static inline void zone_note_peak_locked(struct buddy_zone *zone)
{
	unsigned long used = zone_used(zone);

	if (unlikely(used > zone->stats.nr_peak))
		zone->stats.nr_peak = used;
}

/* Dirty free pages that may stay for good, see buddy_set_purge(). */
static inline unsigned long zone_lasting_limit(const struct buddy_zone *zone)
{
	unsigned long limit = load_relaxed(&zone_purge_limit);

	return likely(limit == ZONE_LIMIT_AUTO) ? MAX(zone_used(zone) / 32, ZONE_SLACK_MIN) : limit;
}

/*
 * Blocks of whole pages that come and go in all sizes leave gaps that the next ones do not fit
 * into: what may wait in those beyond the peak, if it was regretted that it did not. A classic heap
 * keeps all its gaps, and its peak has more of them. They grow with the blocks, and slower than the
 * sum of many small ones. Of runs in the arena,
 */
static inline unsigned long zone_run_gaps(void)
{
	unsigned long runs = load_relaxed(&run_counters.pages);
	unsigned long big = MIN(load_relaxed(&run_big_pages), runs);
	unsigned long small = runs - big;

	return big / 10 + small / 32 + MIN(small / 20, ZONE_SMALL_GAPS);
}

/* and of mappings, where these have more than ZONE_LARGE_MIN: an eighth, of few of them less. */
static inline unsigned long zone_large_gaps(void)
{
	unsigned long large = load_relaxed(&large_counters.bytes) >> PAGE_SHIFT;
	unsigned long count = MIN(load_relaxed(&large_counters.count), 16ul);

	return MIN(large / 128 * count, large - MIN(large, ZONE_LARGE_MIN));
}

/* Of mappings; little has no consequence. */
static inline unsigned long zone_keep_regret(void)
{
	size_t regret = load_relaxed(&keep_regret);

	return regret < KEEP_MIN_REGRET ? 0 : regret >> PAGE_SHIFT;
}

/*
 * Those that may stay now, kept mappings among them: with what was regretted, up to what the peak
 * had anyway, and gaps.
 */
static inline unsigned long zone_dirty_limit(const struct buddy_zone *zone)
{
	unsigned long used = zone_used(zone);
	unsigned long below_peak = zone->stats.nr_peak - MIN(used, zone->stats.nr_peak);
	unsigned long limit = zone_lasting_limit(zone);
	unsigned long kept = zone_keep_regret();

	if (unlikely(load_relaxed(&zone_purge_limit) != ZONE_LIMIT_AUTO))
		return limit;
	return limit + MIN(zone->regret + zone->fit_regret + kept,
			   below_peak + MIN(zone->fit_regret, zone_run_gaps()) +
				   MIN(kept, zone_large_gaps()));
}

/* Clean pages are taken: if they were purged lately, that purge was a mistake. */
static inline void zone_note_clean_locked(struct buddy_zone *zone, unsigned long nr_pages)
{
	unsigned long again = MIN(nr_pages, zone->purged_lately);

	zone->purged_lately -= again;
	zone->regret += again;
}

/* Pages that nobody uses and that are resident all the same. */
static inline unsigned long zone_idle(const struct buddy_zone *zone)
{
	return zone->stats.nr_dirty + (load_relaxed(&keep_counters.bytes) >> PAGE_SHIFT);
}

/* Too much is idle, and the system is not known to refuse. */
static inline bool zone_purge_due(const struct buddy_zone *zone)
{
	return unlikely(zone_idle(zone) > zone_dirty_limit(zone)) &&
	       (int32_t)(zone->clock - zone->purge_after) >= 0;
}

/* Four looks within the delay, so that nothing stays for much longer than that. */
static inline bool zone_aging_due(const struct buddy_zone *zone)
{
	return (zone->stats.nr_dirty > 0 || load_relaxed(&keep_counters.count) > 0) &&
	       zone->clock - zone->aged >= load_relaxed(&zone_purge_delay) / 4;
}

#endif /* PAGE_ZONE_H */
