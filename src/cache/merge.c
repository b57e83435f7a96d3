/* SPDX-License-Identifier: MIT */
/*
 * cache/merge.c - which caches can share one struct cache (spec 5.3, 5.4)
 *
 * Why:        docs/adr/0006.
 * Data:       none of its own.
 * Invariants: candidates are tried oldest first.
 * Locks:      cache_lock held by the caller where _locked says so.
 * Flow:       called by create.c and inspect/.
 *
 * Source: the kernel's find_mergeable(), slab_unmergeable(), calculate_alignment() as specified.
 * Beyond the kernel: caches merge only within one engine, one front and one capacity. Caches of a
 * heap share its pages as it is and do not merge (spec 1.7).
 */
#include "base/bits.h"
#include "cache/internal.h"

#define SLAB_NEVER_MERGE                                                                     \
	(SLAB_RED_ZONE | SLAB_POISON | SLAB_STORE_USER | SLAB_TRACE | SLAB_TYPESAFE_BY_RCU | \
	 SLAB_NOLEAKTRACE | SLAB_NO_MERGE | SLAB_FAILSLAB | SLAB_KASAN | USLAB_ACCOUNT_INLINE)
#define SLAB_MERGE_SAME \
	(SLAB_RECLAIM_ACCOUNT | SLAB_CACHE_DMA | SLAB_CACHE_DMA32 | SLAB_ACCOUNT | SLAB_NO_OBJ_EXT)

#define WORD sizeof(void *)

unsigned int cache_calculate_alignment(slab_flags_t flags, unsigned int align, unsigned int size)
{
	unsigned int line = CACHE_LINE;

	if (flags & SLAB_HWCACHE_ALIGN) {
		while (size <= line / 2)
			line /= 2;
		align = MAX(align, line);
	}
	align = MAX(align, (unsigned int)ARCH_KMALLOC_MINALIGN);
	return ALIGN_UP(align, (unsigned int)WORD);
}

bool cache_is_mergeable(const struct cache *c)
{
	return !(c->flags & SLAB_NEVER_MERGE) && !c->engine.ctor && !c->usersize && !c->alone &&
	       c->refcount >= 0;
}

/*
 * If a slab's objects begin at a page, their alignment follows from the stride. SLAB's begin at a
 * colour, a multiple of the alignment that the cache was created with.
 */
static bool keeps_alignment(const struct engine *e, unsigned int align)
{
	return !engine_is(e, &slab_ops) || e->align % align == 0;
}

static bool fits(const struct cache *c, const struct cache_spec *spec, unsigned int size,
		 unsigned int align)
{
	if (!cache_is_mergeable(c) || !debug_may_merge(&c->engine) ||
	    !engine_is(&c->engine, spec->engine) || c->front.ops != spec->front ||
	    c->capacity != spec->capacity)
		return false;
	if ((spec->flags & SLAB_MERGE_SAME) != (c->flags & SLAB_MERGE_SAME))
		return false;
	return size <= c->engine.size && c->engine.size % align == 0 &&
	       keeps_alignment(&c->engine, align) && c->engine.size - size < WORD;
}

struct cache *cache_find_mergeable_locked(const struct cache_spec *spec)
{
	unsigned int size = ALIGN_UP(spec->size, (unsigned int)WORD);
	unsigned int align = cache_calculate_alignment(spec->flags, spec->align, size);

	if (cache_defaults.no_merge || spec->no_merge || spec->usersize || spec->ctor ||
	    spec->reclaim || spec->limit || spec->engine->heap || (spec->flags & SLAB_NEVER_MERGE))
		return NULL;
	size = ALIGN_UP(size, align);
	for (struct list_head *pos = cache_list.prev; pos != &cache_list; pos = pos->prev) {
		struct cache *c = list_entry(pos, struct cache, list);

		if (fits(c, spec, size, align))
			return c;
	}
	return NULL;
}
