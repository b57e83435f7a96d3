/* SPDX-License-Identifier: MIT */
/*
 * api/api.h - what the files of this folder share
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none.
 * Flow:       included by api/ only; calls cache/kmalloc/kmalloc.c.
 */
#ifndef API_API_H
#define API_API_H

#include "cache/cache.h"

/* The whole library ready, kmalloc caches included: 0 or -errno. Cheap after the first time. */
int api_init(void);
/* Is it? Any context. */
bool api_is_ready(void);

/* kmalloc_node() for the function that caller is in. */
static inline void *api_kmalloc(size_t size, gfp_t flags, int node, const void *caller)
{
	if (unlikely(api_init()))
		return size ? NULL : ZERO_SIZE_PTR;
	return kmalloc_alloc_for(size, flags, node, caller);
}

/* The same for a site, see uslab_kmalloc_at(); NULL: none. */
static inline void *api_kmalloc_at(struct uslab_kmalloc_site *site, size_t size, gfp_t flags,
				   int node, const void *caller)
{
	if (unlikely(api_init()))
		return size ? NULL : ZERO_SIZE_PTR;
	return kmalloc_alloc_at(site, size, flags, node, caller);
}

/*
 * resize_api.c: kvmalloc_node_align() likewise. align: as there.
 */
void *api_kvmalloc(size_t size, size_t align, gfp_t flags, int node, const void *caller);

#endif /* API_API_H */
