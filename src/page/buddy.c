/* SPDX-License-Identifier: MIT */
/*
 * page/buddy.c - power-of-two page blocks with immediate merging
 *
 * Data:       buddy_zones[node]: lists, counts and locks; page_map.dirty, page_map.free: one bit
 *             each for each page (the former by page/ranges.c).
 * Invariants: see page/buddy.h. A bit of zone.orders is set iff a list of that order is not empty.
 *             Chunks begin at multiples of the highest order and belong to one node, so buddies
 *             always exist and lie in one zone, and no two zones share a word of dirty bits.
 *             Checked by buddy_check() (buddy_check.c).
 * Locks:      zone.lock (RANK_PAGE) for lists, counts, free blocks' descriptors and dirty bits. The
 *             owner of a block in use may write its descriptors without it: a merge of the
 *             neighbouring block then sees some type that is not BUDDY.
 * Flow:       alloc: zone_alloc -> zone_take_locked -> split_locked; else arena_grow(), then other
 *             nodes; in realtime other nodes come first.
 *             free:  zone_free_locked, which merges; then purge.c when the limit is exceeded.
 */
#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "os/cpu/nodes.h"
#include "os/instrument/memcheck.h"
#include "os/instrument/probe.h"
#include "page/arena.h"
#include "page/buddy.h"
#include "page/ext.h"
#include "page/keep.h"
#include "page/numa.h"
#include "page/zone.h"

/* The kernel checks for a likely merge below MAX_ORDER - 2, where its MAX_ORDER is exclusive. */
#define LIKELY_BELOW (BUDDY_MAX_ORDER + 1 - 2)

BUILD_ASSERT(ARENA_CHUNK_ORDER == BUDDY_MAX_ORDER);

BUILD_ASSERT(256 % CLOCK_EVERY == 0); /* frees are counted modulo 256 */

struct buddy_zone buddy_zones[OS_MAX_NODES];
unsigned int buddy_nr_nodes;

/* ---- free bits ------------------------------------------------------------------------------- */

/* The bits of a block's pages lie in one word, or are whole words. */
static void set_free(unsigned long index, unsigned int order, bool is_free)
{
	unsigned long *word = &page_map.free[index / 64];
	unsigned long words = order > 6 ? 1ul << (order - 6) : 1;
	unsigned long mask;

	if (likely(order < 6)) {
		mask = ((1ul << (1u << order)) - 1) << index % 64;
		*word = is_free ? *word | mask : *word & ~mask;
		return;
	}
	for (; words-- > 0; word++)
		*word = is_free ? ~0ul : 0;
}

/* ---- blocks on lists: all with zone.lock held ------------------------------------------------ */

/* Puts a block on its list; nr_free and nr_dirty are the caller's. */
static inline void put_locked(struct buddy_zone *zone, struct page *page, unsigned int order,
			      unsigned long nr_dirty, bool tail)
{
	struct list_head *list = &zone->free[order][nr_dirty ? BUDDY_DIRTY : BUDDY_CLEAN];

	page->order = (uint8_t)order;
	page->nr_pages = (uint32_t)nr_dirty;
	store_relaxed(&page->head, (uint32_t)zone_index_of(page));
	store_relaxed(&page->type, PAGE_BUDDY);
	if (tail)
		list_add_tail(&page->lru, list);
	else
		list_add(&page->lru, list);
	zone->orders |= 1u << order;
}

void zone_remove_block_locked(struct buddy_zone *zone, struct page *page)
{
	unsigned int order = page->order;
	bool last = page->lru.next == page->lru.prev;

	list_del(&page->lru);
	store_relaxed(&page->type, PAGE_NONE);
	if (last && list_empty(&zone->free[order][BUDDY_DIRTY]) &&
	    list_empty(&zone->free[order][BUDDY_CLEAN]) &&
	    list_empty(&zone->free[order][BUDDY_BARE]))
		zone->orders &= ~(1u << order);
}

/* Cuts a block that is on no list down to an order; the upper halves go to the heads of lists. */
static void split_locked(struct buddy_zone *zone, struct page *page, unsigned int order)
{
	unsigned long nr_dirty = page->nr_pages;
	unsigned int half = page->order;

	while (half > order) {
		struct page *upper = page + (1ul << --half);
		unsigned long upper_nr =
			zone_dirty_part((struct zone_dirty){ nr_dirty, 2ul << half },
					zone_index_of(upper), 1ul << half);

		upper->stamp = page->stamp;
		put_locked(zone, upper, half, upper_nr, false);
		nr_dirty -= upper_nr;
	}
	page->order = (uint8_t)order;
	page->nr_pages = (uint32_t)nr_dirty;
}

void zone_set_bare_locked(struct buddy_zone *zone, struct page *page, unsigned int order)
{
	if (page->type != PAGE_BUDDY || page->order != order || page->nr_pages)
		return;
	list_del(&page->lru);
	list_add(&page->lru, &zone->free[order][BUDDY_BARE]);
}

/* Of a bare block that was cut down from that order, the upper halves are bare, if large enough. */
static void set_halves_bare_locked(struct buddy_zone *zone, struct page *page, unsigned int from)
{
	unsigned int least = MAX(page->order, zone_bare_order());

	while (from-- > least)
		zone_set_bare_locked(zone, page + (1ul << from), from);
}

struct page *zone_take_locked(struct buddy_zone *zone, unsigned int order, unsigned int lane)
{
	struct page *page;
	unsigned int from;
	unsigned int kind;

	if (!(zone->orders >> order))
		return NULL;
	page = zone_find_locked(zone, order, lane, &kind);
	from = page->order;
	zone_remove_block_locked(zone, page);
	split_locked(zone, page, order);
	if (unlikely(kind == BUDDY_BARE))
		set_halves_bare_locked(zone, page, from);
	set_free(zone_index_of(page), order, false);
	zone_note_taken_locked(page->node, zone_index_of(page), 1ul << order);

	zone->stats.nr_free -= 1ul << order;
	zone_add_dirty_locked(zone, -(unsigned long)page->nr_pages);
	if (unlikely(!zone_admit_locked(zone, (1ul << order) - page->nr_pages))) {
		zone_return_block_locked(zone, page, page->nr_pages, page->nr_pages);
		return NULL;
	}
	if (lane != BUDDY_NO_LANE)
		zone_note_area_locked(zone, page, from, lane);
	zone->stats.nr_alloc++;
	return page;
}

/* The buddy of a block, if it is free. */
static inline struct page *free_buddy(unsigned long index, unsigned int order)
{
	unsigned long buddy = index ^ (1ul << order);

	/* The bit first: most often it spares a look at a descriptor. */
	return zone_has_free(buddy) ? zone_free_block(buddy, order) : NULL;
}

/* The next-higher buddy of a block is free: at the tail of its list it is left for a merge. */
static bool merge_likely(unsigned long index, unsigned int order)
{
	return order < LIKELY_BELOW && free_buddy(index & ~(1ul << order), order + 1);
}

void zone_put_block_locked(struct buddy_zone *zone, unsigned long index, unsigned int order,
			   unsigned long nr_dirty, uint32_t stamp)
{
	struct page *page = page_at(index);

	page->stamp = stamp;
	put_locked(zone, page, order, nr_dirty, merge_likely(index, order));
}

void zone_merge_block_locked(struct buddy_zone *zone, unsigned long index, unsigned int order,
			     unsigned long nr_dirty, uint32_t stamp)
{
	unsigned long most_dirty = nr_dirty;
	struct page *buddy;

	while (order < BUDDY_MAX_ORDER && (buddy = free_buddy(index, order))) {
		zone_remove_block_locked(zone, buddy);
		/*
		 * The merged block has the age of the part with most dirty pages, so that a page in
		 * constant use does not keep its buddies from being purged.
		 */
		if (buddy->nr_pages > 0 && buddy->nr_pages >= most_dirty) {
			most_dirty = buddy->nr_pages;
			stamp = buddy->stamp;
		}
		nr_dirty += buddy->nr_pages;
		index &= ~(1ul << order);
		order++;
	}
	zone_put_block_locked(zone, index, order, nr_dirty, stamp);
}

/* Without a word to page/ranges.c, and held as before. */
static void free_block_locked(struct buddy_zone *zone, struct page *page, unsigned int order,
			      unsigned long nr_dirty, uint32_t stamp)
{
	unsigned long index = zone_index_of(page);

	set_free(index, order, true);
	zone->stats.nr_free += 1ul << order;
	zone_add_dirty_locked(zone, nr_dirty);
	zone_merge_block_locked(zone, index, order, nr_dirty, stamp);
}

void zone_free_locked(struct buddy_zone *zone, struct page *page, unsigned int order,
		      unsigned long nr_dirty)
{
	free_block_locked(zone, page, order, nr_dirty, zone->clock);
	zone_hold_locked(zone, nr_dirty - (1ul << order));
	zone_note_freed_locked(page->node, zone_index_of(page),
			       (struct zone_dirty){ nr_dirty, 1ul << order });
}

void zone_take_block_locked(struct buddy_zone *zone, struct page *page)
{
	zone_remove_block_locked(zone, page);
	set_free(zone_index_of(page), page->order, false);
	zone->stats.nr_free -= 1ul << page->order;
	zone_add_dirty_locked(zone, -(unsigned long)page->nr_pages);
	zone_note_taken_locked(page->node, zone_index_of(page), 1ul << page->order);
}

void zone_return_block_locked(struct buddy_zone *zone, struct page *page, unsigned long nr_dirty,
			      unsigned long was_dirty)
{
	unsigned int order = page->order;

	free_block_locked(zone, page, order, nr_dirty, page->stamp); /* the rest is as old */
	zone_hold_locked(zone, nr_dirty - was_dirty);
	zone_note_freed_locked(page->node, zone_index_of(page),
			       (struct zone_dirty){ nr_dirty, 1ul << order });
}

/* ---- alloc ----------------------------------------------------------------------------------- */

void zone_count_chunk_locked(struct buddy_zone *zone)
{
	zone->stats.nr_total += 1ul << BUDDY_MAX_ORDER;
	zone_hold_locked(zone, 1ul << BUDDY_MAX_ORDER);
}

static bool add_chunk_locked(struct buddy_zone *zone, struct page *chunk)
{
	if (!chunk)
		return false;
	if (unlikely(os_memcheck_on))
		os_memcheck_close(page_address(chunk), PAGE_SIZE << BUDDY_MAX_ORDER,
				  OS_HIDE_FROM_ALL);
	zone_count_chunk_locked(zone);
	zone_free_locked(zone, chunk, BUDDY_MAX_ORDER, 0);
	return true;
}

cold bool zone_restore_locked(struct buddy_zone *zone)
{
	return numa_has_room(zone->stats.nr_total, 1ul << BUDDY_MAX_ORDER) &&
	       add_chunk_locked(zone, zone_take_bare_locked(zone));
}

/* A chunk more for the zone, under its lock, so that two threads do not both grow. */
cold bool zone_grow_locked(struct buddy_zone *zone, unsigned int node)
{
	if (unlikely(!numa_has_room(zone->stats.nr_total, 1ul << BUDDY_MAX_ORDER)))
		return false;
	realtime_note_exceeded();
	return zone_restore_locked(zone) || add_chunk_locked(zone, arena_grow(node));
}

/* A zone that has a block, but was refused it (page/limit.h), does not grow. */
static struct page *take_or_grow_locked(struct buddy_zone *zone, unsigned int node,
					unsigned int order, unsigned int lane, bool grow)
{
	struct page *page = zone_take_locked(zone, order, lane);

	if (unlikely(!page) && !(zone->orders >> order) &&
	    (grow ? zone_grow_locked(zone, node) : zone_restore_locked(zone)))
		page = zone_take_locked(zone, order, lane);
	return page;
}

/* From the lists of a zone, or from a new chunk if grow. */
static struct page *zone_alloc(unsigned int node, unsigned int order, unsigned int lane, bool grow)
{
	struct buddy_zone *zone = &buddy_zones[node];
	bool purge = false;
	struct page *page;

	lock_acquire(&zone->lock);
	page = take_or_grow_locked(zone, node, order, lane, grow);
	/* More pages become resident, although smaller blocks may have enough dirty ones. */
	if (page && page->nr_pages < 1ul << order) {
		zone_note_clean_locked(zone, (1ul << order) - page->nr_pages);
		purge = zone_purge_due(zone);
	}
	lock_release(&zone->lock);
	if (unlikely(purge))
		zone_purge_slow(zone);
	return page;
}

/*
 * The lists of all other nodes, the nearest first. They grow only where nodes are limited: else the
 * node would have grown itself.
 */
static cold struct page *alloc_elsewhere(unsigned int node, unsigned int order)
{
	struct page *page = NULL;
	unsigned int i;

	for (i = 1; i < buddy_nr_nodes && !page; i++)
		page = zone_alloc(os_nodes.order[node][i], order, BUDDY_NO_LANE, numa_node_pages);
	return page;
}

/* Realtime: what other nodes have ready comes before more memory of the system. */
static cold struct page *alloc_ready(unsigned int node, unsigned int order)
{
	struct page *page = zone_alloc(node, order, BUDDY_NO_LANE, false);

	return page ? page : alloc_elsewhere(node, order);
}

/*
 * The last attempts before out of memory: pages on CPUs' lists, a block that is being purged (waits
 * for the purge), mappings kept for large blocks, which count against a limit of the process, and
 * resident free pages, if it is the library's limit that forbids others.
 */
static cold struct page *alloc_last(unsigned int node, unsigned int order, bool thisnode)
{
	struct buddy_zone *zone = &buddy_zones[node];
	bool may_grow = keep_release(SIZE_MAX) > 0;
	struct page *page;

	zone_drain_cpus();
	lock_acquire(&zone->purge_lock);
	lock_release(&zone->purge_lock);
	if (limit_is_near(1ul << order))
		zone_make_room(1ul << order);
	page = zone_alloc(node, order, BUDDY_NO_LANE, may_grow);
	return page || thisnode ? page : alloc_elsewhere(node, order);
}

/* Notifies valgrind and the like, and probes. */
void zone_notify_alloc(struct page *page, unsigned int order)
{
	if (unlikely(os_memcheck_on))
		os_memcheck_forget(page_address(page), PAGE_SIZE << order);
	if (unlikely(uslab_mm_page_alloc_semaphore))
		os_probe_page_alloc(page, zone_index_of(page), order);
}

static always_inline struct page *alloc(int node, unsigned int order, unsigned int lane,
					bool thisnode)
{
	unsigned int home = node < 0 ? os_current_node() : (unsigned int)node;
	struct page *page = NULL;

	if (unlikely(order > BUDDY_MAX_ORDER || home >= buddy_nr_nodes))
		return NULL;
	if (realtime_is_on() && !thisnode)
		page = alloc_ready(home, order);
	if (likely(!page))
		page = zone_alloc(home, order, lane, true);
	if (unlikely(!page) && !thisnode)
		page = alloc_elsewhere(home, order);
	if (unlikely(!page))
		page = alloc_last(home, order, thisnode);
	if (likely(page))
		zone_notify_alloc(page, order);
	return page;
}

struct page *buddy_alloc(int node, unsigned int order, bool thisnode, bool *zeroed)
{
	struct page *page = alloc(node, order, BUDDY_NO_LANE, thisnode);

	if (page && zeroed)
		*zeroed = page->nr_pages == 0 && zone_is_zero(zone_index_of(page), 1ul << order);
	return page;
}

/* Near the limit of the process resident pages count, wherever they lie. */
struct page *buddy_alloc_apart(int node, unsigned int order)
{
	bool apart = os_topology.nr_cpu_ids > 1 && !realtime_is_on() &&
		     !limit_is_near(1ul << order);

	return alloc(node, order, apart ? os_current_lane() : BUDDY_NO_LANE, false);
}

bool zone_take_batch(unsigned int node, unsigned int order, unsigned int want,
		     struct list_head *blocks)
{
	struct buddy_zone *zone = &buddy_zones[node];
	unsigned long nr_clean = 0;
	bool purge = false;
	struct page *page;

	lock_acquire(&zone->lock);
	while (want > 0) {
		page = take_or_grow_locked(zone, node, order, BUDDY_NO_LANE, !realtime_is_on());
		if (!page)
			break;
		nr_clean += (1ul << order) - page->nr_pages;
		list_add_tail(&page->lru, blocks);
		want--;
	}
	if (nr_clean) {
		zone_note_clean_locked(zone, nr_clean);
		purge = zone_purge_due(zone);
	}
	lock_release(&zone->lock);
	return purge;
}

/* ---- free ------------------------------------------------------------------------------------ */

bool zone_unlock_after_free(struct buddy_zone *zone)
{
	bool purge = false;

	/* The clock is read at every 64th free, and while more is dirty than may stay for good. */
	if (unlikely(++zone->frees % CLOCK_EVERY == 0 ||
		     zone_idle(zone) > zone_lasting_limit(zone))) {
		zone_tick_locked(zone);
		purge = zone_free_is_due_locked(zone);
	}
	lock_release(&zone->lock);
	return purge;
}

static inline void notify_free(const struct page *page, unsigned long nr_pages)
{
	if (unlikely(os_memcheck_on))
		os_memcheck_close(page_address(page), nr_pages * PAGE_SIZE, OS_HIDE_FROM_ALL);
	if (unlikely(uslab_mm_page_free_semaphore))
		zone_probe_blocks(zone_index_of(page), nr_pages, os_probe_page_free);
}

void zone_retire(struct page *page, unsigned long nr_pages)
{
	notify_free(page, nr_pages);
	page_forget_block(page, nr_pages);
}

void zone_retire_run(struct page *page, unsigned long nr_pages)
{
	notify_free(page, nr_pages);
	page_ext_forget(page);
}

void buddy_free(struct page *page, unsigned int order, bool dirty)
{
	struct buddy_zone *zone = &buddy_zones[page->node];
	unsigned long index = zone_index_of(page);
	unsigned long nr_pages = 1ul << order;

	ASSERT(order <= BUDDY_MAX_ORDER && index % nr_pages == 0);
	ASSERT(!page_is_free(page));
	zone_retire(page, nr_pages);
	lock_acquire(&zone->lock);
	zone_note_peak_locked(zone);
	if (dirty)
		zone_set_dirty(index, nr_pages, true);
	zone_free_locked(zone, page, order, dirty ? nr_pages : zone_count_dirty(index, nr_pages));
	if (unlikely(zone_unlock_after_free(zone)))
		zone_purge_slow(zone);
}

bool zone_give_batch(unsigned int node, struct list_head *blocks)
{
	struct buddy_zone *zone = &buddy_zones[node];
	struct list_head *pos;
	struct list_head *tmp;

	lock_acquire(&zone->lock);
	zone_note_peak_locked(zone);
	list_for_each_safe(pos, tmp, blocks) {
		struct page *page = list_entry(pos, struct page, lru);
		unsigned long nr_pages = 1ul << page->order;

		/*
		 * fewer than all: nobody wrote to it since it was handed out,
		 * and its bits are right
		 */
		if (page->nr_pages == nr_pages)
			zone_set_dirty(zone_index_of(page), nr_pages, true);
		zone_free_locked(zone, page, page->order, page->nr_pages);
	}
	return zone_unlock_after_free(zone);
}

/* ---- start, counts, fork --------------------------------------------------------------------- */

bool buddy_init(unsigned int nr_nodes)
{
	unsigned int order;
	unsigned int list;

	for (; buddy_nr_nodes < MIN(nr_nodes, OS_MAX_NODES); buddy_nr_nodes++) {
		struct buddy_zone *zone = &buddy_zones[buddy_nr_nodes];

		if (!zone_make_ranges(buddy_nr_nodes))
			return false;
		lock_init(&zone->lock, RANK_PAGE);
		lock_init(&zone->purge_lock, RANK_PURGE);
		for (order = 0; order <= BUDDY_MAX_ORDER; order++)
			for (list = 0; list < BUDDY_LISTS; list++)
				list_init(&zone->free[order][list]);
		zone_tick_locked(zone); /* no lock: not published yet */
		zone->aged = zone->clock;
		zone->purge_after = zone->clock;
	}
	return true;
}

void buddy_fit_addresses(void (*limit_is)(unsigned long pages))
{
	if (!buddy_nr_nodes)
		return;
	lock_acquire(&buddy_zones[0].lock); /* holds fork off, see page/arena.c */
	arena_fit(limit_is);
	lock_release(&buddy_zones[0].lock);
}

/* Purge locks first: no block is off its list, and no madvise under way, while the fork happens. */
void buddy_each_lock(void (*act)(struct lock *l))
{
	for (unsigned int node = 0; node < buddy_nr_nodes; node++)
		act(&buddy_zones[node].purge_lock);
	for (unsigned int node = 0; node < buddy_nr_nodes; node++)
		act(&buddy_zones[node].lock);
}
