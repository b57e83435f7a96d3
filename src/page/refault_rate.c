/* SPDX-License-Identifier: MIT */
/*
 * page/refault_rate.c - does the process spend too much of its time on refaults?
 *
 * Why:        docs/adr/0087.
 * Data:       of the process: refaults_now, and what may stay because of them; what it had used
 *             when the rate was last looked at.
 * Invariants: what may stay is bounded by the peak of each zone.
 * Locks:      a zone's purge_lock is held; of several zones one looks at a time (looking). A fork
 *             holds all purge_locks, so that nobody looks then. Limits read a hint.
 * Flow:       called by purge.c and dirty_limit.c; calls os/process/usage.c.
 */
#include "base/atomic.h"
#include "base/bits.h"
#include "os/memory/vm.h"
#include "os/process/usage.h"
#include "page/buddy.h"
#include "page/refaults.h"
#include "page/zone.h"

#define RATE_CLOCKS 8	    /* 128 ms: of so long the rate is looked at */
#define RATE_LEAST 1000ul   /* pages: fewer are never too many */
#define RATE_PART 2u	    /* of the CPU time this part is too much */
#define FAULT_NS_MOST 8000u /* that one takes, for each PAGE_SIZE of the system's page */

#define EXTRA_SMALL 2u		 /* of a peak this part may stay, */
#define EXTRA_LARGE 8u		 /* of a large one this, */
#define EXTRA_BYTES (64ul << 20) /* but so much at least */
#define EXTRA_CLOCKS 128	 /* two seconds: half of it goes */

unsigned long refaults_now;
static unsigned long extra;  /* pages; atomic, 0 for most processes */
static unsigned int looking; /* atomic */

/* looking: */
static uint32_t looked_at; /* clock */
static uint32_t high_at;   /* clock when refaults were too many, or extra was halved */
/* What the process, or its parent, had used at the last look that was worth it. */
static struct os_usage used;

static unsigned long most_extra(unsigned long peak)
{
	return MIN(peak / EXTRA_SMALL, MAX(peak / EXTRA_LARGE, EXTRA_BYTES >> PAGE_SHIFT));
}

unsigned long zone_extra(const struct buddy_zone *zone)
{
	unsigned long pages = load_relaxed(&extra);

	return likely(!pages) ? 0 : MIN(pages, most_extra(zone->stats.nr_peak));
}

/*
 * How many of these pages are too many for what was used meanwhile. No more were faulted in than
 * there were faults, each of which brings as many as the system's page has. What one takes is the
 * system's time for each: other calls have part of that, so it is bounded. Where the system has
 * less of the time than is too much (huge pages: few faults, which take long), refaults cannot have
 * it.
 */
static unsigned long too_many(unsigned long pages, const struct os_usage *from,
			      const struct os_usage *to)
{
	uint64_t cpu_ns = (to->cpu_us - from->cpu_us) * 1000;
	uint64_t system_ns = (to->system_us - from->system_us) * 1000;
	uint64_t faults = to->faults - from->faults;
	unsigned long at_once = os_page_size() / PAGE_SIZE;
	unsigned long most;

	if (!faults || system_ns * RATE_PART < cpu_ns)
		return 0;
	most = at_once *
	       (cpu_ns / CLAMP(system_ns / faults, 1u, FAULT_NS_MOST * at_once) / RATE_PART);
	pages = MIN(pages, at_once * faults);
	return pages - MIN(pages, most);
}

/*
 * The same since the last look that was worth it, which is as long as the pages were counted, or
 * longer. A child of fork() begins with nothing used. 0: none are, or it is not known.
 */
static unsigned long too_many_now(unsigned long pages)
{
	struct os_usage from = used;
	struct os_usage now;

	if (!os_usage(&now))
		return 0;
	used = now;
	if (now.cpu_us < from.cpu_us || now.system_us < from.system_us || now.faults < from.faults)
		from = (struct os_usage){ 0, 0, 0 };
	return too_many(pages, &from, &now);
}

/* As many as were too many may stay, until they are no longer. */
static void look(unsigned long peak, uint32_t now)
{
	unsigned long pages = __atomic_exchange_n(&refaults_now, 0, __ATOMIC_RELAXED);
	unsigned long before = load_relaxed(&extra);
	unsigned long more = pages < RATE_LEAST ? 0 : too_many_now(pages);

	if (unlikely(more))
		store_relaxed(&extra, MIN(before + more, MAX(before, most_extra(peak))));
	else if ((int32_t)(now - high_at) >= EXTRA_CLOCKS)
		store_relaxed(&extra, before / 2);
	else
		return;
	high_at = now;
}

void zone_look_at_rate(unsigned long peak, uint32_t now)
{
	/* A lock that is only tried: who finds it taken leaves the look to the other zone. */
	if (xchg(&looking, 1u)) /* pairs with the release below */
		return;
	if ((int32_t)(now - looked_at) >= RATE_CLOCKS || !looked_at) {
		look(peak, now);
		looked_at = now;
	}
	store_release(&looking, 0u);
}
