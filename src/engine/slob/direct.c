/* SPDX-License-Identifier: MIT */
/*
 * engine/slob/direct.c - objects that fill a page or more: a block of pages each (spec 1.7)
 *
 * Data:       struct page of type SLAB with one object, which is in use.
 * Invariants: slob.nr_direct is the number of these blocks.
 * Locks:      none: a block belongs to whoever has its object.
 * Flow:       called by slob.c; calls heap.c for pages.
 *
 * The kernel does not mark such pages at all; here they are slabs of one object, so that the address
 * leads to the cache.
 */
#include <string.h>

#include "base/bits.h"
#include "engine/slob/slob.h"
#include "os/die.h"
#include "page/buddy.h"

static void *open_pages(struct engine *e, struct page *page)
{
	const struct slob *s = slob_of(e);
	const struct slab_counters counters = { .inuse = 1, .objects = 1 };
	unsigned long nr_pages = 1ul << s->layout.order;

	page->lru.next = NULL;
	page->lru.prev = NULL;
	/* Atomic, because a hit path of front/cpuslab.c may look at pages that were another's. */
	store_relaxed(&page->engine, e);
	store_relaxed(&page->layout, &s->layout);
	page->freelist = NULL;
	memcpy(&page->counters, &counters, sizeof(counters));
	if (e->page_class)
		page_set_class(page, nr_pages, e->page_class);
	page_set_block(page, PAGE_SLAB, nr_pages);
	return page_address(page);
}

unsigned int slob_direct_refill(struct engine *e, void **objs, unsigned int want, gfp_t gfp,
				int node)
{
	struct slob *s = slob_of(e);
	unsigned int got;

	node = slob_node(node);
	for (got = 0; got < want; got++) {
		struct page *page = slob_get_pages(s->layout.order, gfp, node);

		if (!page)
			break;
		objs[got] = open_pages(e, page);
	}
	fetch_add(&s->nr_direct, got);
	return got;
}

static struct page *close_pages(const struct engine *e, void *obj)
{
	struct page *page = page_in_arena(obj) ? page_at(page_index(obj)) : NULL;

	if (unlikely(!page || load_relaxed(&page->type) != PAGE_SLAB ||
		     load_relaxed(&page->engine) != e || (uintptr_t)obj % PAGE_SIZE))
		os_die_fmt("SLOB: %p is freed, but no object of cache %s in use: freed twice?", obj,
			   e->name);
	return page;
}

void slob_direct_flush(struct engine *e, void **objs, unsigned int n)
{
	struct slob *s = slob_of(e);
	unsigned int i;

	for (i = 0; i < n; i++)
		buddy_free(close_pages(e, objs[i]), s->layout.order, true);
	fetch_sub(&s->nr_direct, n);
}
