/* SPDX-License-Identifier: MIT */
/*
 * page/purge.c - gives free pages back to the system: at once above a limit, else after a delay
 *
 * Data:       the two limits; until when merges are expected; until when the thread may purge; per
 *             zone: aged, purge_after, stamps of free blocks.
 * Invariants: while a purge has a block off its list it holds zone.purge_lock, so whoever holds
 *             that lock (fork, an allocation about to fail) finds every free block on a list.
 * Locks:      zone.purge_lock (RANK_PURGE), in it zone.lock (RANK_PAGE), which is dropped over each
 *             system call. An automatic purge only tries the purge lock: if it is held, another
 *             thread purges already.
 * Flow:       called by page/, api/, cache/, front/array_limit.c and malloc/; calls dirty_limit.c,
 *             purge_blocks.c, purge_lazy.c, purge_tables.c, purge_inside.c, keep.c, refaults.c,
 *             refault_rate.c, os/memory/, os/process/filter.h.
 *
 * A system call takes some 0.5 us before its first page, so the largest blocks are purged first,
 * and within an order those that have been free for longest: the tail of the list, but for the few
 * that page/buddy.c put there because their buddy is free. Where page runs had many refaults age
 * comes before size: the largest blocks are those that the next page runs need.
 */
#include <limits.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "os/instrument/memcheck.h"
#include "os/time/clock.h"
#include "os/memory/vm.h"
#include "os/process/filter.h"
#include "page/buddy.h"
#include "page/pcp_runs.h"
#include "page/zone.h"

/*
 * Pages that a purge goes below the limit (or a quarter of it), so that a heap at its limit does
 * not purge at every free.
 */
#define PURGE_BATCH 256ul
#define PURGE_BATCH_STEP 1024ul /* where a step sets it off: see purge_some_locked() */

/*
 * Where there were many refaults, only the end of a block is purged, but at least this many pages,
 * so that the system call pays; else whole blocks are.
 */
#define PURGE_PART 64ul
#define PURGE_PART_REFAULTS 1024ul /* pages */
#define PURGE_OLD_ORDER 2u	   /* by age no smaller blocks are purged */
#define PURGE_ALONE_ORDER 5u	   /* from here on blocks are purged one by one */

#define OLD_BLOCKS 64	 /* at once, and in one search for old blocks, where there is no bound */
#define TABLES 4	 /* chunks, and blocks, of which one purge gives the descriptors back */
#define OLD_LOOKS 8	 /* blocks from a list's tail that it examines */
#define STEP_LEAST 64ul	 /* units of one system call where there is a bound, */
#define STEP_MOST 2048ul /* by the time that is left */
#define BLOCK_UNITS 2u	 /* a unit is what a page takes; a block takes that much more */
#define PLANNED 600u	 /* of 1000, of the time that is left: some purges take longer */
#define LEFT_MOST 100000 /* microseconds: more is no bound */
#define MERGE_CLOCKS 64u /* about a second */
#define RETRY_CLOCKS 64u /* about a second, when the system refused (locked memory) */

unsigned long zone_purge_limit = ZONE_LIMIT_AUTO;
uint32_t zone_purge_delay = BUDDY_PURGE_DELAY_MS >> BUDDY_CLOCK_SHIFT;
uint32_t zone_merges_until;

void buddy_set_purge(size_t limit_bytes, unsigned int delay_ms)
{
	store_relaxed(&zone_purge_limit,
		      limit_bytes == SIZE_MAX ? ZONE_LIMIT_AUTO : limit_bytes >> PAGE_SHIFT);
	store_relaxed(&zone_purge_delay, delay_ms >> BUDDY_CLOCK_SHIFT);
	for (unsigned int node = 0; node < buddy_nr_nodes; node++)
		zone_limit_fell(&buddy_zones[node]);
	keep_set_limit(delay_ms > 0 ? limit_bytes : 0);
}

/* Blocks below the system's page size (64 KiB on some machines) cannot be purged. */
static unsigned int lowest_order(void)
{
	return get_order(os_page_size());
}

/* ---- bounds ---- */

/* Of this thread's purges; 0: there are none. After begin_us none begins. */
static __thread uint64_t begin_us __attribute__((tls_model("initial-exec")));
static __thread uint64_t end_us __attribute__((tls_model("initial-exec")));

void buddy_purge_until(uint64_t us, uint64_t least_us)
{
	begin_us = us - MIN(us, least_us);
	end_us = us;
}

/* For what cannot wait for the next step. Returns the bound, for drop_bound_end(). */
static uint64_t drop_bound(uint64_t *begin)
{
	uint64_t end = end_us;

	*begin = begin_us;
	if (unlikely(end))
		buddy_purge_until(UINT64_MAX, 0); /* in batches still */
	return end;
}

static void drop_bound_end(uint64_t begin, uint64_t end)
{
	begin_us = begin;
	end_us = end;
}

static bool is_late(void)
{
	return unlikely(end_us) && os_clock_us() >= begin_us;
}

void buddy_expect_merges(bool on)
{
	uint32_t now = (uint32_t)(os_clock_ms() >> BUDDY_CLOCK_SHIFT);

	store_relaxed(&zone_merges_until, on ? (now + MERGE_CLOCKS) | 1 : 0);
}

/* ---- what is purged next ---- */

static struct page *pick_largest_locked(struct buddy_zone *zone)
{
	unsigned int lowest = lowest_order();
	unsigned int order = BUDDY_MAX_ORDER + 1;

	while (order-- > lowest)
		if (!list_empty(&zone->free[order][BUDDY_DIRTY]))
			return list_last(&zone->free[order][BUDDY_DIRTY], struct page, lru);
	return NULL;
}

static bool has_refaults(const struct buddy_zone *zone)
{
	return zone->fit_refaults >= PURGE_PART_REFAULTS;
}

/* Of the lists' last blocks, or NULL. */
static struct page *pick_oldest_locked(struct buddy_zone *zone)
{
	unsigned int order = MAX(lowest_order(), PURGE_OLD_ORDER);
	struct page *oldest = NULL;

	for (; order <= BUDDY_MAX_ORDER; order++) {
		struct list_head *list = &zone->free[order][BUDDY_DIRTY];
		struct page *page = list_last(list, struct page, lru);

		if (!list_empty(list) &&
		    (!oldest || zone->clock - page->stamp >= zone->clock - oldest->stamp))
			oldest = page;
	}
	return oldest;
}

/* The next one to purge above the limit, or NULL. */
static struct page *pick_locked(struct buddy_zone *zone)
{
	struct page *page = has_refaults(zone) ? pick_oldest_locked(zone) : NULL;

	return page ? page : pick_largest_locked(zone);
}

static struct page *pick_old_locked(struct buddy_zone *zone)
{
	uint32_t delay = load_relaxed(&zone_purge_delay);
	unsigned int lowest = lowest_order();
	unsigned int order = BUDDY_MAX_ORDER + 1;

	while (order-- > lowest) {
		struct list_head *list = &zone->free[order][BUDDY_DIRTY];
		struct list_head *pos = list->prev;
		unsigned int looks;

		for (looks = 0; pos != list && looks < OLD_LOOKS; looks++, pos = pos->prev) {
			struct page *page = list_entry(pos, struct page, lru);

			if (zone->clock - page->stamp >= delay)
				return page;
		}
	}
	return NULL;
}

/* ---- purges ---- */

/*
 * What a purge takes grows with its pages and blocks; how much, the machine says: learned from
 * purges in batches. One that lost its CPU counts no more than twice.
 */
static uint32_t unit_ns = 500; /* atomic */

static void learn(uint64_t us, unsigned long units)
{
	uint64_t known = load_relaxed(&unit_ns);
	uint64_t seen = CLAMP(us * 1000 / units, known / 2, known * 2);
	uint64_t next = seen > known ? (known + seen) / 2 : (7 * known + seen) / 8;

	store_relaxed(&unit_ns, (uint32_t)MAX(next, 16u));
}

static unsigned long units_at_once(void)
{
	uint64_t now;
	uint64_t left;
	uint64_t units;

	if (likely(!end_us))
		return ULONG_MAX;
	now = os_clock_us();
	left = MIN(end_us - MIN(now, end_us), (uint64_t)LEFT_MOST);
	units = left * PLANNED / load_relaxed(&unit_ns);
	return CLAMP(units, STEP_LEAST, STEP_MOST);
}

/* Are pages that were purged lately taken again? */
static bool are_taken_again_locked(const struct buddy_zone *zone)
{
	return has_refaults(zone) || MAX(zone->refaults, zone_slow_refaults(zone)) >= PURGE_BATCH;
}

/*
 * How many pages of the next block to purge, when excess pages are above the limit: no more than
 * these where there were refaults, since the rest is taken again.
 */
static unsigned long most_locked(const struct buddy_zone *zone, unsigned long excess)
{
	return are_taken_again_locked(zone) ? MAX(excess, PURGE_PART) : ULONG_MAX;
}

static void fill_batch_locked(struct buddy_zone *zone, struct purge_batch *batch,
			      struct page *(*pick)(struct buddy_zone *zone), unsigned long keep)
{
	unsigned long units = units_at_once();

	while (batch->nr < batch->room && zone->stats.nr_dirty > keep) {
		unsigned long excess = zone->stats.nr_dirty - keep;
		unsigned long most = pick == pick_locked ? most_locked(zone, excess) : ULONG_MAX;
		unsigned long used = batch->pages + BLOCK_UNITS * batch->nr;
		struct page *page = used < units ? pick(zone) : NULL;

		if (!page)
			break;
		purge_batch_add_locked(zone, batch, page, MIN(most, units - used));
	}
}

/* Each one is of its zone's purge_lock: too large for some stacks. */
static struct {
	struct page *block[PURGE_BLOCKS];
	struct os_range range[PURGE_BLOCKS];
} purge_rooms[OS_MAX_NODES];

/* Several blocks, and the time that takes is learned. */
static unsigned int purge_some_locked(struct buddy_zone *zone,
				      struct page *(*pick)(struct buddy_zone *zone),
				      unsigned long keep, bool lazily, bool *ok)
{
	unsigned int node = (unsigned int)(zone - buddy_zones);
	struct purge_batch batch = {
		.block = purge_rooms[node].block,
		.range = purge_rooms[node].range,
		.room = end_us ? PURGE_BLOCKS : OLD_BLOCKS,
		.lazily = lazily,
	};
	uint64_t from = os_clock_us();

	fill_batch_locked(zone, &batch, pick, keep);
	*ok = batch.nr && purge_batch_end_locked(zone, &batch);
	if (*ok)
		learn(os_clock_us() - from, batch.pages + BLOCK_UNITS * batch.nr);
	return batch.nr;
}

/* One call for each of them would be most of what a purge takes. */
static bool are_small_locked(struct buddy_zone *zone, struct page *(*pick)(struct buddy_zone *zone))
{
	const struct page *page = pick(zone);

	return page && page->order < PURGE_ALONE_ORDER && os_filter_lets_through();
}

/*
 * Purges the block that pick() names while more than keep pages are dirty, or several: in a step,
 * and where blocks are small and no filter of system calls may forbid it (os_purge_ranges()).
 * Returns how many; at_once: not lazily; *ok: there was one, and the system did not refuse.
 */
static unsigned int purge_next_locked(struct buddy_zone *zone,
				      struct page *(*pick)(struct buddy_zone *zone),
				      unsigned long keep, bool at_once, bool *ok)
{
	struct page *block;
	struct os_range range;
	struct purge_batch batch = {
		.block = &block,
		.range = &range,
		.room = 1,
		.lazily = zone_lazy && !at_once,
	};

	if ((unlikely(end_us) || are_small_locked(zone, pick)) && !os_memcheck_on)
		return purge_some_locked(zone, pick, keep, batch.lazily, ok);
	fill_batch_locked(zone, &batch, pick, keep);
	*ok = batch.nr && purge_batch_end_locked(zone, &batch);
	return batch.nr;
}

/*
 * Purges the largest or oldest blocks until no more than keep pages are dirty, or so many blocks
 * are purged, or it is late. false: could not.
 */
static bool purge_down_to_locked(struct buddy_zone *zone, unsigned long keep, bool at_once,
				 unsigned long blocks)
{
	/* Other threads go on freeing: their blocks must not make this loop endless. */
	unsigned long budget = MIN(zone->stats.nr_dirty, blocks);
	bool ok = true;

	while (zone->stats.nr_dirty > keep && budget > 0) {
		unsigned int done = purge_next_locked(zone, pick_locked, keep, at_once, &ok);

		if (!ok || is_late())
			break;
		budget -= MIN(budget, done);
	}
	return ok;
}

static bool purge_old_locked(struct buddy_zone *zone)
{
	unsigned int budget = OLD_BLOCKS;
	unsigned int done;
	bool ok;

	zone->aged = zone->clock;
	while (budget > 0 && !is_late() &&
	       (done = purge_next_locked(zone, pick_old_locked, 0, false, &ok))) {
		if (!ok)
			return false;
		budget -= MIN(budget, done);
	}
	return true;
}

/*
 * Descriptors; in steps as long as there is time. Those inside of blocks, a few pages each, are not
 * worth calls at each purge where pages that were purged are taken again: only when it is time to
 * look for what is old. Returns whether there may be more.
 */
static bool purge_tables_locked(struct buddy_zone *zone, bool search)
{
	unsigned int inside = end_us || !are_taken_again_locked(zone) ? TABLES : 0;
	bool more;

	if (search && !end_us)
		inside = OLD_BLOCKS;
	do
		more = zone_purge_tables_locked(zone, TABLES) ||
		       (inside && zone_purge_inside_locked(zone, inside));
	while (more && end_us && !is_late());
	return more && end_us;
}

/* Kept mappings of large blocks go first: one call takes many pages. Context: purge_lock. */
static void release_kept(struct buddy_zone *zone)
{
	unsigned long waiting;
	unsigned long idle;
	unsigned long limit;

	lock_acquire(&zone->lock);
	idle = zone_idle(zone);
	waiting = idle - MIN(idle, zone->stats.nr_dirty);
	limit = zone_dirty_limit(zone);
	lock_release(&zone->lock);
	if (idle > limit)
		keep_purge(MIN(idle - limit, waiting) << PAGE_SHIFT);
	keep_release_old(load_relaxed(&zone_purge_delay) << BUDDY_CLOCK_SHIFT);
}

/* Down to where a purge goes. While use falls, all of it: nobody will take it soon. */
static unsigned long lower_limit_locked(const struct buddy_zone *zone, unsigned long limit)
{
	return zone->falls_until ? 0
				 : limit - MIN(limit / 4, end_us ? PURGE_BATCH_STEP : PURGE_BATCH);
}

/*
 * While merges are expected it is left to the steps, which purge many blocks at once: up to half as
 * much again, also between two of them.
 */
static unsigned long upper_limit(const struct buddy_zone *zone)
{
	unsigned long limit = zone_dirty_limit(zone);
	bool waits = !end_us && zone_expects_merges(zone) &&
		     load_relaxed(&zone_purge_limit) == ZONE_LIMIT_AUTO;

	return waits ? limit + limit / 2 : limit;
}

bool zone_purge_waits(const struct buddy_zone *zone)
{
	return zone_idle(zone) <= upper_limit(zone);
}

/*
 * Mappings that are kept go as a whole, which takes too long where there is a bound. false: it is
 * late, and there may be more; something was done.
 */
static bool purge_zone(struct buddy_zone *zone, unsigned long blocks)
{
	unsigned long limit;
	unsigned long peak;
	uint32_t now;
	bool ok = true;
	bool late = false;
	bool search;

	if (!lock_try(&zone->purge_lock))
		return true;
	if (!end_us && load_relaxed(&keep_counters.count) > 0)
		release_kept(zone);
	lock_acquire(&zone->lock);
	search = zone_search_due(zone);
	limit = upper_limit(zone);
	if (zone->stats.nr_dirty > limit) {
		ok = purge_down_to_locked(zone, lower_limit_locked(zone, limit), false, blocks);
		late = is_late();
	}
	if (ok && search)
		ok = purge_old_locked(zone);
	if (ok && !late)
		late = purge_tables_locked(zone, search);
	if (!ok)
		zone->purge_after = zone->clock + RETRY_CLOCKS;
	zone_note_fall_locked(zone);
	peak = zone->stats.nr_peak;
	now = zone->clock;
	lock_release(&zone->lock);
	zone_look_at_rate(peak, now);
	zone_limit_fell(zone);
	lock_release(&zone->purge_lock);
	pcp_runs_age((unsigned int)(zone - buddy_zones));
	return !ok || !late;
}

cold void zone_purge_slow(struct buddy_zone *zone)
{
	/* in a step one batch over the limit: the next free may do another one */
	if (likely(!end_us))
		purge_zone(zone, ULONG_MAX);
	else if (!is_late())
		purge_zone(zone, 1);
}

bool buddy_rebalance(void)
{
	bool done = true;
	unsigned int node;

	for (node = 0; node < buddy_nr_nodes; node++) {
		struct buddy_zone *zone = &buddy_zones[node];
		bool purge;

		lock_acquire(&zone->lock);
		zone_note_peak_locked(zone);
		zone_tick_locked(zone);
		zone_limit_fell(zone);
		purge = zone_purge_due(zone) || zone_search_due(zone) ||
			(end_us && !realtime_is_on()); /* there may be descriptors */
		lock_release(&zone->lock);
		if (purge && !purge_zone(zone, ULONG_MAX))
			done = false;
		pcp_runs_age(node);
	}
	return done;
}

/* All that there are now; others may go on making more. */
static void trim_tables_locked(struct buddy_zone *zone)
{
	unsigned long most = zone->stats.nr_free >> zone_bare_order();

	zone_purge_tables_locked(zone, UINT_MAX);
	zone_purge_inside_locked(zone, (unsigned int)MIN(most, (unsigned long)UINT_MAX));
}

/*
 * Purges up to *excess pages, and lowers *excess by those purged. Returns their bytes. tables: and
 * descriptors, which no limit counts. Also in a step that is late: an allocation waits for the
 * room, or the program has asked for it.
 */
static size_t trim_zone(struct buddy_zone *zone, unsigned long *excess, bool tables)
{
	uint64_t begin;
	uint64_t end = drop_bound(&begin);
	unsigned long before;
	unsigned long done;

	lock_acquire(&zone->purge_lock);
	lock_acquire(&zone->lock);
	before = zone->stats.nr_purged;
	purge_down_to_locked(zone, zone->stats.nr_dirty - MIN(zone->stats.nr_dirty, *excess), true,
			     ULONG_MAX);
	done = zone->stats.nr_purged - before;
	if (tables)
		trim_tables_locked(zone);
	lock_release(&zone->lock);
	lock_release(&zone->purge_lock);
	drop_bound_end(begin, end);
	*excess -= MIN(*excess, done);
	return done << PAGE_SHIFT;
}

void zone_make_room(unsigned long nr_pages)
{
	unsigned long limit = load_relaxed(&limit_counters.limit);
	unsigned long want = limit_held() + nr_pages;
	unsigned long excess;

	if (want <= limit || realtime_is_on())
		return;
	zone_drain_cpus(); /* what they keep is held, too */
	want = limit_held() + nr_pages;
	if (want <= limit)
		return;
	excess = want - limit + PURGE_BATCH;
	excess -= MIN(excess, keep_release(excess << PAGE_SHIFT) >> PAGE_SHIFT);
	for (unsigned int node = 0; node < buddy_nr_nodes && excess > 0; node++)
		trim_zone(&buddy_zones[node], &excess, false);
}

size_t buddy_trim(size_t keep_bytes)
{
	unsigned long keep = keep_bytes >> PAGE_SHIFT;
	struct buddy_stats stats;
	unsigned long excess = 0;
	size_t kept = load_relaxed(&keep_counters.bytes);
	size_t bytes = 0;
	unsigned int node;

	zone_drain_cpus();
	for (node = 0; node < buddy_nr_nodes; node++) {
		buddy_stats(node, &stats);
		excess += stats.nr_dirty;
	}
	excess += kept >> PAGE_SHIFT;
	excess -= MIN(excess, keep);
	if (keep)
		bytes = keep_release(excess << PAGE_SHIFT);
	else
		bytes = MIN(keep_release(SIZE_MAX), kept); /* clean ranges are addresses only */
	excess -= MIN(excess, bytes >> PAGE_SHIFT);
	/* descriptors go also where no page is left to go */
	for (node = 0; node < buddy_nr_nodes && (excess || !keep) && !realtime_is_on(); node++)
		bytes += trim_zone(&buddy_zones[node], &excess, true);
	for (node = 0; node < buddy_nr_nodes && zone_lazy && !keep && !realtime_is_on(); node++)
		bytes += zone_trim_lazy(node);
	return bytes;
}
