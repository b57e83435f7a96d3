/* SPDX-License-Identifier: MIT */
/*
 * page/zone.h - what page/area.c, page/buddy.c, page/buddy_check.c, page/buddy_range.c,
 * page/buddy_stats.c, page/buddy_try.c, page/dirty_limit.c, page/fit.c, page/low.c, page/pcp.c,
 * page/pcp_runs.c, page/purge.c, page/purge_blocks.c, page/purge_inside.c, page/purge_lazy.c,
 * page/purge_tables.c, page/ranges.c, page/realtime.c, page/refault_rate.c and page/refaults.c
 * share about a zone; nobody else includes it
 *
 * Why:        docs/adr/0028, docs/adr/0057.
 * Data:       struct buddy_zone (page/buddy.h); the purge limits.
 * Invariants: see page/buddy.h.
 * Locks:      _locked: zone.lock is held. The dirty bits of pages belong to that lock too.
 * Flow:       buddy.c moves blocks on and off the lists, buddy_range.c pages in a row, pcp.c takes
 *             and gives back batches of blocks, ranges.c knows which of them lie in a row, fit.c
 *             takes page runs out of these, purge.c decides which to purge, and when; dirty_limit.c
 *             how many may stay; refaults.c what that came to.
 */
#ifndef PAGE_ZONE_H
#define PAGE_ZONE_H

#include "base/atomic.h"
#include "base/bits.h"
#include "os/memory/vm.h"
#include "page/buddy.h"
#include "page/keep.h"
#include "page/large.h"
#include "page/limit.h"
#include "page/pcp.h"
#include "page/pcp_runs.h"
#include "page/realtime.h"
#include "page/refaults.h"
#include "page/run.h"

#define CHUNK_WORDS ((1ul << BUDDY_MAX_ORDER) / 64) /* of free bits */

#define CLOCK_EVERY 64u /* frees: so often one looks at the clock */

#define ZONE_LIMIT_AUTO (~0ul)
#define ZONE_SLACK_MIN 64ul /* pages, 256 KiB */
#define ZONE_SLAB_GAPS (1ul << 20 >> PAGE_SHIFT)

extern unsigned long zone_purge_limit; /* pages, or ZONE_LIMIT_AUTO; atomic */
extern uint32_t zone_merges_until;     /* zone.clock, or 0; atomic */
extern uint32_t zone_half_life;	       /* likewise: of zone.purged_lately and zone.refaults */

static inline unsigned long zone_index_of(const struct page *page)
{
	return (unsigned long)(page - page_map.pages);
}

/*
 * ranges.c: dirty bits of pages. Those of free pages on lists do not change: blocks and ranges have
 * counted them.
 */
unsigned long zone_count_dirty(unsigned long index, unsigned long nr_pages);
struct zone_dirty {
	unsigned long nr; /* of */
	unsigned long of; /* pages in a row */
};
/* Dirty ones of nr_pages of them: most often all or none are. */
static inline unsigned long zone_dirty_part(struct zone_dirty d, unsigned long index,
					    unsigned long nr_pages)
{
	if (d.nr == 0 || d.nr == d.of)
		return d.nr ? nr_pages : 0;
	return zone_count_dirty(index, nr_pages);
}
void zone_set_bits(unsigned long *bits, unsigned long index, unsigned long nr_pages, bool on);
static inline void zone_set_dirty(unsigned long index, unsigned long nr_pages, bool dirty)
{
	zone_set_bits(page_map.dirty, index, nr_pages, dirty);
}
/* Is the page in a block on a list? Its zone's lock is held. */
static inline bool zone_has_free(unsigned long index)
{
	return page_map.free[index / 64] >> index % 64 & 1;
}
/* Of the largest aligned block that begins at page index and ends at end or before. */
static inline unsigned int zone_order_at(unsigned long index, unsigned long end)
{
	unsigned int order = MIN(ilog2(end - index), (unsigned int)BUDDY_MAX_ORDER);

	return index ? MIN(order, (unsigned int)__builtin_ctzl(index)) : order;
}
/* buddy.c: blocks off and onto the lists, with merging and counting */
/*
 * A block from the lists, or NULL: there is none, or the limit (page/limit.h) forbids it. Its
 * nr_pages is the number of its dirty pages. For a lane of CPUs it is apart from others'.
 */
struct page *zone_take_locked(struct buddy_zone *zone, unsigned int order, unsigned int lane);
/*
 * area.c: the block of which one of that order is to be taken, and in which of the lists of its
 * order it is; there is one. Once page is cut out of a block of order from, its area becomes the
 * lane's, if that block was as large as an area.
 */
struct page *zone_find_locked(struct buddy_zone *zone, unsigned int order, unsigned int lane,
			      unsigned int *kind);
void zone_note_area_locked(struct buddy_zone *zone, const struct page *page, unsigned int from,
			   unsigned int lane);
/*
 * A free block off its list, to be purged, and back, with fewer dirty pages than it had
 * (was_dirty). It is held as before meanwhile.
 */
void zone_take_block_locked(struct buddy_zone *zone, struct page *page);
void zone_return_block_locked(struct buddy_zone *zone, struct page *page, unsigned long nr_dirty,
			      unsigned long was_dirty);
void zone_free_locked(struct buddy_zone *zone, struct page *page, unsigned int order,
		      unsigned long nr_dirty);
/*
 * The same without bits, counts and page/ranges.c, which the caller sees to: a block off its list,
 * whose order and nr_pages keep what they say; onto it, with what it merges with, or as it is, if
 * its buddy is not free. stamp: when it became free.
 */
void zone_remove_block_locked(struct buddy_zone *zone, struct page *page);
void zone_merge_block_locked(struct buddy_zone *zone, unsigned long index, unsigned int order,
			     unsigned long nr_dirty, uint32_t stamp);
void zone_put_block_locked(struct buddy_zone *zone, unsigned long index, unsigned int order,
			   unsigned long nr_dirty, uint32_t stamp);
/* Unlocks after a free. Returns whether a purge is due. */
bool zone_unlock_after_free(struct buddy_zone *zone);
/* A block of that order, if it was not merged since, goes to the list of bare ones. */
void zone_set_bare_locked(struct buddy_zone *zone, struct page *page, unsigned int order);
/* buddy_range.c: the free block that holds page index, or NULL. */
struct page *zone_find_free_locked(unsigned long index);
/*
 * Takes the free pages index .. end out of their blocks; the rest of these stays free. The caller
 * has asked zone_admit_locked() about those that are clean.
 */
void zone_claim_locked(struct buddy_zone *zone, unsigned long index, unsigned long end);
/* The zone has got a chunk, which is to be freed to it next. */
void zone_count_chunk_locked(struct buddy_zone *zone);
/* A bare chunk (purge_tables.c) for the zone, the lowest; false: it has none. */
bool zone_restore_locked(struct buddy_zone *zone);
/* A new chunk for the zone; false: out of memory. */
bool zone_grow_locked(struct buddy_zone *zone, unsigned int node);

/*
 * buddy.c for pcp.c: up to want blocks to the end of a list, in the order in which single calls
 * would return them, type NONE; and back, the list's head first, with nr_pages those that are
 * dirty. Both return whether zone_purge_slow() is due. In realtime zone_take_batch() takes only
 * what is there: buddy_alloc() knows when more memory is needed.
 */
bool zone_take_batch(unsigned int node, unsigned int order, unsigned int want,
		     struct list_head *blocks);
bool zone_give_batch(unsigned int node, struct list_head *blocks);
/* Accounting and instrumentation of each block that is allocated, and of pages that are freed. */
void zone_notify_alloc(struct page *page, unsigned int order);
void zone_retire(struct page *page, unsigned long nr_pages);
/* The same for page runs; and how those that were retired get to the zone, all of them dirty. */
void zone_notify_run(struct page *page, unsigned long nr_pages);
void zone_retire_run(struct page *page, unsigned long nr_pages);
void zone_give_run(struct page *page, unsigned long nr_pages);
/* fit.c: fires the probe for pages as for blocks that are as large as alignment allows. */
void zone_probe_blocks(unsigned long index, unsigned long nr_pages,
		       void (*probe)(const void *page, unsigned long index, unsigned int order));

/*
 * ranges.c: pages that lie in one chunk or in several have become free, dirty or not, or are so no
 * longer: their bits, and the blocks that hold them and their neighbours, say so already.
 */
#define RANGE_LEAST 9ul /* pages */
#define RANGE_MOST 1024ul
enum { RANGE_RESIDENT, RANGE_CLEAN, RANGE_KINDS };
/* Before anything else of a node's; those of the first one always are. false: no memory. */
bool zone_make_ranges(unsigned int node);
void zone_note_freed_locked(unsigned int node, unsigned long index, struct zone_dirty d);
void zone_note_taken_locked(unsigned int node, unsigned long index, unsigned long nr_pages);
/*
 * The first page of the newest of the shortest ranges of nr_pages (RANGE_LEAST or more) or more
 * pages; NULL: there is none. Others of its list follow by next_range: they are as long, or
 * RANGE_MOST or longer.
 */
struct page *zone_first_range_locked(unsigned int node, unsigned int kind, unsigned long nr_pages);
void zone_check_ranges(unsigned int node);

/* refaults.c: reads the clock, and lets counts fade */
void zone_tick_locked(struct buddy_zone *zone);
/*
 * refault_rate.c: after a purge, of a zone with that peak, in pages; now: its clock. It may make a
 * system call that takes 0.1 ms with 2000 threads. Context: zone->purge_lock, and no zone->lock.
 */
void zone_look_at_rate(unsigned long peak, uint32_t now);
/* After a purge. */
void zone_note_fall_locked(struct buddy_zone *zone);
/* purge.c: purges above the limit or after the delay */
void zone_purge_slow(struct buddy_zone *zone);
/* Of a zone that is over its limit: do others purge soon? */
bool zone_purge_waits(const struct buddy_zone *zone);
/* Gives dirty free memory back until so many pages more fit the limit, or there is none. */
void zone_make_room(unsigned long nr_pages);
/* purge_lazy.c, with purge=free: bit i: clean page i may hold anything, see there; else NULL */
extern unsigned long *zone_lazy;
void zone_set_lazy_locked(unsigned long index, unsigned long nr_pages, bool lazy);
/* Of pages that are the caller's, or with the zone's lock. */
bool zone_none_lazy(unsigned long index, unsigned long nr_pages);
/* All of a node that the system may still have to take goes now. Returns its bytes. */
size_t zone_trim_lazy(unsigned int node);

/* Do clean pages hold zeros? Context as zone_none_lazy(). */
static inline bool zone_is_zero(unsigned long index, unsigned long nr_pages)
{
	return likely(!zone_lazy) || zone_none_lazy(index, nr_pages);
}

/*
 * purge_blocks.c: free blocks to be purged together. Context: both locks. Each system call
 * interrupts all CPUs that run threads of the process, so the more of them at once the better.
 */
#define PURGE_BLOCKS 256
struct purge_batch {
	struct page **block;	/* of room for so many */
	struct os_range *range; /* of each that is to be purged */
	unsigned int room;
	unsigned int nr;
	unsigned long pages; /* of all ranges, as far as they are dirty */
	bool lazily;	     /* see os_purge_lazily() */
};
/*
 * Takes a block off its list: all that is dirty of it, with the rest of its huge pages, or most
 * pages at its end. Now and then it drops zone->lock, for those who wait.
 */
void purge_batch_add_locked(struct buddy_zone *zone, struct purge_batch *batch, struct page *page,
			    unsigned long most);
/* Likewise, of all its pages, which may be dirty or not. */
void purge_batch_add_whole_locked(struct buddy_zone *zone, struct purge_batch *batch,
				  struct page *page);
/*
 * Purges them, with zone->lock dropped meanwhile, and puts them back. false: the system refused one
 * or more, which are dirty as before.
 */
bool purge_batch_end_locked(struct buddy_zone *zone, struct purge_batch *batch);
/*
 * purge_tables.c: gives the descriptors of free chunks back, of so many. false: those of fewer:
 * there are no more, or the system refused. Context: both locks.
 */
bool zone_purge_tables_locked(struct buddy_zone *zone, unsigned int most);
/*
 * purge_inside.c: likewise those of blocks that are smaller than a chunk, but for the block's first
 * one and those on its page.
 */
bool zone_purge_inside_locked(struct buddy_zone *zone, unsigned int most);
/* A chunk without descriptors, to be used again as one of arena_grow(); NULL: there is none. */
struct page *zone_take_bare_locked(const struct buddy_zone *zone);
/* Its first page, or ULONG_MAX. */
unsigned long zone_lowest_bare_locked(const struct buddy_zone *zone);

/* Blocks of that order and more have pages of descriptors that the first one is not on. */
static inline unsigned int zone_bare_order(void)
{
	return get_order(os_page_size() / sizeof(struct page) << PAGE_SHIFT) + 1;
}

/* What CPUs keep goes to the zones. Context: no lock held. */
static inline void zone_drain_cpus(void)
{
	pcp_drain();
	pcp_runs_drain();
}

/* The bits from bit first of a word on, n of them (1..64). */
static inline unsigned long bits_mask(unsigned int first, unsigned long n)
{
	return (n < 64 ? (1ul << n) - 1 : ~0ul) << first;
}

/* Pages of the zone that are in use; a block that is being purged is not. */
static inline unsigned long zone_used_here(const struct buddy_zone *zone)
{
	return zone->stats.nr_total - zone->stats.nr_free - zone->nr_purging;
}

/* Pages in use; mappings of page/large.c count too, for they are resident like the rest. */
static inline unsigned long zone_used(const struct buddy_zone *zone)
{
	return zone_used_here(zone) + (load_relaxed(&large_counters.bytes) >> PAGE_SHIFT);
}

/* Before every free: use goes down only there, so this sees every maximum. */
static inline void zone_note_peak_locked(struct buddy_zone *zone)
{
	unsigned long used = zone_used(zone);

	if (unlikely(used > zone->stats.nr_peak))
		zone->stats.nr_peak = used;
	if (unlikely(zone->has_sunk) && used >= zone->stats.nr_peak - zone->stats.nr_peak / 8) {
		zone->has_sunk = false;
		zone->halved = zone->clock;
		zone->slow_since = zone->clock;
	}
}

/* See buddy_expect_merges(). */
static inline bool zone_expects_merges(const struct buddy_zone *zone)
{
	uint32_t until = load_relaxed(&zone_merges_until);

	return unlikely(until) && (int32_t)(until - zone->clock) > 0;
}

/* Dirty free pages that may stay for good, see buddy_set_purge(). */
static inline unsigned long zone_lasting_limit(const struct buddy_zone *zone)
{
	unsigned long limit = load_relaxed(&zone_purge_limit);

	if (unlikely(limit != ZONE_LIMIT_AUTO))
		return limit;
	return MAX(zone_used(zone) / (zone_expects_merges(zone) ? 4 : 32), ZONE_SLACK_MIN);
}

/* Refaults over seconds, as far as they count. */
unsigned long zone_slow_refaults(const struct buddy_zone *zone);

/*
 * refault_rate.c: pages that may stay beyond the peak and the gaps, because the process spent so
 * much of its time on refaults. Context: any.
 */
unsigned long zone_extra(const struct buddy_zone *zone);

/*
 * Dirty free pages that may stay now, kept mappings included: the lasting limit, and as many as
 * there were refaults, up to the peak and the gaps; or, with those over seconds, up to the peak;
 * and, where refaults take too much of the time, more than that.
 */
unsigned long zone_dirty_limit(const struct buddy_zone *zone);
/* It may be lower than when a free worked it out. */
static inline void zone_limit_fell(struct buddy_zone *zone)
{
	store_relaxed(&zone->may_wait, 0);
}

static inline bool zone_has_fallen(const struct buddy_zone *zone)
{
	return zone->fallen > zone_used(zone);
}

/* Pages that were purged are taken again. */
static inline void zone_note_rise_locked(struct buddy_zone *zone, unsigned long nr_pages)
{
	if (nr_pages)
		zone_limit_fell(zone);
	zone->fallen -= MIN(zone->fallen, nr_pages);
	if (unlikely(zone->falls_until) && !zone_has_fallen(zone))
		store_relaxed(&zone->falls_until, 0);
}

/* Clean pages are taken: as many as were purged lately count as refaults. */
static inline void zone_note_clean_locked(struct buddy_zone *zone, unsigned long nr_pages)
{
	unsigned long again = MIN(nr_pages, zone->purged_lately);
	unsigned long slow = MIN(nr_pages, zone->slow_purged);

	zone_note_rise_locked(zone, nr_pages);
	refaults_note(again);
	zone->purged_lately -= again;
	zone->refaults = MIN(zone->refaults + again, 2 * zone->stats.nr_peak);
	zone->slow_purged -= slow;
	zone->slow_refaults = MIN(zone->slow_refaults + slow, zone->stats.nr_peak);
}

/* The free block of exactly this order that starts at index, or NULL. */
static inline struct page *zone_free_block(unsigned long index, unsigned int order)
{
	struct page *page = page_at(index);

	/* order is valid, and stays so under the lock, only on a BUDDY. */
	return load_relaxed(&page->type) == PAGE_BUDDY && page->order == order ? page : NULL;
}

/* More, or (modulo 2^64) fewer, free pages are resident; read without the lock, too. */
static inline void zone_add_dirty_locked(struct buddy_zone *zone, unsigned long nr_pages)
{
	store_relaxed(&zone->stats.nr_dirty, zone->stats.nr_dirty + nr_pages);
}

/* More, or (modulo 2^64) fewer, pages are in use or dirty. */
static inline void zone_hold_locked(struct buddy_zone *zone, unsigned long nr_pages)
{
	store_relaxed(&zone->held, zone->held + nr_pages);
}

/* So many pages that are not resident are about to be used. false: the limit forbids it. */
static inline bool zone_admit_locked(struct buddy_zone *zone, unsigned long nr_clean)
{
	zone_hold_locked(zone, nr_clean);
	if (likely(!nr_clean || limit_admits()))
		return true;
	zone_hold_locked(zone, -nr_clean);
	return false;
}

/* Free pages that are resident. */
static inline unsigned long zone_idle(const struct buddy_zone *zone)
{
	return zone->stats.nr_dirty + (load_relaxed(&keep_counters.bytes) >> PAGE_SHIFT);
}

/* More than the limit is idle, the last purge did not fail, and it is not left to steps. */
bool zone_purge_due(const struct buddy_zone *zone);
/* The same after a free, with the clock just read, or old blocks are to be looked for. */
bool zone_free_is_due_locked(struct buddy_zone *zone);

/* Four searches within the delay, so that nothing stays for much longer than that. */
static inline bool zone_search_due(const struct buddy_zone *zone)
{
	return !realtime_is_on() && zone->clock - zone->aged >= load_relaxed(&zone_purge_delay) / 4;
}

/* Likewise, and there may be old pages. */
static inline bool zone_aging_due(const struct buddy_zone *zone)
{
	return (zone->stats.nr_dirty > 0 || load_relaxed(&keep_counters.count) > 0) &&
	       zone_search_due(zone);
}

#endif /* PAGE_ZONE_H */
