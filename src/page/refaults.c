/* SPDX-License-Identifier: MIT */
/*
 * page/refaults.c - counts of what was purged and taken again fade with time; does use fall
 *
 * Why:        docs/adr/0028, docs/adr/0065, docs/adr/0077.
 * Data:       zone.clock; purged_lately, refaults and the others beside them, and when each was
 *             last halved; falls_until.
 * Invariants: see page/buddy.h.
 * Locks:      zone.lock, but for hints.
 * Flow:       called by buddy.c, fit.c and purge.c, and for buddy_falls(). What the counts allow:
 *             page/dirty_limit.c. They are raised in page/zone.h.
 */
#include "base/atomic.h"
#include "base/bits.h"
#include "os/time/clock.h"
#include "page/buddy.h"
#include "page/zone.h"

#define LONGER 8u  /* half-lives */
#define SLOWER 32u /* likewise: two seconds */

#define CLOCK_PAGES 8192ul /* are purged and faulted in again in a unit of zone.clock, 2 us each */
#define CLOCKS_MOST 24ul   /* 384 ms: who pauses for longer gives most of it back */

uint32_t zone_half_life = 64 >> BUDDY_CLOCK_SHIFT;

/* ---- counts ---- */

static unsigned long halve(unsigned long pages, uint32_t halvings)
{
	return halvings < 64 ? pages >> halvings : 0;
}

static uint32_t halvings_since(uint32_t since, uint32_t half_lives, uint32_t now)
{
	return (now - since) / (half_lives * load_relaxed(&zone_half_life));
}

/* Over longer times: for page runs, which are larger and fewer, and for what falls. */
static void halve_since(unsigned long *pages, uint32_t *since, uint32_t now)
{
	uint32_t halvings = halvings_since(*since, LONGER, now);

	if (!halvings)
		return;
	*since = now;
	*pages = halve(*pages, halvings);
}

/*
 * To purge many pages and to fault them in again takes longer than a half-life. So it is longer
 * then: else a program in turns would be slow because it faults, and fault because it is slow.
 */
static uint32_t half_life(const struct buddy_zone *zone)
{
	unsigned long pages = MIN(zone->refaults + zone->purged_lately, zone->stats.nr_peak);

	return load_relaxed(&zone_half_life) + (uint32_t)MIN(pages / CLOCK_PAGES, CLOCKS_MOST);
}

void zone_tick_locked(struct buddy_zone *zone)
{
	uint32_t now = (uint32_t)(os_clock_ms() >> BUDDY_CLOCK_SHIFT);
	uint32_t halvings;

	zone->has_sunk |= zone_used(zone) < zone->stats.nr_peak / 4 * 3;
	if (now == zone->clock)
		return;
	store_relaxed(&zone->clock, now); /* page/pcp_runs.c reads it without the lock */
	zone_limit_fell(zone);
	halvings = (now - zone->halved) / half_life(zone);
	if (halvings) {
		zone->halved = now;
		zone->purged_lately = halve(zone->purged_lately, halvings);
		zone->refaults = halve(zone->refaults, halvings);
	}
	halvings = halvings_since(zone->slow_since, SLOWER, now);
	if (halvings) {
		zone->slow_since = now;
		zone->slow_purged = halve(zone->slow_purged, halvings);
		zone->slow_refaults = halve(zone->slow_refaults, halvings);
	}
	halve_since(&zone->fit_purged, &zone->fit_halved, now);
	halve_since(&zone->fit_refaults, &zone->fit_used, now);
	halve_since(&zone->fallen, &zone->fallen_halved, now);
}

/* ---- falls ---- */

void zone_note_fall_locked(struct buddy_zone *zone)
{
	uint32_t until = zone->clock + LONGER * load_relaxed(&zone_half_life);

	store_relaxed(&zone->falls_until, zone_has_fallen(zone) ? MAX(until, 1u) : 0);
}

bool buddy_falls_still(const struct buddy_zone *zone)
{
	uint32_t now = (uint32_t)(os_clock_ms() >> BUDDY_CLOCK_SHIFT);

	return (int32_t)(load_relaxed(&zone->falls_until) - now) > 0;
}
