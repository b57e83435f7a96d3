/* SPDX-License-Identifier: MIT */
/*
 * page/refault_rate.c - does the process spend too much of its time on refaults?
 *
 * Why:        docs/adr/0087.
 * Data:       of the process: refaults_now, and what may stay because of them; what it had used
 *             when the rate was last looked at.
 * Invariants: what may stay is bounded by the peak of each zone.
 * Locks:      zone.lock is held, but for a hint; of several zones one looks at a time (looking).
 *             A fork holds all zones' locks, so that nobody looks then.
 * Flow:       called by refaults.c and refaults.h, and for zone_dirty_limit() in page/zone.h; calls
 *             os/process/usage.c.
 */
#include "base/atomic.h"
#include "base/bits.h"
#include "os/cpu/cpu.h"
#include "os/process/usage.h"
#include "page/buddy.h"
#include "page/zone.h"

#define RATE_CLOCKS 8u	  /* 128 ms: of so long the rate is looked at */
#define RATE_LEAST 1000ul /* pages: fewer are never too many */
#define RATE_PART 2u	  /* of the CPU time this part is too much */
#define FAULT_NS 3000u	  /* where the system does not say what one takes, with its purge */
#define FAULT_NS_MOST 8000u

#define EXTRA_SMALL 2u		 /* of a peak this part may stay, */
#define EXTRA_LARGE 8u		 /* of a large one this, */
#define EXTRA_BYTES (64ul << 20) /* but so much at least */
#define EXTRA_CLOCKS 128u	 /* two seconds: half of it goes */

unsigned long refaults_now;
static uint32_t looks;		/* atomic */
static unsigned int nr_threads; /* that have had refaults since the last look; atomic, a hint */
static unsigned long extra;	/* pages; atomic, 0 for most processes */
static bool looking;		/* atomic */

/* looking: */
static uint32_t looked_at; /* clock */
static uint32_t high_at;   /* clock when refaults were too many, or extra was halved */
/* What the process had used at the last look that was worth it, or in its parent: then nothing. */
static struct os_usage used;

void refaults_note_slow(unsigned long nr_pages)
{
	static __thread uint32_t noted __attribute__((tls_model("initial-exec")));
	uint32_t now = load_relaxed(&looks) + 1;

	if (noted != now) {
		noted = now;
		fetch_add(&nr_threads, 1);
	}
	fetch_add(&refaults_now, nr_pages);
}

static unsigned long most_extra(const struct buddy_zone *zone)
{
	unsigned long peak = zone->stats.nr_peak;

	return MIN(peak / EXTRA_SMALL, MAX(peak / EXTRA_LARGE, EXTRA_BYTES >> PAGE_SHIFT));
}

unsigned long zone_extra(const struct buddy_zone *zone)
{
	unsigned long pages = load_relaxed(&extra);

	return likely(!pages) ? 0 : MIN(pages, most_extra(zone));
}

/* What one takes is the system's time for each: other calls have part of that, so it is bounded. */
static uint64_t fault_ns(const struct os_usage *from, const struct os_usage *to)
{
	uint64_t ns = (to->system_us - from->system_us) * 1000;
	uint64_t faults = MAX(to->faults - from->faults, 1ul);

	return CLAMP(ns / faults, 1u, FAULT_NS_MOST);
}

/* Where CPU time is not known: of so many units, as if all threads with refaults had been busy. */
static uint64_t busy_ns(uint32_t clocks, unsigned int threads)
{
	return ((uint64_t)clocks << BUDDY_CLOCK_SHIFT) * 1000000 *
	       CLAMP(threads, 1u, os_topology.nr_cpu_ids);
}

/*
 * How many pages are too many for so many units. The CPU time is that of these units or longer, so
 * it is no less.
 */
static unsigned long too_many(uint32_t clocks, unsigned int threads)
{
	struct os_usage from = used;
	struct os_usage now;

	if (!os_usage(&now))
		return busy_ns(clocks, threads) / FAULT_NS / RATE_PART;
	used = now;
	if (now.cpu_us < from.cpu_us || now.faults < from.faults) /* a child of fork() */
		from = (struct os_usage){ 0, 0, 0 };
	return (now.cpu_us - from.cpu_us) * 1000 / fault_ns(&from, &now) / RATE_PART;
}

/* Of those that were taken again in so many units as many as were too many may stay. */
static void look(const struct buddy_zone *zone, uint32_t clocks)
{
	unsigned long pages = __atomic_exchange_n(&refaults_now, 0, __ATOMIC_RELAXED);
	unsigned int threads = __atomic_exchange_n(&nr_threads, 0, __ATOMIC_RELAXED);
	unsigned long most = pages < RATE_LEAST ? pages : too_many(clocks, threads);

	if (unlikely(pages > most))
		store_relaxed(&extra, MIN(extra + pages - most, most_extra(zone)));
	else if (zone->clock - high_at >= EXTRA_CLOCKS)
		store_relaxed(&extra, extra / 2);
	else
		return;
	high_at = zone->clock;
}

void zone_look_at_rate_locked(const struct buddy_zone *zone)
{
	if (__atomic_exchange_n(&looking, true, __ATOMIC_ACQUIRE))
		return; /* pairs with the release below */
	if (zone->clock - looked_at >= RATE_CLOCKS) {
		look(zone, zone->clock - looked_at);
		looked_at = zone->clock;
		store_relaxed(&looks, looks + 1);
	}
	store_release(&looking, false);
}
