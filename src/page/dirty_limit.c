/* SPDX-License-Identifier: MIT */
/*
 * page/dirty_limit.c - how many free pages may stay resident, and whether a free has to purge
 *
 * Why:        docs/adr/0028, docs/adr/0077, docs/adr/0087.
 * Data:       zone.may_wait; zone.h, refaults.c and purge.c set it to 0.
 * Invariants: the limit never falls below zone_lasting_limit().
 * Locks:      zone.lock; counts of mappings are read as they are. Purges and buddy_set_purge() set
 *             may_wait without it: what a free sets at that moment holds until the clock goes on.
 * Flow:       called by buddy.c, fit.c and purge.c; calls refault_rate.c.
 */
#include "base/atomic.h"
#include "base/bits.h"
#include "page/buddy.h"
#include "page/zone.h"

#define LARGE_MIN (64ul << 20 >> PAGE_SHIFT)
#define SMALL_GAPS (5ul << 20 >> PAGE_SHIFT)
#define SLOW_MOST (32ul << 20 >> PAGE_SHIFT)
#define SLOW_LEAST_PEAK (8ul << 20 >> PAGE_SHIFT)

/*
 * Whole pages that are allocated and freed in all sizes leave gaps that the next ones do not fit
 * into: how many dirty pages may stay in such gaps, beyond the peak, if there were refaults. A
 * classic heap keeps all its gaps, and its peak includes them. Gaps grow with the size of blocks.
 * For page runs in the arena:
 */
static unsigned long run_gaps(void)
{
	unsigned long runs = load_relaxed(&run_counters.pages);
	unsigned long large = load_relaxed(&run_big_pages);
	unsigned long big = MIN(large, runs);
	unsigned long small = runs - big;

	return big / 10 + small / 32 + MIN(small / 20, SMALL_GAPS);
}

/*
 * For slabs, which leave gaps that no slab of a higher order fits into: a 32nd of their pages, and
 * 1 MiB or a quarter of a small peak: a small heap whose slabs are several pages each would purge
 * what it takes again in each of its turns.
 */
static unsigned long slab_gaps(const struct buddy_zone *zone)
{
	unsigned long used = zone_used_here(zone);
	unsigned long runs = load_relaxed(&run_counters.pages);

	return (used - MIN(used, runs)) / 32 + MIN(zone->stats.nr_peak / 4, ZONE_SLAB_GAPS);
}

/* For mappings, if they have more than LARGE_MIN: 1/32, and less if there are few. */
static unsigned long large_gaps(void)
{
	unsigned long large = load_relaxed(&large_counters.bytes) >> PAGE_SHIFT;
	unsigned long count = load_relaxed(&large_counters.count);

	return MIN(large / 512 * MIN(count, 16ul), large - MIN(large, LARGE_MIN));
}

/* Refaults of mappings in pages; below KEEP_MIN_REFAULTS they count as none. */
static unsigned long refaults_of_kept(void)
{
	size_t refaults = load_relaxed(&keep_refaults);

	return refaults < KEEP_MIN_REFAULTS ? 0 : refaults >> PAGE_SHIFT;
}

/*
 * Bounded, since of a program that sleeps after its last turn nobody takes what waits; none in
 * small heaps, which stay small.
 */
unsigned long zone_slow_refaults(const struct buddy_zone *zone)
{
	return zone->stats.nr_peak < SLOW_LEAST_PEAK ? 0 : MIN(zone->slow_refaults, SLOW_MOST);
}

unsigned long zone_dirty_limit(const struct buddy_zone *zone)
{
	unsigned long used = zone_used(zone);
	unsigned long below_peak = zone->stats.nr_peak - MIN(used, zone->stats.nr_peak);
	unsigned long limit = zone_lasting_limit(zone);
	unsigned long kept = refaults_of_kept();
	unsigned long soon;
	unsigned long slow;

	if (unlikely(load_relaxed(&zone_purge_limit) != ZONE_LIMIT_AUTO))
		return limit;
	soon = MIN(zone->refaults + zone->fit_refaults + kept,
		   below_peak + MIN(zone->fit_refaults, run_gaps()) + MIN(kept, large_gaps()) +
			   MIN(zone->refaults, slab_gaps(zone)));
	slow = zone_slow_refaults(zone);
	slow = slow ? MIN(slow + zone->fit_refaults + kept, below_peak) : 0;
	return MAX(limit + soon, slow) + zone_extra(zone);
}

/* limit: zone_dirty_limit(). The last purge did not fail, and it is not left to steps. */
static bool is_due(const struct buddy_zone *zone, unsigned long limit)
{
	return unlikely(zone_idle(zone) > limit) && !realtime_is_on() &&
	       (int32_t)(zone->clock - zone->purge_after) >= 0 && !zone_purge_waits(zone);
}

bool zone_purge_due(const struct buddy_zone *zone)
{
	return is_due(zone, zone_dirty_limit(zone));
}

/*
 * If n pages in use become free the limit falls by less than n/2, so half of the way to it no purge
 * is due, and may_wait says where that is. Whatever else lowers the limit resets may_wait: the
 * clock (counts halve), a purge, pages that are taken and were not resident, buddy_rebalance(),
 * which comes with mappings and merges. What other nodes and refaults of mappings lower is seen
 * when the clock goes on.
 */
bool zone_free_is_due_locked(struct buddy_zone *zone)
{
	unsigned long idle = zone_idle(zone);
	unsigned long limit;

	if (likely(idle < load_relaxed(&zone->may_wait)))
		return false;
	if (zone_aging_due(zone))
		return true;
	limit = zone_dirty_limit(zone);
	if (idle < limit)
		store_relaxed(&zone->may_wait,
			      (uint32_t)MIN(idle + (limit - idle) / 2, UINT32_MAX));
	return is_due(zone, limit);
}
