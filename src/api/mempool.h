/* SPDX-License-Identifier: MIT */
/*
 * api/mempool.h - the library's own allocation functions for memory pools
 *
 * Data:       struct uslab_mempool_kind, const.
 * Invariants: none.
 * Locks:      none.
 * Flow:       included by mempool_api.c and mempool_kinds.c.
 */
#ifndef API_MEMPOOL_H
#define API_MEMPOOL_H

#include <uslab/mempool.h>

#include "api/api.h"

/* Two public functions, and the same for who knows where the program called. */
struct uslab_mempool_kind {
	mempool_alloc_t *alloc_fn;
	mempool_free_t *free_fn;
	void *(*alloc)(gfp_t flags, void *pool_data, const void *caller);
	void (*free)(void *element, void *pool_data, const void *caller);
};

/*
 * NULL: these are functions of the program. Or the program was linked at a fixed address, where a
 * function of a shared library has another address than in the library: then the pool works without
 * what it knows of its elements.
 */
const struct uslab_mempool_kind *api_mempool_kind(mempool_alloc_t *alloc_fn,
						  mempool_free_t *free_fn);

#endif /* API_MEMPOOL_H */
