/* SPDX-License-Identifier: MIT */
/*
 * page/run.c - whole pages for allocations larger than any cache's objects
 *
 * Data:       run_counters, run_big_pages.
 * Invariants: see page/run.h. Checked by run_check().
 * Locks:      none of its own; a page run's descriptors belong to its owner.
 * Flow:       see run.h; calls buddy.c, fit.c, pcp_runs.c, large.c.
 */
#include <string.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "os/cpu/nodes.h"
#include "page/buddy.h"
#include "page/large.h"
#include "page/numa.h"
#include "page/pcp_runs.h"
#include "page/realtime.h"
#include "page/run.h"

#define RUN_MAX_PAGES (1ul << BUDDY_MAX_ORDER)
/* Smaller page runs are buddy blocks whose rest is freed, placed as a kernel does. */
#define RUN_FIT_PAGES 9ul

struct run_counters run_counters;

unsigned long run_big_pages;

void run_count(unsigned long nr_pages, long sign)
{
	fetch_add(&run_counters.count, (unsigned long)sign);
	fetch_add(&run_counters.pages, (unsigned long)sign * nr_pages);
	if (nr_pages > RUN_LARGE_PAGES_OF_MANY)
		fetch_add(&run_big_pages, (unsigned long)sign * nr_pages);
}

/* Pages that hold size bytes; more than RUN_MAX_PAGES: too large for the arena. */
static unsigned long fewest_pages(size_t size)
{
	if (size > RUN_MAX_PAGES << PAGE_SHIFT)
		return RUN_MAX_PAGES + 1;
	return MAX(DIV_ROUND_UP(size, PAGE_SIZE), 1ul);
}

/* How long a page run of so many pages is. What is reserved for realtime is not spent on that. */
static unsigned long length_of(unsigned long nr_pages)
{
	return realtime_is_on() || nr_pages > RUN_MAX_PAGES ? nr_pages : run_length(nr_pages);
}

/* The page run that starts at p, or NULL. */
static struct page *run_head(const void *p)
{
	struct page *page;

	if (!page_in_arena(p) || ((uintptr_t)p & (PAGE_SIZE - 1)))
		return NULL;
	page = page_at(page_index(p));
	return load_relaxed(&page->type) == PAGE_RUN ? page : NULL;
}

/* The first pages of a block; the rest is given back. */
static struct page *cut_block(unsigned long nr_pages, size_t align, int node, bool thisnode,
			      bool *zeroed)
{
	/* A block is aligned to its own size. */
	unsigned int order = fls(nr_pages - 1);
	unsigned int align_order = align ? get_order(align) : 0;
	struct page *page;

	order = MAX(order, align_order);
	page = buddy_alloc(node, order, thisnode, zeroed);
	/* Not written to: the tail is as dirty or clean as it came. */
	if (page)
		buddy_free_run(page + nr_pages, (1ul << order) - nr_pages, false);
	return page;
}

/* Has the thread a policy that says something else than its node? */
static bool has_policy(int node)
{
	return node < 0 && unlikely(os_topology.nr_nodes > 1) &&
	       !os_policy_stays(os_current_node());
}

/* As it says: a block for each run, not placed beside the others. */
static cold struct page *cut_by_policy(unsigned long nr_pages, size_t align, bool *zeroed)
{
	const struct os_place place = os_policy_place(os_current_node());
	const uint8_t *near = os_nodes.order[place.first];
	bool bound = place.nodes != OS_ALL_NODES;
	struct page *page = NULL;

	for (unsigned int i = 0; i < (bound ? os_topology.nr_nodes : 1) && !page; i++)
		if (place.nodes & os_node_bit(near[i]))
			page = cut_block(nr_pages, align, near[i], bound, zeroed);
	if (page)
		numa_count(&place, page, nr_pages);
	return page;
}

static void own_run(struct page *page, unsigned long nr_pages)
{
	page_set_run(page, nr_pages);
	run_count(nr_pages, 1);
}

/* What the running CPU keeps, which stayed counted. NULL: nothing so long; note: that is noted. */
static void *kept_run(unsigned long nr_pages, bool note)
{
	struct page *page = realtime_is_on() ? NULL : pcp_runs_take(nr_pages, note);

	return page ? page_address(page) : NULL;
}

void *run_alloc_kept(size_t size)
{
	return has_policy(-1) ? NULL : kept_run(length_of(fewest_pages(size)), false);
}

static void *arena_run(unsigned long nr_pages, size_t align, int node, bool *zeroed)
{
	bool by_policy = has_policy(node);
	bool anywhere = !by_policy && node < 0 && align <= PAGE_SIZE;
	struct page *page = NULL;
	void *p = anywhere ? kept_run(nr_pages, true) : NULL;

	if (p) {
		if (zeroed)
			*zeroed = false;
		return p;
	}
	if (by_policy)
		page = cut_by_policy(nr_pages, align, zeroed);
	else if (anywhere && nr_pages >= RUN_FIT_PAGES)
		page = realtime_is_on() ? buddy_alloc_first(nr_pages, zeroed)
					: buddy_alloc_fit(nr_pages, zeroed);
	if (!page && !by_policy)
		page = cut_block(nr_pages, align, node, false, zeroed);
	if (!page)
		return NULL;
	own_run(page, nr_pages);
	return page_address(page);
}

/* Outside of the arena. The zones count it as well, since their peak includes it. */
static void *large_run(size_t size, size_t align, bool *zeroed)
{
	void *p = large_alloc(size, align, zeroed);

	if (p)
		buddy_rebalance();
	return p;
}

static bool free_large(void *p, bool keep)
{
	if (large_size(p) == 0)
		return false;
	buddy_rebalance(); /* there may be a new peak */
	return keep ? large_free(p) : large_discard(p);
}

static void *resize_large(void *p, size_t new_size, bool may_move)
{
	void *moved;

	buddy_rebalance();
	moved = large_resize(p, new_size, may_move);
	if (moved)
		buddy_rebalance();
	return moved;
}

/* The largest page run that comes from the arena. */
static unsigned long most_pages(size_t align, int node)
{
	if (node >= 0 || align > PAGE_SIZE || realtime_is_on())
		return RUN_MAX_PAGES;
	return large_bytes() > RUN_MANY_LARGE ? RUN_LARGE_PAGES_OF_MANY : RUN_LARGE_PAGES;
}

void *run_alloc(size_t size, size_t align, int node, bool *zeroed)
{
	unsigned long nr_pages = length_of(fewest_pages(size));
	unsigned long most = most_pages(align, node);
	void *p = NULL;

	if (unlikely(node >= 0 && (unsigned int)node < os_topology.nr_nodes))
		node = (int)os_nodes_with_memory((unsigned int)node);
	if (nr_pages <= most && align <= RUN_MAX_PAGES << PAGE_SHIFT)
		p = arena_run(nr_pages, align, node, zeroed);
	/* Too large, or the arena is full. */
	return p ? p : large_run(size, align, zeroed);
}

size_t run_size(const void *p)
{
	struct page *page = run_head(p);

	return page ? (size_t)page->nr_pages << PAGE_SHIFT : large_size(p);
}

static bool free_run(void *p, bool keep)
{
	struct page *page = run_head(p);
	unsigned long nr_pages;

	if (!page)
		return !page_in_arena(p) && free_large(p, keep);
	/* Of two threads that free the same page run one must fail. */
	if (!cmpxchg_byte(&page->type, PAGE_RUN, PAGE_NONE))
		return false;
	nr_pages = page->nr_pages;
	if (keep && !realtime_is_on() && pcp_runs_put(page, nr_pages))
		return true;
	run_count(nr_pages, -1);
	buddy_free_run(page, nr_pages, true);
	return true;
}

bool run_free(void *p)
{
	return free_run(p, true);
}

bool run_discard(void *p)
{
	return free_run(p, false);
}

/* What a page run may have beyond its size. */
static unsigned long run_slack(unsigned long nr_pages)
{
	return nr_pages / RUN_SLACK;
}

static bool grow_run(struct page *page, unsigned long nr_pages)
{
	unsigned long old = page->nr_pages;

	if (!buddy_claim_range(page + old, nr_pages - old, NULL))
		return false;
	page_set_run(page, nr_pages);
	run_count(nr_pages, 1);
	run_count(old, -1);
	return true;
}

static void shrink_run(struct page *page, unsigned long nr_pages)
{
	unsigned long old = page->nr_pages;

	page_set_run(page, nr_pages);
	run_count(nr_pages, 1);
	run_count(old, -1);
	buddy_free_run(page + nr_pages, old - nr_pages, true);
}

/*
 * For a block of so many pages, which become those of the page run. A buddy block has free pages
 * behind it; after page/fit.c there would be none.
 */
static struct page *cut_with_slack(unsigned long *nr_pages)
{
	unsigned long most = most_pages(0, -1);
	unsigned long more = MIN(length_of(*nr_pages + run_slack(*nr_pages)), most);
	struct page *page = NULL;

	if (*nr_pages > most)
		return NULL;
	if (has_policy(-1))
		return cut_by_policy(*nr_pages, 0, NULL);
	if (realtime_is_on()) { /* a block may need more memory of the system, a range does not */
		page = buddy_alloc_first(more, NULL);
		if (!page && (page = buddy_alloc_first(*nr_pages, NULL)))
			return page;
	}
	if (!page)
		page = cut_block(more, 0, -1, false, NULL);
	if (page)
		*nr_pages = more;
	return page;
}

/* Moves to where it can grow: what grows once grows again. */
static void *move_run(struct page *page, unsigned long nr_pages)
{
	struct page *moved = cut_with_slack(&nr_pages);

	if (!moved)
		return NULL;
	memcpy(page_address(moved), page_address(page), (size_t)page->nr_pages << PAGE_SHIFT);
	own_run(moved, nr_pages);
	run_free(page_address(page));
	return page_address(moved);
}

void *run_resize(void *p, size_t new_size, bool may_move)
{
	struct page *page = run_head(p);
	unsigned long fewest = fewest_pages(new_size);
	unsigned long nr_pages = length_of(fewest);

	if (!page)
		return page_in_arena(p) ? NULL : resize_large(p, new_size, may_move);
	if (nr_pages > RUN_MAX_PAGES)
		return NULL;
	if (nr_pages + run_slack(page->nr_pages) < page->nr_pages)
		shrink_run(page, nr_pages);
	else if (fewest > page->nr_pages && !grow_run(page, nr_pages) && !grow_run(page, fewest))
		return may_move ? move_run(page, fewest) : NULL;
	return p;
}

bool run_cut(void *p, size_t size)
{
	struct page *page = run_head(p);
	unsigned long nr_pages = fewest_pages(size);

	if (!page || nr_pages >= page->nr_pages)
		return false;
	shrink_run(page, nr_pages);
	return true;
}

struct run_counters run_live(void)
{
	struct run_counters live = { load_relaxed(&run_counters.count),
				     load_relaxed(&run_counters.pages) };

	for (unsigned int node = 0; node < buddy_nr_nodes; node++) {
		struct pcp_runs_stats kept = pcp_runs_stats(node);

		live.count -= MIN(kept.count, live.count);
		live.pages -= MIN(kept.pages, live.pages);
	}
	return live;
}

void run_stats(struct run_stats *stats)
{
	struct run_counters live = run_live();

	stats->count = live.count + large_count();
	stats->bytes = (live.pages << PAGE_SHIFT) + large_bytes();
}

void run_check(void)
{
	unsigned long nr_pages = load_relaxed(&page_map.nr_pages);
	unsigned long count = 0;
	unsigned long pages = 0;
	unsigned long big = 0;
	unsigned long i;
	unsigned long tail;

	for (i = 0; i < nr_pages; i++) {
		struct page *page = page_at(i);

		if (page->type != PAGE_RUN)
			continue;
		CHECK(page->head == i && page->nr_pages >= 1 && page->nr_pages <= RUN_MAX_PAGES);
		CHECK(page->order == fls(page->nr_pages - 1));
		for (tail = 1; tail < page->nr_pages; tail++)
			CHECK(page[tail].type == PAGE_NONE);
		CHECK(page_map.class[i] == USLAB_ID_NONE);
		count++;
		pages += page->nr_pages;
		big += page->nr_pages > RUN_LARGE_PAGES_OF_MANY ? page->nr_pages : 0;
	}
	CHECK(count == run_live().count);
	CHECK(pages == run_live().pages);
	CHECK(big == load_relaxed(&run_big_pages));
}
