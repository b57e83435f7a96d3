/* SPDX-License-Identifier: MIT */
/*
 * page/page.c - marking blocks of pages in the descriptors
 *
 * Data:       page_map.
 * Invariants: see page/page.h.
 * Locks:      none: the block belongs to the caller. Types are stored atomically because a merge
 *             in page/buddy.c looks at the neighbours of the block that it frees.
 * Flow:       see page.h.
 */
#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "page/ext.h"
#include "page/page.h"

/* So far away that page_index() of any pointer is beyond limit 0. */
struct page_map page_map = { .base = (char *)(1ul << 62) };

/* The longest page run is a chunk: one block of the highest order. */
#define RUN_PAGES_MOST (1ul << 10)

static void set_tails(struct page *page, unsigned long nr_pages)
{
	uint32_t head = (uint32_t)(page - page_map.pages);
	unsigned long i;

	for (i = 1; i < nr_pages; i++) {
		store_relaxed(&page[i].head, head);
		store_relaxed(&page[i].type, PAGE_TAIL);
	}
}

static void set_head(struct page *page, enum page_type type, unsigned long nr_pages)
{
	store_relaxed(&page->nr_pages, (uint32_t)nr_pages);
	page->order = (uint8_t)fls(nr_pages - 1);
	store_relaxed(&page->head, (uint32_t)(page - page_map.pages));
	store_relaxed(&page->type, (uint8_t)type);
}

void page_set_block(struct page *page, enum page_type type, unsigned long nr_pages)
{
	set_tails(page, nr_pages);
	set_head(page, type, nr_pages);
}

void page_set_run(struct page *page, unsigned long nr_pages)
{
	set_head(page, PAGE_RUN, nr_pages);
}

cold struct page *page_run_around(struct page *page)
{
	struct page *first = page_map.pages;
	unsigned long distance = 1;

	if ((unsigned long)(page - page_map.pages) >= RUN_PAGES_MOST)
		first = page - (RUN_PAGES_MOST - 1);
	for (; page > first; distance++) {
		page--;
		if (load_relaxed(&page->type) != PAGE_NONE)
			return load_relaxed(&page->type) == PAGE_RUN &&
					       load_relaxed(&page->nr_pages) > distance
				       ? page
				       : NULL;
	}
	return NULL;
}

void page_set_class(struct page *page, unsigned long nr_pages, unsigned char class)
{
	unsigned char *byte = page_map.class + (page - page_map.pages);

	for (unsigned long i = 0; i < nr_pages; i++) {
		if (class == USLAB_ID_NONE && !page[i].classed)
			continue; /* as it was from the start, and maybe not even resident */
		store_relaxed(&byte[i], class);
		page[i].classed = class != USLAB_ID_NONE;
	}
}

void page_forget_block(struct page *page, unsigned long nr_pages)
{
	page_set_class(page, nr_pages, USLAB_ID_NONE);
	page_ext_forget(page);
	for (unsigned long i = 0; i < nr_pages; i++)
		store_relaxed(&page[i].type, PAGE_NONE);
}
