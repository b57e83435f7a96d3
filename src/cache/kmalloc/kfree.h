/* SPDX-License-Identifier: MIT */
/*
 * cache/kmalloc/kfree.h - the hit path of kfree(), one pointer or several
 *
 * Data:       the page classes and the tables of <uslab/layout.h>.
 * Invariants: a class with a magic is a kmalloc cache with arrays, whose slabs begin at
 *             multiples of their size.
 * Locks:      none.
 * Flow:       included by kmalloc.c, kfree_bulk.c and nolock.c; calls arch/malloc_rseq.h.
 *
 * The page's class byte names the cache; it is 0 for caches of programs and for page runs. 0 has no
 * magic, so that these frees miss. NULL and ZERO_SIZE_PTR lie in no page. The base is loaded once,
 * the rest is at fixed distances from it.
 */
#ifndef CACHE_KFREE_H
#define CACHE_KFREE_H

#include "arch/malloc_rseq.h"
#include "base/atomic.h"
#include "cache/internal.h"
#include "engine/place.h"
#include "front/percpu.h"
#include "page/page.h"

/* The page class of p; 0 also when p does not lie in the arena. */
static always_inline unsigned int kfree_class(const char *base, unsigned long pages, const void *p)
{
	const unsigned char *classes = (const unsigned char *)base + USLAB_CLASSES_OFFSET;
	unsigned long index = (unsigned long)((const char *)p - base) >> PAGE_SHIFT;

	return likely(index < pages) ? classes[index] : 0;
}

static always_inline bool kfree_hit(const void *p)
{
	char *base = page_map.base;
	unsigned long index = (unsigned long)((const char *)p - base) >> PAGE_SHIFT;
	const unsigned char *classes = (const unsigned char *)base + USLAB_CLASSES_OFFSET;

	return likely(index < load_relaxed(&page_map.nr_pages)) &&
	       likely(arch_malloc_push(base, classes[index], os_rseq_offset, (void *)p));
}

/* The slab of p if it is one of an engine's: neither a debug slab nor a guarded page. */
static always_inline struct page *kfree_slab(const void *p)
{
	struct page *slab = page_slab_of(p);

	return likely(slab && slab->layout->kind == LAYOUT_PLAIN) ? slab : NULL;
}

/*
 * What kmem_cache_free() would do inline, for an object of a cache without a page class: a
 * program's own, or one of a row of kmalloc's (rows.c). p: the start of an object in a plain slab.
 */
static always_inline bool kfree_own_hit(struct cache *c, void *p)
{
#if USLAB_HAVE_RSEQ
	return load_relaxed(&c->front.capacity) && !cache_is_by_address(c) &&
	       uslab_rseq_give(c->handle, p, os_rseq_offset);
#else
	(void)c, (void)p;
	return false;
#endif
}

#endif /* CACHE_KFREE_H */
