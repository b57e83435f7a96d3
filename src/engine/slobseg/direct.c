/* SPDX-License-Identifier: MIT */
/*
 * engine/slobseg/direct.c - objects that take a block of whole pages each (spec 2.2)
 *
 * Data:       struct page of type SLAB, one object, of get_order(stride).
 * Invariants: such a page is on no list; own.pages and own.objects both count the objects in use.
 * Locks:      none; the two counts are atomic.
 * Flow:       called by slobseg.c; calls page/buddy.c.
 *
 * The mail leaves these pages without the slab mark, so that kfree() knows them by that. Here they
 * carry it, since a page must name its cache for a free by address.
 */
#include "engine/slobseg/slobseg.h"
#include "os/cpu.h"
#include "page/buddy.h"

static struct page *block_new(const struct slobseg *s, gfp_t gfp, int node)
{
	unsigned int order = s->layout.order;
	struct page *page = buddy_alloc(node, order, gfp & __GFP_THISNODE, NULL);

	if (!page)
		return NULL;
	store_relaxed(&page->engine, s->engine);
	store_relaxed(&page->layout, &s->layout);
	store_relaxed(&page->freelist, NULL);
	store_relaxed(&page->counters, s->full);
	if (s->page_class)
		page_set_class(page, 1ul << order, s->page_class);
	page_set_block(page, PAGE_SLAB, 1ul << order);
	return page;
}

unsigned int slobseg_direct_take(struct slobseg *s, void **objs, unsigned int want, gfp_t gfp,
				 int node)
{
	unsigned int got = 0;

	if (node >= (int)os_topology.nr_nodes)
		node = -1; /* spec 4.8a */
	while (got < want) {
		struct page *page = block_new(s, gfp, node);

		if (!page)
			break;
		objs[got++] = page_address(page);
	}
	fetch_add(&s->own.pages, got);
	fetch_add(&s->own.objects, got);
	return got;
}

void slobseg_direct_put(struct slobseg *s, void **objs, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		struct page *page = page_at(page_index(objs[i]));

		if (unlikely(page->type != PAGE_SLAB))
			slobseg_die_double_free(s, objs[i]);
		buddy_free(page, s->layout.order, true);
	}
	fetch_sub(&s->own.pages, n);
	fetch_sub(&s->own.objects, n);
}
