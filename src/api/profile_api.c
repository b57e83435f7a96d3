/* SPDX-License-Identifier: MIT */
/*
 * api/profile_api.c - public functions of allocation profiling (<uslab/alloc_tag.h>)
 *
 * Why:        docs/adr/0050.
 * Data:       the tag that each thread allocates for.
 * Invariants: see cache/profile/profile.h.
 * Locks:      none.
 * Flow:       called by programs; calls cache/profile/. The macros that programs use are in
 *             <uslab/alloc_hooks.h>, <uslab/kstring.h> and <uslab/mempool.h>.
 */
#include <uslab/alloc_tag.h>
#include <uslab/mempool.h>

#include "api/api.h"
#include "cache/profile/profile.h"

/* initial-exec: as in os/lock/lock.h */
static __thread struct alloc_tag *current __attribute__((tls_model("initial-exec")));

USLAB_API int uslab_set_mem_profiling(bool on)
{
	int ret = api_init();

	return ret ? ret : profile_switch(on);
}

USLAB_API struct alloc_tag_counters alloc_tag_read(struct alloc_tag *tag)
{
	const struct alloc_tag_counters none = { 0, 0 };
	uint32_t site = load_relaxed(&tag->site);

	return site && profile_is_known() ? sites_sum(site) : none;
}

USLAB_API struct alloc_tag *alloc_tag_save(struct alloc_tag *tag)
{
	struct alloc_tag *old = current;

	current = tag;
	return old;
}

static struct cache *cache_or_none(struct kmem_cache *s)
{
	return s ? cache_of(s) : NULL;
}

USLAB_API void uslab_alloc_tag_add(struct alloc_tag *tag, struct kmem_cache *s, const void *p,
				   bool keep)
{
	profile_add(tag ? tag : current, cache_or_none(s), p, keep);
}

USLAB_API void uslab_alloc_tag_add_all(struct alloc_tag *tag, struct kmem_cache *s, size_t nr,
				       void *const *p)
{
	for (size_t i = 0; i < nr; i++)
		profile_add(tag ? tag : current, cache_or_none(s), p[i], false);
}

/* What functions of the program return may be anything. */
USLAB_API void uslab_alloc_tag_add_elements(struct alloc_tag *tag, const mempool_t *pool, size_t nr,
					    void *const *elements)
{
	struct kmem_cache *s = pool->alloc == mempool_alloc_slab ? pool->pool_data : NULL;

	for (size_t i = 0; pool->kind && i < nr; i++)
		profile_add(tag, cache_or_none(s), elements[i], true);
}

USLAB_API void uslab_alloc_tag_add_pool(struct alloc_tag *tag, const mempool_t *pool)
{
	if (!pool)
		return;
	uslab_alloc_tag_add_elements(tag, pool, (size_t)pool->curr_nr, pool->elements);
	profile_add(tag, NULL, pool->elements, true);
}

USLAB_API void uslab_alloc_tags_register(struct uslab_alloc_tags *tags)
{
	sites_register(tags);
}

USLAB_API void uslab_alloc_tags_unregister(struct uslab_alloc_tags *tags)
{
	sites_unregister(tags);
}
