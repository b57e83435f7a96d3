/* SPDX-License-Identifier: MIT */
/*
 * engine/slobseg/page.c - a page of objects of one size, from its first day to its last (spec 2.2)
 *
 * Data:       struct page of type SLAB or HEAP: owner, layout, freelist, counters.
 * Invariants: a new page's free list is in ascending order of addresses. Type and class byte are
 *             written before an object's address leaves, and cleared by buddy_free().
 * Locks:      none: a new or an empty page is private.
 * Flow:       called by list.c; calls page/buddy.c.
 */
#include "engine/limit.h"
#include "engine/nodes.h"
#include "engine/placement.h"
#include "engine/slobseg/slobseg.h"
#include "page/buddy.h"

/* Links all objects in ascending order. Returns the first: at most 512 steps. */
static void *link_ascending(const struct slobseg *s, struct page *page)
{
	unsigned int stride = s->layout.stride;
	char *first = page_address(page);
	char *obj = first + (size_t)(s->layout.objects - 1) * stride;

	*slobseg_link(s, obj) = NULL;
	for (; obj > first; obj -= stride)
		*slobseg_link(s, obj - stride) = obj;
	return first;
}

static void open_page(const struct slobseg *s, struct page *page)
{
	/* atomic: the fronts' hit paths and tools may look at what is another's page by now */
	if (slobseg_is_pool(s))
		store_relaxed(&page->heap, s->heap);
	else
		store_relaxed(&page->engine, s->engine);
	store_relaxed(&page->layout, &s->layout);
	store_relaxed(&page->freelist, link_ascending(s, page));
	store_relaxed(&page->counters, s->empty | SLOBSEG_OFF);
	if (s->page_class)
		page_set_class(page, 1, s->page_class);
	page_set_block(page, (enum page_type)s->type, 1);
	if (!slobseg_is_pool(s))
		engine_hide_slab(s->engine, page_address(page), PAGE_SIZE);
}

struct page *slobseg_page_new(const struct slobseg *s, const struct os_place *place)
{
	struct page *page = placement_pages(slobseg_engine(s), 0, place);

	if (!page)
		return NULL;
	open_page(s, page);
	if (likely(placement_keeps(slobseg_engine(s), page)))
		return page;
	engine_limit_give(slobseg_engine(s), 1);
	buddy_free(page, 0, true);
	return NULL; /* as slab_grow() */
}

struct page *slobseg_page_try_new(const struct slobseg *s, unsigned int node)
{
	const struct engine *e = slobseg_engine(s);
	struct page *page = e ? engine_try_block(e, 0, node) : buddy_try_alloc(node, 0);

	if (page)
		open_page(s, page);
	return page;
}

void slobseg_pages_free(const struct slobseg *s, struct page *pages)
{
	const struct engine *e = slobseg_engine(s);

	while (pages) {
		struct page *page = pages;

		pages = page->next;
		if (e)
			engine_limit_give(e, 1);
		buddy_free(page, 0, true);
	}
}
