/* SPDX-License-Identifier: MIT */
/*
 * cache/debug/hardened.c - USLAB_CONF=hardened: every free is checked exactly
 *
 * Why:        docs/adr/0020.
 * Data:       page_map.used (page/used.h); the links in free objects of SLUB
 *             (engine/slub/freeptr.h).
 * Invariants: each object of a plain slab or a heap passes cache_hand_out() on its way to
 *             the program and cache_take_back() on its way back, so no call is an inline hit. A
 *             free object of SLUB, wherever it is held, has a valid link: to an object of its slab,
 *             or NULL.
 * Locks:      none held here. Reports are delivered with no lock held.
 * Flow:       called by cache/.
 *
 * Exact for every engine and front, whatever the program writes: a free clears the object's bit,
 * and finds it clear if the object is free. In a heap the bit says where a block starts, and only
 * then the header before it is used, which names its cache: all caches over heaps have headers
 * here.
 */
#include "cache/instrument/instrument.h"
#include "cache/object.h"
#include "debug/report/report.h"
#include "engine/slub/freeptr.h"

/*
 * The slab of an object that has a link while it is free; NULL: it has none, or a
 * checker may not see it read.
 */
static struct page *linked_slab(const struct cache *c, const void *obj)
{
	struct page *slab = page_slab_of(obj);

	return slab && slab->layout->kind == LAYOUT_PLAIN && engine_is(&c->engine, &slub_ops) &&
			       !os_memcheck_on
		       ? slab
		       : NULL;
}

static void check_link(struct cache *c, void *obj)
{
	struct page *slab = linked_slab(c, obj);
	const void *next;

	if (!slab)
		return;
	next = freeptr_get(slub_of(&c->engine), slab->layout, obj);
	if (likely(!next || (freeptr_is_inside(slab, next) && engine_starts_object(slab, next))))
		return;
	report_misuse(&c->engine, slab, obj, REPORT_FREE_POINTER, NULL);
	report_fix(&c->engine, FIX_WAS_WRITTEN, obj);
	report_deliver();
}

void cache_hand_out(struct cache *c, void *obj)
{
	if (likely(!lock_is_inside())) /* else from a lent sheaf, and a report takes locks */
		check_link(c, obj);
	used_set(obj);
}

void cache_end_link(struct cache *c, void *obj)
{
	struct page *slab = linked_slab(c, obj);

	if (slab)
		freeptr_set(slub_of(&c->engine), slab->layout, obj, NULL);
}
