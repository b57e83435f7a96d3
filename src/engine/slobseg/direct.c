/* SPDX-License-Identifier: MIT */
/*
 * engine/slobseg/direct.c - objects that take a block of whole pages each (spec 2.2)
 *
 * Data:       struct page of type SLAB, one object, of get_order(stride).
 * Invariants: such a page is on no list; own.pages and own.objects both count the objects in use.
 * Locks:      none; the two counts are atomic.
 * Flow:       called by list.c and slobseg.c; calls page/buddy.c.
 *
 * The mail leaves these pages without the slab mark, so that kfree() knows them by that. Here they
 * carry it, since a page must name its cache for a free by address.
 */
#include "engine/limit.h"
#include "engine/nodes.h"
#include "engine/placement.h"
#include "engine/slobseg/slobseg.h"
#include "os/cpu/cpu.h"
#include "page/buddy.h"

static void open_block(const struct slobseg *s, struct page *page)
{
	unsigned int order = s->layout.order;

	store_relaxed(&page->engine, s->engine);
	store_relaxed(&page->layout, &s->layout);
	store_relaxed(&page->freelist, NULL);
	store_relaxed(&page->counters, s->full);
	if (s->page_class)
		page_set_class(page, 1ul << order, s->page_class);
	page_set_block(page, PAGE_SLAB, 1ul << order);
}

unsigned int slobseg_direct_take(struct slobseg *s, void **objs, unsigned int want, gfp_t gfp,
				 int node)
{
	unsigned int got = 0;

	if (node >= (int)os_topology.nr_nodes)
		node = -1; /* spec 4.8a */
	while (got < want) {
		const struct os_place place = placement_next(s->engine, gfp, node);
		struct page *page = placement_pages(s->engine, s->layout.order, &place);

		if (!page)
			break;
		open_block(s, page);
		if (likely(placement_keeps(s->engine, page))) {
			objs[got++] = page_address(page);
			continue;
		}
		engine_limit_give(s->engine, 1ul << s->layout.order);
		buddy_free(page, s->layout.order, true);
	}
	fetch_add(&s->own.pages, got);
	fetch_add(&s->own.objects, got);
	return got;
}

void *slobseg_direct_try_take(struct slobseg *s, int node)
{
	struct page *page = engine_try_block(s->engine, s->layout.order, slobseg_node_slow(node));

	if (!page)
		return NULL;
	open_block(s, page);
	fetch_add(&s->own.pages, 1);
	fetch_add(&s->own.objects, 1);
	return page_address(page);
}

enum engine_mistake slobseg_what(const struct slobseg *s, const void *p)
{
	const struct page *page = page_in_arena(p) ? page_at(page_index(p)) : NULL;

	return page && page->type != s->type && page->type != PAGE_TAIL &&
			       load_relaxed(&page->layout) == &s->layout
		       ? ENGINE_FREE_AGAIN
		       : ENGINE_NO_OBJECT;
}

/* The block that starts at p; NULL: none does. */
static struct page *block_of(const struct slobseg *s, const void *p)
{
	struct page *page = page_in_arena(p) ? page_at(page_index(p)) : NULL;

	return page && load_relaxed(&page->type) == PAGE_SLAB &&
			       load_relaxed(&page->layout) == &s->layout && page_address(page) == p
		       ? page
		       : NULL;
}

void slobseg_direct_put(struct slobseg *s, void **objs, unsigned int n)
{
	unsigned int taken = 0;
	unsigned int i;

	for (i = 0; i < n; i++) {
		struct page *page = block_of(s, objs[i]);

		if (unlikely(!page)) {
			engine_mistake_now(s->engine, objs[i], slobseg_what(s, objs[i]));
			continue;
		}
		engine_limit_give(s->engine, 1ul << s->layout.order);
		buddy_free(page, s->layout.order, true);
		taken++;
	}
	fetch_sub(&s->own.pages, taken);
	fetch_sub(&s->own.objects, taken);
}

bool slobseg_direct_try_put(struct slobseg *s, void *obj)
{
	struct page *page = block_of(s, obj);

	if (!page || !buddy_try_free(page, s->layout.order))
		return false;
	engine_limit_give(s->engine, 1ul << s->layout.order);
	fetch_sub(&s->own.pages, 1);
	fetch_sub(&s->own.objects, 1);
	return true;
}
