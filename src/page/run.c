/* SPDX-License-Identifier: MIT */
/*
 * page/run.c - whole pages for allocations larger than any cache's objects
 *
 * Data:       run_counters.
 * Invariants: see page/run.h. Checked by run_check().
 * Locks:      none of its own; a run's descriptors belong to whoever may free it.
 * Flow:       called by cache/kmalloc.c and malloc/; calls buddy.c, large.c.
 */
#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "page/buddy.h"
#include "page/large.h"
#include "page/run.h"

#define RUN_MAX_PAGES (1ul << BUDDY_MAX_ORDER)

struct run_counters run_counters;

/* Pages for size bytes; more than RUN_MAX_PAGES when it is not for the arena. */
static unsigned long pages_for(size_t size)
{
	if (size > RUN_MAX_PAGES << PAGE_SHIFT)
		return RUN_MAX_PAGES + 1;
	return MAX(DIV_ROUND_UP(size, PAGE_SIZE), 1ul);
}

/* The run that starts at p, or NULL. */
static struct page *run_head(const void *p)
{
	struct page *page;

	if (!page_in_arena(p) || ((uintptr_t)p & (PAGE_SIZE - 1)))
		return NULL;
	page = page_at(page_index(p));
	return load_relaxed(&page->type) == PAGE_RUN ? page : NULL;
}

static void *arena_run(unsigned long nr_pages, size_t align, int node, bool *zeroed)
{
	/* A block is aligned to its own size. */
	unsigned int order = fls(nr_pages - 1);
	unsigned int align_order = align ? get_order(align) : 0;
	struct page *page;

	order = MAX(order, align_order);
	page = buddy_alloc(node, order, false, zeroed);
	if (!page)
		return NULL;
	/* Not written to: the tail is as dirty or clean as it came. */
	buddy_free_range(page + nr_pages, (1ul << order) - nr_pages, false);
	page_set_block(page, PAGE_RUN, nr_pages);
	fetch_add(&run_counters.count, 1);
	fetch_add(&run_counters.pages, nr_pages);
	return page_address(page);
}

/* Outside of the arena. The zones hear of it, for together with them it makes the peak. */
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
	buddy_rebalance(); /* the peak may be now */
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

/* That come from the arena. */
static unsigned long most_pages(size_t align, int node)
{
	if (node >= 0 || align > PAGE_SIZE)
		return RUN_MAX_PAGES;
	return large_bytes() > RUN_MANY_LARGE ? RUN_LARGE_PAGES_OF_MANY : RUN_LARGE_PAGES;
}

void *run_alloc(size_t size, size_t align, int node, bool *zeroed)
{
	unsigned long nr_pages = pages_for(size);
	unsigned long most = most_pages(align, node);
	void *p = NULL;

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
	/* Of two threads that free the same run one must be told. */
	if (!cmpxchg_byte(&page->type, PAGE_RUN, PAGE_NONE))
		return false;
	nr_pages = page->nr_pages;
	fetch_sub(&run_counters.count, 1);
	fetch_sub(&run_counters.pages, nr_pages);
	buddy_free_range(page, nr_pages, true);
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

static bool grow_run(struct page *page, unsigned long nr_pages)
{
	unsigned long old = page->nr_pages;

	if (!buddy_claim_range(page + old, nr_pages - old, NULL))
		return false;
	page_grow_block(page, nr_pages);
	fetch_add(&run_counters.pages, nr_pages - old);
	return true;
}

static void shrink_run(struct page *page, unsigned long nr_pages)
{
	unsigned long rest = page->nr_pages - nr_pages;

	page->nr_pages = (uint32_t)nr_pages;
	page->order = (uint8_t)fls(nr_pages - 1);
	fetch_sub(&run_counters.pages, rest);
	buddy_free_range(page + nr_pages, rest, true);
}

void *run_resize(void *p, size_t new_size, bool may_move)
{
	struct page *page = run_head(p);
	unsigned long nr_pages = pages_for(new_size);

	if (!page)
		return page_in_arena(p) ? NULL : resize_large(p, new_size, may_move);
	if (nr_pages > RUN_MAX_PAGES)
		return NULL;
	if (nr_pages < page->nr_pages)
		shrink_run(page, nr_pages);
	else if (nr_pages > page->nr_pages && !grow_run(page, nr_pages))
		return NULL;
	return p;
}

void run_stats(struct run_stats *stats)
{
	stats->count = load_relaxed(&run_counters.count) + large_count();
	stats->bytes = (load_relaxed(&run_counters.pages) << PAGE_SHIFT) + large_bytes();
}

void run_check(void)
{
	unsigned long nr_pages = load_relaxed(&page_map.nr_pages);
	unsigned long count = 0;
	unsigned long pages = 0;
	unsigned long i;
	unsigned long tail;

	for (i = 0; i < nr_pages; i++) {
		struct page *page = page_at(i);

		if (page->type != PAGE_RUN)
			continue;
		CHECK(page->head == i && page->nr_pages >= 1 && page->nr_pages <= RUN_MAX_PAGES);
		CHECK(page->order == fls(page->nr_pages - 1));
		for (tail = 1; tail < page->nr_pages; tail++)
			CHECK(page[tail].type == PAGE_TAIL && page[tail].head == i);
		CHECK(page_map.class[i] == USLAB_ID_NONE);
		count++;
		pages += page->nr_pages;
	}
	CHECK(count == load_relaxed(&run_counters.count));
	CHECK(pages == load_relaxed(&run_counters.pages));
}
