/* SPDX-License-Identifier: MIT */
/*
 * cache/debug/usercopy.c - may these bytes be copied to or from the user? (spec 5.11)
 *
 * Why:        docs/adr/0042.
 * Data:       none.
 * Invariants: nothing of the program is read; of a slab only what its layout says.
 * Locks:      none held here.
 * Flow:       called by api/debug_api.c; calls debug/object.c, debug/pages/blocks.c,
 *             debug/kfence/kfence.c, page/large.c.
 */
#include <errno.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "cache/cache.h"
#include "debug/kfence/kfence.h"
#include "debug/pages/blocks.h"
#include "engine/place.h"
#include "page/large.h"

/* Bytes that the program asks for, of a block of size bytes. */
static int check_block(const char *p, size_t n, const char *start, size_t size)
{
	size_t offset = (size_t)(p - start);

	return p < start || offset > size || n > size - offset ? -EFAULT : 0;
}

static int check_object(const struct cache *c, const char *p, size_t n, const char *start,
			size_t size)
{
	size_t offset = (size_t)(p - start);

	if (check_block(p, n, start, size))
		return -EFAULT;
	if (offset < c->useroffset || offset - c->useroffset > c->usersize ||
	    n > c->usersize - (offset - c->useroffset))
		return -EACCES;
	return 0;
}

static int check_in_slab(const struct page *slab, const char *p, size_t n)
{
	const struct cache *c = container_of(slab->engine, struct cache, engine);
	struct slab_counters counters = engine_counters(slab);
	unsigned int offset = engine_offset(slab, counters, p);
	unsigned int within = offset % slab->layout->stride;
	size_t size = load_relaxed(&c->engine.object_size);

	if (offset / slab->layout->stride >= counters.objects)
		return -EFAULT;
	if (debug_is_slab(slab))
		size = MIN(size, debug_usable_size(slab, p - within));
	return check_object(c, p, n, p - within, size);
}

static int check_guarded(const struct kfence_info *info, const char *p, size_t n)
{
	const struct cache *c = info->engine ? container_of(info->engine, struct cache, engine)
					     : NULL;

	if (!c || info->freed)
		return -EFAULT;
	return check_object(c, p, n, info->start, load_relaxed(&c->engine.object_size));
}

/* Neither slab nor pages of the arena in use. Two mappings side by side count as one. */
static int check_elsewhere(const char *p, size_t n)
{
	if (large_size_around(p))
		return large_size_around(p + n - 1) ? 0 : -EFAULT;
	return page_in_arena(p) ? -EFAULT : -ENOENT;
}

int cache_check_object(const void *p, size_t n)
{
	const struct page *page = page_head_of(p);
	struct block_record block;
	struct kfence_info info;

	if (!n)
		return 0;
	if ((uintptr_t)p + n < n)
		return -EFAULT;
	if (kfence_describe(p, &info))
		return check_guarded(&info, p, n);
	if (page && page->type == PAGE_SLAB)
		return check_in_slab(page, p, n);
	if (page && page->type == PAGE_HEAP)
		return 0; /* where objects begin and end is not known */
	if (blocks_are_known() && blocks_find_around(p, &block))
		return block.state == BLOCK_LIVE
			       ? check_block(p, n, (const char *)block.address, block.size)
			       : -EFAULT;
	return page ? check_block(p, n, page_address(page), page->nr_pages * PAGE_SIZE)
		    : check_elsewhere(p, n);
}
