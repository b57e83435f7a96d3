/* SPDX-License-Identifier: MIT */
/*
 * page/buddy.h - power-of-two page blocks with immediate merging, one zone per node (spec 0.3)
 *
 * Why:        docs/adr/0003, docs/adr/0006.
 * Data:       zone.free[order][DIRTY, CLEAN or BARE] lists of free blocks, orders 0..10; one bit
 *             for each page of the arena: may hold non-zero bytes, that is, may be resident.
 * Invariants: a free block is on exactly one list; two free buddies never coexist below order 10;
 *             sum(count << order) == nr_free; a block's nr_pages is the number of its dirty bits,
 *             their sum is nr_dirty; CLEAN and BARE lists hold the blocks without any, BARE ones
 *             those whose descriptors are not resident (page/purge_inside.c). buddy_check().
 *             While no purge is under way held == nr_total - nr_free + nr_dirty.
 * Locks:      zone.lock (RANK_PAGE); callers may hold RANK_ENGINE. zone.purge_lock (RANK_PURGE)
 *             around a purge, in which zone.lock is dropped while the system works.
 * Flow:       called by api/, cache/, debug/, engine/, front/array.c, front/array_exchange.c,
 *             front/array_limit.c, front/array_sheaf.h, malloc/ and page/; calls arena.c,
 *             os_purge, and pcp.c and pcp_runs.c to drain CPUs when memory is short. fit.c,
 *             purge.c and refaults.c are parts of it.
 *
 * Placement as in the kernel: smallest sufficient order, head of its list; a split keeps the lower
 * half and puts the upper halves at the head; a freed block goes to the head, or to the tail when
 * its next-higher buddy is free already (it will likely merge soon). No migrate types: user space
 * has no movable pages.
 *
 * One deviation: within an order, blocks without a resident page come after all the others, so that
 * memory that the process pays for already is used first, and last those without descriptors. The
 * three lists of an order are that one list cut in three. A page in use keeps its bit as it was
 * when it was handed out, which is what buddy_free(dirty = false) relies on.
 */
#ifndef PAGE_BUDDY_H
#define PAGE_BUDDY_H

#include "os/cpu/cpu.h"
#include "os/lock/lock.h"
#include "page/page.h"

#define BUDDY_MAX_ORDER 10
#define BUDDY_CLOCK_SHIFT 4 /* milliseconds to units of zone.clock, and of struct page.stamp */

enum { BUDDY_DIRTY, BUDDY_CLEAN, BUDDY_BARE, BUDDY_LISTS };

struct buddy_stats {
	unsigned long nr_free;	 /* pages in free blocks of the zone */
	unsigned long nr_dirty;	 /* of these, pages that are resident */
	unsigned long nr_total;	 /* pages that the node's zone was given */
	unsigned long nr_purged; /* pages given back to the system since start */
	unsigned long nr_alloc;	 /* blocks handed out since start */
	unsigned long nr_peak;	 /* most pages in use at once, those of page/large.c included */
};

#define BUDDY_NO_LANE OS_LANES

struct buddy_area {
	uint32_t number; /* from 1; 0: none */
	uint32_t passed; /* how often other lanes passed it by */
};

struct buddy_zone {
	struct lock lock;	/* everything below but purge_lock */
	struct lock purge_lock; /* taken before lock; at most one purge of a zone at a time */
	uint32_t orders;	/* bit o: a list of order o is not empty */
	uint32_t may_wait;	/* idle pages: no more, no purge, while the clock stays; atomic */
	uint32_t clock;		/* os_clock_ms() >> 4, as of one of the last 64 frees */
	uint32_t aged;		/* clock at the last search for old blocks */
	uint32_t halved; /* clock when both below were last halved, or use came back to its peak */
	uint32_t purge_after;	     /* no purge before this clock: the last one achieved nothing */
	unsigned long purged_lately; /* pages purged and not taken again; halves with time */
	unsigned long refaults;	     /* pages taken again soon after a purge; halves with time */
	/*
	 * the same over seconds, for a program that comes back to its peak: they halve while it
	 * does not
	 */
	unsigned long slow_purged;
	unsigned long slow_refaults;
	uint32_t slow_since; /* clock when both were last halved, or use came back to its peak */
	bool has_sunk;	     /* since then use was well below its peak */
	uint8_t frees;	     /* blocks given back, modulo 256; every 64th reads the clock */
	/*
	 * the same for page runs, over longer times: fit_refaults halves while none finds resident
	 * pages
	 */
	unsigned long fit_purged;
	unsigned long fit_refaults;
	uint32_t fit_halved; /* clock when fit_purged was last halved */
	uint32_t fit_used; /* clock when a page run last got resident pages, or fit_refaults halved */
	/* the same for all pages together, over longer times; see buddy_falls() */
	unsigned long fallen;
	uint32_t fallen_halved;	  /* clock when it was last halved */
	uint32_t falls_until;	  /* clock until which buddy_falls(); 0: it does not; atomic */
	unsigned long nr_purging; /* pages of blocks that are off their lists to be purged */
	unsigned long held; /* pages in use or dirty, see page/limit.h; read without the lock */
	struct buddy_area areas[OS_LANES]; /* page/area.c */
	struct buddy_stats stats;	   /* read by tools from outside, without the lock */
	struct list_head free[BUDDY_MAX_ORDER + 1][BUDDY_LISTS]; /* struct page.lru */
} __attribute__((aligned(CACHE_LINE)));

/* By node; tools read it from outside. */
extern struct buddy_zone buddy_zones[OS_MAX_NODES];
extern unsigned int buddy_nr_nodes;

/*
 * Prepares the zones of nr_nodes nodes; call after arena_init(). Again with more nodes: adds those
 * (a made-up topology, before other threads allocate). false: no memory, fewer nodes.
 */
bool buddy_init(unsigned int nr_nodes);

/*
 * A block of 1 << order pages from node (-1: the current CPU's), or, unless thisnode, from the next
 * node that has one. The block is on no list, type NONE; *zeroed (may be NULL): all its bytes are
 * known to be zero. NULL: out of memory. The caller marks it with page_set_block().
 */
struct page *buddy_alloc(int node, unsigned int order, bool thisnode, bool *zeroed);

/*
 * The same, from the nearest node that has one, for pages that the current CPU will work on most:
 * where other CPUs take none, if the node has such pages. See page/area.c.
 */
struct page *buddy_alloc_apart(int node, unsigned int order);

/*
 * fit.c: nr_pages (9 or more) free pages of the current CPU's node, where the fewest become newly
 * resident; not a buddy block, and not aligned. Types NONE; *zeroed as above. NULL: the search,
 * which is bounded, found no such range; buddy_alloc() may get one.
 */
struct page *buddy_alloc_fit(unsigned long nr_pages, bool *zeroed);

/*
 * fit.c: such pages of the smallest range that has some resident ones, of the home node if it has
 * one, in a time that is bounded: for realtime memory, of which all is resident. NULL: none.
 */
struct page *buddy_alloc_first(unsigned long nr_pages, bool *zeroed);

/*
 * Frees a block (class bytes are cleared, types reset here). dirty: it was written to; else its
 * contents are those that it had when it was allocated.
 */
void buddy_free(struct page *page, unsigned int order, bool dirty);

/*
 * buddy_try.c: the same without waiting, for calls from any context (lock_tries_begin()). alloc: a
 * block that the node has free now; NULL: it has none, or its lock is held. free: false: the lock
 * is held, nothing was done.
 */
struct page *buddy_try_alloc(unsigned int node, unsigned int order);
bool buddy_try_free(struct page *page, unsigned int order);
/*
 * For these: has the node a free block of that order, or larger? Else it gets a chunk; not in
 * realtime. buddy_replenish() does that where buddy_try_alloc() has failed. Context: no lock held.
 */
void buddy_provide(unsigned int node, unsigned int order);
void buddy_replenish(void);

/* The same for nr_pages consecutive pages that need not be a power of two. */
void buddy_free_range(struct page *page, unsigned long nr_pages, bool dirty);

/* The same for pages of a page run, whose descriptors lead to no block but that of its head. */
void buddy_free_run(struct page *page, unsigned long nr_pages, bool dirty);

/*
 * Takes the free pages [page, page + nr_pages) out of their free blocks, all or none (to grow a
 * page run in place). true: the caller owns them (types NONE). *zeroed as above.
 */
bool buddy_claim_range(struct page *page, unsigned long nr_pages, bool *zeroed);

/*
 * Gives dirty free memory of all nodes, that on CPUs' lists included, and mappings kept by
 * page/keep.c, back to the system, but for keep_bytes. Returns the bytes given back.
 */
size_t buddy_trim(size_t keep_bytes);

/*
 * Purge policy, for each node: at most limit_bytes of dirty free pages stay, for about delay_ms.
 * Beyond the limit the largest blocks go at once; what has been free for longer than the delay goes
 * at one of the next frees. Set from USLAB_CONF=purge_limit=,purge_delay=.
 *
 * Default limit: max(256 KiB, 1/32 of the pages in use), plus the zone's refaults: pages that were
 * taken again within some seconds after a purge. To purge a page and fault it in again costs 0.5 to
 * 2 us, so a program that frees and allocates in turns pays for its first turns and then keeps its
 * memory, if a turn takes less than delay_ms; one that frees for good, or maps memory itself, does
 * not keep it. Of a program that sleeps after its last turn nobody can take it, so turns of more
 * than 64 ms, and 2 us for each page that is purged and taken again (page/refaults.c), let 32 MiB
 * stay at most. Never more than what was in use at the peak, but, where pages were taken again
 * sooner, by page runs within half a second, for gaps between blocks (page/dirty_limit.c); and
 * where refaults take half of the CPU time, up to half of the peak more (page/refault_rate.c). Used
 * pages include the mappings of page/large.c, dirty ones those of page/keep.c. limit_bytes SIZE_MAX
 * is this default.
 */
#define BUDDY_PURGE_DELAY_MS 1000 /* default */
extern uint32_t zone_purge_delay; /* in units of 16 ms, like zone.clock; atomic; read by tools */
void buddy_set_purge(size_t limit_bytes, unsigned int delay_ms);

/*
 * Does the memory in use fall, and not come back? So it is said for half a second after a purge, or
 * until pages are taken again, if more pages of the current CPU's node were purged lately (half of
 * them count after half a second), and not taken again, than are in use. A hint, without a lock.
 */
bool buddy_falls_still(const struct buddy_zone *zone);
static inline bool buddy_falls(void)
{
	const struct buddy_zone *zone = &buddy_zones[os_current_node()];

	return unlikely(__atomic_load_n(&zone->falls_until, __ATOMIC_RELAXED)) &&
	       buddy_falls_still(zone);
}

/*
 * A hint, without a lock: are many free pages of the node resident? Those that nobody takes go at
 * frees of pages (buddy_set_purge()), or in buddy_rebalance().
 */
#define BUDDY_MANY_WAIT (4ul << 20 >> PAGE_SHIFT)
static inline bool buddy_many_wait(unsigned int node)
{
	return __atomic_load_n(&buddy_zones[node].stats.nr_dirty, __ATOMIC_RELAXED) >
	       BUDDY_MANY_WAIT;
}

/*
 * From now on purges leave it to the system when it takes pages (os_purge_lazily()); what
 * buddy_trim() gives back is gone at once all the same. Before there are threads. 0 or -ENOMEM.
 */
int buddy_purge_lazily(void);

/*
 * Purges as a free does that looks at the clock, of what is due at least one block. To be called
 * before mappings outside of the arena shrink, and after they grow, since they count for the limit;
 * and where nothing may be freed for long. false: it is late (buddy_purge_until()), and more may be
 * due.
 */
bool buddy_rebalance(void);

/*
 * Automatic purges that this thread's frees set off end at that time (os_clock_us()), but for the
 * one system call that is under way: what is left goes with a later free, of any thread. They purge
 * several blocks at once, and begin only while so much time is left: late ones would be small, and
 * each system call interrupts all CPUs of the process. 0: they are as any other thread's.
 */
void buddy_purge_until(uint64_t end_us, uint64_t least_us);

/*
 * For who frees a great part of the heap in small blocks, most of which will have free neighbours
 * soon: for the next second a quarter of the pages in use may stay, so that blocks merge before
 * they are purged, and there are fewer system calls. Without a limit of the user's only. false: no
 * longer; buddy_rebalance() purges what has merged.
 */
void buddy_expect_merges(bool on);

/* RLIMIT_AS has changed, see arena_fit(). */
void buddy_fit_addresses(void (*limit_is)(unsigned long pages));

/*
 * Counts of a node; nr_free and nr_dirty with what CPUs keep (page/pcp.h, page/pcp_runs.h), which
 * the zone has as used.
 */
void buddy_stats(unsigned int node, struct buddy_stats *stats);

/* Pages in use of all nodes, mappings of page/large.c counted once. Takes each zone's lock. */
unsigned long buddy_used(void);

void buddy_each_lock(void (*act)(struct lock *l));

void buddy_check(void);

#endif /* PAGE_BUDDY_H */
