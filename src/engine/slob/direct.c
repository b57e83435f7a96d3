/* SPDX-License-Identifier: MIT */
/*
 * engine/slob/direct.c - objects that fill a page or more: a block of pages each (spec 1.7)
 *
 * Data:       struct page of type SLAB with one object, which is in use.
 * Invariants: slob.nr_direct is the number of these blocks.
 * Locks:      none: a block belongs to whoever has its object.
 * Flow:       called by slob.c and try.c; calls heap.c for pages.
 *
 * The kernel does not mark such pages at all; here they are slabs of one object, so that the
 * address leads to the cache.
 */
#include "base/bits.h"
#include "engine/descriptor.h"
#include "engine/nodes.h"
#include "engine/slob/slob.h"
#include "page/buddy.h"

static void *open_pages(struct engine *e, struct page *page)
{
	const struct slob *s = slob_of(e);
	const struct slab_counters counters = { .inuse = 1, .objects = 1 };
	unsigned long nr_pages = 1ul << s->layout.order;

	engine_own_pages(e, page, &s->layout);
	page->freelist = NULL;
	engine_set_counters(page, counters);
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

void *slob_direct_try_alloc(struct engine *e, int node)
{
	struct slob *s = slob_of(e);
	unsigned int first = engine_first_node(engine_nr_nodes(), node);
	struct page *page = buddy_try_alloc(first, s->layout.order);

	if (!page)
		return NULL;
	fetch_add(&s->nr_direct, 1);
	return open_pages(e, page);
}

/* Is p the start of a page that is, or was, this cache's? */
static bool is_ours(const struct engine *e, const struct page *page, const void *p)
{
	return page && load_relaxed(&page->engine) == e && (uintptr_t)p % PAGE_SIZE == 0;
}

bool slob_direct_try_free(struct engine *e, void *obj)
{
	struct slob *s = slob_of(e);
	struct page *page = page_in_arena(obj) ? page_at(page_index(obj)) : NULL;

	if (!is_ours(e, page, obj) || load_relaxed(&page->type) != PAGE_SLAB ||
	    !buddy_try_free(page, s->layout.order))
		return false;
	fetch_sub(&s->nr_direct, 1);
	return true;
}

/* NULL: no object of the cache in use starts there, which was reported. */
static struct page *close_pages(struct engine *e, void *obj)
{
	struct page *page = page_in_arena(obj) ? page_at(page_index(obj)) : NULL;
	bool ours = is_ours(e, page, obj);

	if (likely(ours && load_relaxed(&page->type) == PAGE_SLAB))
		return page;
	engine_mistake_now(e, obj,
			   ours && page->type != PAGE_TAIL ? ENGINE_FREE_AGAIN : ENGINE_NO_OBJECT);
	return NULL;
}

void slob_direct_flush(struct engine *e, void **objs, unsigned int n)
{
	struct slob *s = slob_of(e);
	unsigned int taken = 0;
	unsigned int i;

	for (i = 0; i < n; i++) {
		struct page *page = close_pages(e, objs[i]);

		if (unlikely(!page))
			continue;
		buddy_free(page, s->layout.order, true);
		taken++;
	}
	fetch_sub(&s->nr_direct, taken);
}
