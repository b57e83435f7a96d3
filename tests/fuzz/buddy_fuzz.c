/* SPDX-License-Identifier: MIT */
/*
 * fuzz/buddy_fuzz.c - random operations on the buddy allocator against a model of it
 *
 * The model (buddy_model.h) says which page every allocation must return and whether that is zero;
 * buddy_check() runs after each step.
 */
#include <string.h>

#include "buddy_model.h"
#include "os/cpu/cpu.h"
#include "page/arena.h"
#include "page/low.h"
#include "seeds.h"

#define BLOCKS 400

/* ---- the operations -------------------------------------------------------------------------- */

struct block {
	unsigned long index;
	unsigned long nr_pages; /* a power of two but for claimed ranges */
	bool written;
};

static struct block blocks[BLOCKS];
static unsigned long nr_blocks;

static unsigned char *bytes_of(unsigned long index)
{
	return page_address(page_at(index));
}

static bool range_is_zero(unsigned long index, unsigned long n)
{
	const unsigned char *p = bytes_of(index);

	return p[0] == 0 && memcmp(p, p + 1, (n << PAGE_SHIFT) - 1) == 0;
}

/* Half of all owners write to their pages; a mark in each shows who came last. */
static void add_block(unsigned long index, unsigned long nr_pages, bool zeroed)
{
	struct block *b = &blocks[nr_blocks++];
	unsigned long i;

	EXPECT(zeroed == (count_dirty(index, nr_pages) == 0));
	if (zeroed)
		EXPECT(range_is_zero(index, nr_pages));
	*b = (struct block){ index, nr_pages, below(2) };
	for (i = 0; b->written && i < nr_pages; i++)
		*(unsigned long *)(void *)bytes_of(index + i) = index + 1;
}

static void do_alloc(void)
{
	unsigned int order = (unsigned int)below(below(4) ? 4 : ORDERS);
	bool zeroed = false;
	struct page *page;
	long index;

	if (nr_blocks == BLOCKS)
		return;
	index = model_alloc(order);
	if (index < 0)
		return;
	page = buddy_alloc(0, order, true, &zeroed);
	EXPECT(page == page_at((unsigned long)index) && page->order == order);
	add_block((unsigned long)index, 1ul << order, zeroed);
	page_set_block(page, PAGE_SLAB, 1ul << order);
	page_set_class(page, 1ul << order, (unsigned char)(order + 1));
}

static void do_free(void)
{
	struct block *b;
	struct page *page;
	unsigned int order;
	unsigned long i;

	if (!nr_blocks)
		return;
	b = &blocks[below(nr_blocks)];
	page = page_at(b->index);
	order = ilog2(b->nr_pages);
	for (i = 0; b->written && i < b->nr_pages; i++) {
		EXPECT(*(unsigned long *)(void *)bytes_of(b->index + i) == b->index + 1);
		dirty[b->index + i] = true;
	}
	/* A claimed range need not be aligned to its size. */
	if (is_pow2(b->nr_pages) && (b->index & (b->nr_pages - 1)) == 0 && below(2)) {
		buddy_free(page, order, b->written);
		model_free(b->index, order);
	} else {
		buddy_free_range(page, b->nr_pages, b->written);
		model_free_range(b->index, b->nr_pages);
	}
	*b = blocks[--nr_blocks];
}

/* Gives the tail of a block back, as a run does. */
static void do_cut(void)
{
	struct block *b;
	unsigned long keep;
	unsigned long i;

	if (!nr_blocks)
		return;
	b = &blocks[below(nr_blocks)];
	keep = 1 + below(b->nr_pages);
	for (i = keep; b->written && i < b->nr_pages; i++)
		dirty[b->index + i] = true;
	buddy_free_range(page_at(b->index + keep), b->nr_pages - keep, b->written);
	model_free_range(b->index + keep, b->nr_pages - keep);
	b->nr_pages = keep;
}

static void do_claim(void)
{
	unsigned long n = 1 + below(below(3) ? 8 : 600);
	unsigned long index;
	bool zeroed = false;
	bool all_free = true;
	unsigned long i;

	if (nr_blocks == BLOCKS || grown == 0)
		return;
	index = below(grown);
	for (i = index; i < index + n; i++)
		all_free = all_free && i < grown && is_free[i];
	EXPECT(buddy_claim_range(page_at(index), n, &zeroed) == all_free);
	if (!all_free)
		return;
	model_claim(index, n);
	add_block(index, n, zeroed);
}

/* ---- page runs: where they may lie ----------------------------------------------------------- */

#define LOOKS 64u /* ranges that a search compares */

struct place {
	unsigned long range;	/* pages of the range around it */
	unsigned int longer;	/* ranges that are long enough */
	unsigned long resident; /* pages of the smallest of these of which all is resident; 0: none */
};

static struct place places_for(unsigned long n, unsigned long index)
{
	struct place p = { 0 };
	unsigned long start = 0;

	for (unsigned long i = 0; i <= grown; i++) {
		unsigned long range = i - start;

		if (i < grown && is_free[i])
			continue;
		if (index >= start && index < i)
			p.range = range;
		if (range >= n) {
			p.longer++;
			if (count_dirty(start, range) == range &&
			    (!p.resident || range < p.resident))
				p.resident = range;
		}
		start = i + 1;
	}
	return p;
}

/*
 * Any place that is free; but if a range is resident as a whole, such a place, in a range that is
 * no larger.
 */
static void do_fit(void)
{
	unsigned long n = 9 + below(below(3) ? 30 : 600);
	bool best = below(4);
	bool zeroed = false;
	struct page *page;
	struct place p;
	unsigned long index;

	if (nr_blocks == BLOCKS || grown == 0)
		return;
	page = best ? buddy_alloc_fit(n, &zeroed) : buddy_alloc_first(n, &zeroed);
	index = page ? (unsigned long)(page - page_map.pages) : grown;
	p = places_for(n, index);
	EXPECT(!page == !p.longer);
	if (!page)
		return;
	for (unsigned long i = index; i < index + n; i++)
		EXPECT(i < grown && is_free[i]);
	EXPECT(p.range >= n);
	if (p.resident && p.longer <= LOOKS && best)
		EXPECT(count_dirty(index, n) == n && p.range <= p.resident);
	model_claim(index, n);
	add_block(index, n, zeroed);
}

/* Any aligned block below a page; none only if there is none, nor a chunk without descriptors. */
static void do_low(void)
{
	unsigned int order = (unsigned int)below(6);
	unsigned long n = 1ul << order;
	unsigned long far = ALIGN_DOWN(below(grown + 1), 64ul);
	unsigned long index = 0;
	unsigned long row = 0; /* free pages */
	bool there = false;
	struct page *page;

	if (nr_blocks == BLOCKS)
		return;
	for (unsigned long i = 0; i < far; i++) {
		row = is_free[i] ? row + 1 : 0;
		there |= row >= n && (i + 1) % n == 0;
		there |= bare[i / CHUNK];
	}
	page = buddy_alloc_low(order, far);
	EXPECT(!page == !there);
	if (!page)
		return;
	index = (unsigned long)(page - page_map.pages);
	EXPECT(index % n == 0 && index < far);
	if (bare[index / CHUNK])
		EXPECT(model_grow());
	for (unsigned long i = index; i < index + n; i++)
		EXPECT(is_free[i]);
	model_claim(index, n);
	add_block(index, n, count_dirty(index, n) == 0);
}

static void do_trim(void)
{
	unsigned long keep = below(4) ? below(500) : 0;

	EXPECT(buddy_trim(keep << PAGE_SHIFT) == model_trim(keep));
}

/* The lists themselves, from head to tail. */
static void compare_lists(void)
{
	unsigned int order;
	unsigned int list;

	for (order = 0; order < ORDERS; order++) {
		unsigned long i = 0;
		struct list_head *pos;

		for (list = 0; list < BUDDY_LISTS; list++) {
			list_for_each(pos, &buddy_zones[0].free[order][list]) {
				struct page *page = list_entry(pos, struct page, lru);

				EXPECT(i < lists[order].n);
				EXPECT(page == page_at(lists[order].block[i]));
				i++;
			}
		}
		EXPECT(i == lists[order].n);
	}
}

static unsigned long nr_free(void)
{
	unsigned long count = 0;

	for (unsigned long i = 0; i < grown; i++)
		count += is_free[i];
	return count;
}

static void free_everything(void)
{
	while (nr_blocks) {
		do_free();
		buddy_check();
	}
	compare_lists();
	EXPECT(buddy_zones[0].stats.nr_free == buddy_zones[0].stats.nr_total);
	EXPECT(buddy_zones[0].stats.nr_free == nr_free());
}

static void run_seed(unsigned long operations)
{
	/* Phases that rather fill and phases that rather empty. */
	unsigned int fill = 8;

	for (step = 0; step < operations; step++) {
		unsigned long what = below(20);

		if (step % 256 == 0)
			fill = 5 + (unsigned int)below(7);
		if (what < fill)
			do_alloc();
		else if (what < 16)
			do_free();
		else if (what < 18)
			do_cut();
		else if (what < 19)
			below(3) ? below(2) ? do_fit() : do_low() : do_claim();
		else if (below(8) == 0)
			do_trim();
		/* the model purges whole blocks, the largest first */
		buddy_zones[0].fit_refaults = 0;
		buddy_zones[0].refaults = 0;
		buddy_zones[0].slow_refaults = 0;
		buddy_check();
		if (step % 16 == 0)
			compare_lists();
	}
	free_everything();
	arena_check();
}

static bool init(void)
{
	os_cpu_init();
	if (arena_init(os_topology.nr_cpu_ids) != 0)
		return false;
	buddy_init(1);
	buddy_set_purge(SIZE_MAX >> 1, 1u << 30); /* only when the model says so */
	return true;
}

int main(int argc, char **argv)
{
	static const struct fuzz fuzz = { "buddy_fuzz", 6, 3000, init, run_seed };

	return fuzz_main(&fuzz, argc, argv);
}
