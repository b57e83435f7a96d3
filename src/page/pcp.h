/* SPDX-License-Identifier: MIT */
/*
 * page/pcp.h - per-CPU lists of free pages in front of the zones, as the kernel has them (spec 0.3)
 *
 * Why:        docs/adr/0021.
 * Data:       for each node and CPU one list for each order up to 3 and each kind of page.
 * Invariants: a block on a list has type LISTED, its order and its number of dirty pages;
 *             for its zone it is in use. nr_pages and nr_dirty are the sums of a CPU's
 *             lists. Checked by pcp_check().
 * Locks:      struct pcp.lock (RANK_PCP); the zone's lock is taken under it.
 *             Callers may hold RANK_ENGINE.
 * Flow:       called by page/, cache/, engine/ and inspect/, in place of the buddy; calls
 *             buddy.c.
 *
 * For caches whose slabs must get the pages that they would get in a kernel: front cpuslab, and the
 * choice "historical". All others go to the zones.
 *
 * A free puts its block at the head of the running CPU's list, an alloc takes the head. An empty
 * list takes a batch from the zone, which it hands out in the order in which the zone gave it. A
 * CPU that has PCP_HIGH pages after a free gives a batch back: from the tail of the list that was
 * just freed to, then of the next ones.
 */
#ifndef PAGE_PCP_H
#define PAGE_PCP_H

#include "page/page.h"

struct lock;

#define PCP_MAX_ORDER 3 /* larger blocks always come from the zone */
#define PCP_BATCH 63	/* pages; what the kernel computes for any zone of 1 GiB or more */
#define PCP_HIGH (4 * PCP_BATCH)

/* What a block is for: the kernel's migrate types of slabs. Lists of the two never mix. */
enum pcp_kind {
	PCP_NONE, /* no lists: the zone, as buddy.h says */
	PCP_UNMOVABLE,
	PCP_RECLAIMABLE, /* caches with SLAB_RECLAIM_ACCOUNT */
};

struct pcp_stats {
	unsigned long nr_pages; /* on lists */
	unsigned long nr_dirty; /* of these, pages that are resident */
	unsigned long nr_alloc; /* blocks handed out since start */
	unsigned long nr_taken; /* blocks taken from the zone since start */
};

/*
 * Prepares the lists of all CPUs and nodes, once; the caller sees to it that it runs alone. Until
 * then, and when there is no memory for them (false), there are none and all kinds are PCP_NONE.
 */
bool pcp_init(void);

/* As buddy_alloc() without `zeroed`, and buddy_free() with dirty. Any thread, any CPU. */
struct page *pcp_alloc(int node, unsigned int order, enum pcp_kind kind, bool thisnode);
void pcp_free(struct page *page, unsigned int order, enum pcp_kind kind);

/*
 * Frees them after a grace period of RCU: readers may look at their bytes until then. They lead to
 * no block any more, and count as in use. Context: as os_rcu_defer().
 */
void pcp_free_later(struct page *page, unsigned int order, enum pcp_kind kind);

/* Gives all blocks of all lists back to their zones. */
void pcp_drain(void);

/* Sums over a node's lists, read without their locks: exact when quiet. */
struct pcp_stats pcp_stats(unsigned int node);

void pcp_each_lock(void (*act)(struct lock *l));

void pcp_check(void);

#endif /* PAGE_PCP_H */
