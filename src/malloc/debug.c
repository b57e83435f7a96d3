/* SPDX-License-Identifier: MIT */
/*
 * malloc/debug.c - blocks in debug slabs and guarded pages: their sizes
 *
 * Data:       none.
 * Invariants: the class byte of their pages is 0, so that their frees are no hits.
 * Locks:      none; the block is the caller's.
 * Flow:       called by slow.c, resize.c; calls cache/watch.c, debug/.
 */
#include "debug/debug.h"
#include "engine/place.h"
#include "malloc/internal.h"

struct page *malloc_debug_slab(const void *p)
{
	struct page *page = page_head_of(p);

	return page && page->type == PAGE_SLAB && page->layout->kind != LAYOUT_PLAIN ? page : NULL;
}

size_t malloc_debug_size(const struct page *slab, const void *p)
{
	return debug_is_slab(slab) && !engine_starts_object(slab, p) ? 0
								     : cache_usable_size(slab, p);
}

bool malloc_resize_debug(void *p, size_t size, bool *stays)
{
	struct page *slab = malloc_debug_slab(p);
	size_t most;

	if (likely(!debug_is_slab(slab)))
		return false;
	most = slab->layout->object_size;
	/* as may_stay() in resize.c; may also grow, up to the object's size */
	*stays = size <= most && malloc_class_of(size) + 1 >= malloc_class_of(most);
	if (*stays)
		debug_resize(slab, p, size);
	return true;
}
