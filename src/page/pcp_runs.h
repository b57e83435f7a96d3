/* SPDX-License-Identifier: MIT */
/*
 * page/pcp_runs.h - freed page runs that a CPU keeps for the next ones that are as long
 *
 * Why:        docs/adr/0075, docs/adr/0083.
 * Data:       for each CPU up to PCP_RUNS_SLOTS page runs of its node, and the lengths that were
 *             asked for last and were not there.
 * Invariants: a page run that is kept has type KEPT and its length; for its zone it is in use, and
 *             all of it is dirty. run_counters counts it. Checked by pcp_runs_check().
 * Locks:      none for slots, whose words are exchanged. make_lock (RANK_PCP), under which
 *             page/meta.c's is taken.
 * Flow:       called by run.c before it asks the zone, by buddy_check.c, buddy_stats.c, purge.c,
 *             zone.h, cache/fork.c and inspect/usage.c; calls buddy.c, run.c.
 *
 * The zone's lock is every CPU's, and a page run is looked for there, cut out and merged again. A
 * program that takes and frees buffers of some sizes gets them here, from the CPU's own lines.
 *
 * A page run is kept only if its length was asked for here twice and not found, not long ago: so
 * those of ever other lengths do not come here, nor what is needed once, nor the last ones of a
 * program that is done.
 */
#ifndef PAGE_PCP_RUNS_H
#define PAGE_PCP_RUNS_H

#include "page/page.h"

struct lock;

#define PCP_RUNS_SLOTS 8u     /* page runs that a CPU keeps */
#define PCP_RUNS_LENGTHS 8u   /* lengths that it remembers */
#define PCP_RUNS_LEAST 3ul    /* pages; kmalloc() has caches for shorter ones */
#define PCP_RUNS_MOST 256ul   /* pages; to write to longer ones takes much longer than the zone */
#define PCP_RUNS_ROOM 32ul    /* pages that a CPU may keep in any process */
#define PCP_RUNS_OF_LIMIT 8ul /* of a limit of the user's (purge_limit): all CPUs, this part */
#define PCP_RUNS_SHARE 32ul   /* in a larger one all CPUs together keep that part of its pages */

struct pcp_runs_stats {
	unsigned long count; /* page runs that are kept */
	unsigned long pages;
};

/*
 * A page run of just so many pages, whose bytes may be anything, type RUN; NULL: this CPU has none.
 * note: that is remembered, and what is freed that is as long is kept from the second time on.
 * Any thread.
 */
struct page *pcp_runs_take(unsigned long nr_pages, bool note);

/*
 * Keeps a page run that run_counters counts, whose type is NONE. Others may go to the zone for it.
 * false: the caller frees it. Any thread, no lock held.
 */
bool pcp_runs_put(struct page *page, unsigned long nr_pages);

/*
 * To the zones: all; those of a node's CPUs that were kept for zone_purge_delay.
 * Context: no lock held.
 */
void pcp_runs_drain(void);
void pcp_runs_age(unsigned int node);

/* Sums over the CPUs of a node: exact when quiet. */
struct pcp_runs_stats pcp_runs_stats(unsigned int node);

void pcp_runs_each_lock(void (*act)(struct lock *l));

void pcp_runs_check(void);

#endif /* PAGE_PCP_RUNS_H */
